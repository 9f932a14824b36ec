// The lists of cases, and the names of devices.
#include "kernels/cuda/cases.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace marea::probe::cuda {

namespace {

constexpr std::int64_t kKibi = 1 << 10, kMebi = 1 << 20, kGibi = 1 << 30;

Case dense(const std::string& format, std::int64_t m, std::int64_t n, std::int64_t k) {
  Case one{.operation = Operation::gemm, .format = format};
  one.m = m, one.n = n, one.k = k, one.graph = 1;
  return one;
}

struct Heads {
  std::int64_t heads, kv_heads, size;
};

Case decode(const char* kv, std::int64_t batch, std::int64_t context, const Heads& heads, std::int64_t window = 0) {
  Case one{.operation = Operation::decode_attention, .format = "bf16", .kv = kv};
  one.batch = batch, one.context = context, one.heads = heads.heads, one.kv_heads = heads.kv_heads, one.head_dim = heads.size,
  one.graph = 1;
  if (window > 0) one.window = window;
  return one;
}

Case prefill(std::int64_t batch, std::int64_t tokens, std::int64_t context, const Heads& heads, std::int64_t window = 0) {
  Case one = decode("bf16", batch, context, heads, window);
  one.operation = Operation::prefill_attention, one.tokens = tokens;
  return one;
}

// Sizes of DeepSeek-V3.
Case latent(Operation operation, std::int64_t batch, std::int64_t tokens, std::int64_t context, std::int64_t heads) {
  Case one{.operation = operation, .format = "bf16", .kv = "bf16"};
  one.batch = batch, one.context = context, one.heads = heads, one.latent = 512, one.rope_dim = 64, one.nope_dim = 128, one.value_dim = 128,
  one.graph = 1;
  if (operation == Operation::prefill_latent) one.tokens = tokens;
  return one;
}

Case in_graph(Case one) {
  one.graph = 1;
  return one;
}

Case moved(Operation operation, std::int64_t bytes, std::int64_t block = 0) {
  Case one{.operation = operation};
  one.bytes = bytes;
  if (block > 0) one.block = block;
  one.graph = operation == Operation::host_to_device || operation == Operation::device_to_host ? 0 : 1;
  return one;
}

Case launched(Operation operation, std::int64_t count, std::int64_t graph) {
  Case one{.operation = operation};
  one.batch = count, one.graph = graph;
  return one;
}

Case reduced(std::int64_t ranks, std::int64_t bytes) {
  Case one = moved(Operation::all_reduce, bytes);
  one.format = "bf16", one.ranks = ranks;
  return one;
}

// Lists that are told one from each in turn, so that all get along at the same rate.
std::vector<Case> in_turn(const std::vector<std::vector<Case>>& lists) {
  std::vector<std::pair<double, Case>> placed;
  for (const std::vector<Case>& list : lists)
    for (std::size_t i = 0; i < list.size(); ++i)
      placed.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(list.size()), list[i]});
  std::stable_sort(placed.begin(), placed.end(), [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<Case> out;
  for (auto& one : placed) out.push_back(std::move(one.second));
  return out;
}

std::vector<Case> dense_cases(const Extent& extent) {
  struct Shape {
    std::int64_t n, k;
  };
  // Projections and MLPs of 8B, 32B and 70B models and of DeepSeek, whole and cut for tensor parallelism.
  constexpr Shape shapes[] = {{4096, 4096}, {8192, 8192}, {28672, 4096}, {8192, 28672}, {6144, 4096}, {4096, 14336}, {10240, 8192},
                              {1280, 8192}, {8192, 1024}, {7168, 8192},  {8192, 3584},  {1024, 4096}, {5120, 5120},  {2048, 7168}};
  std::vector<Case> out;
  for (const std::int64_t m : {16, 4096, 1, 256, 64, 1024, 8, 128, 16384, 32, 512, 2048, 4, 2})
    for (const Shape& shape : shapes)
      for (const std::string& format : extent.dense_formats)
        // fp16 runs on the same units as bf16: a few shapes say whether it does.
        if (format != "fp16" || shape.n == 8192) out.push_back(dense(format, m, shape.n, shape.k));
  return out;
}

std::vector<Case> decode_cases(const Extent& extent) {
  constexpr Heads models[] = {{32, 8, 128}, {8, 1, 128}, {64, 8, 128}, {16, 2, 128}, {16, 16, 128}, {64, 8, 64}};
  std::vector<Case> out;
  for (const std::int64_t context : {4095, 32767, 511, 131071, 1023, 8191, 65535, 2047, 16383})
    for (const std::int64_t batch : {1, 32, 128, 8, 256, 4, 64})
      for (const Heads& heads : models)
        for (const char* kv : {"bf16", "fp8"}) {
          const double bytes = 4.0 * static_cast<double>(batch * (context + 1) * heads.kv_heads * heads.size);
          if (bytes < 0.3 * static_cast<double>(extent.memory) && (&heads < models + 2 || batch != 4))
            out.push_back(decode(kv, batch, context, heads));
        }
  for (const std::int64_t batch : {1, 32, 128})
    for (const std::int64_t window : {128, 4096}) out.push_back(decode("bf16", batch, 8191, {64, 8, 64}, window));
  return out;
}

std::vector<Case> prefill_cases() {
  constexpr Heads models[] = {{32, 8, 128}, {8, 1, 128}, {64, 8, 128}, {64, 8, 64}};
  std::vector<Case> out;
  for (const std::int64_t tokens : {2048, 8192, 512, 128, 16384, 4096, 1024})
    for (const std::int64_t context : {0, 8192, 32768, 2048})
      for (const std::int64_t batch : {1, 4})
        for (const Heads& heads : models)
          if (batch * tokens <= 16384) out.push_back(prefill(batch, tokens, context, heads));
  for (const std::int64_t window : {128, 4096}) out.push_back(prefill(1, 8192, 0, {64, 8, 64}, window));
  return out;
}

std::vector<Case> latent_cases(const Extent& extent) {
  std::vector<Case> out;
  for (const std::int64_t context : {4095, 32767, 511, 131071, 16383, 1023, 65535})
    for (const std::int64_t batch : {1, 32, 128, 8, 256})
      for (const std::int64_t heads : {128, 16, 64, 32})
        if (1152.0 * static_cast<double>(batch * (context + 1)) < 0.3 * static_cast<double>(extent.memory))
          out.push_back(latent(Operation::decode_latent, batch, 1, context, heads));
  return out;
}

std::vector<Case> latent_prefill_cases() {
  std::vector<Case> out;
  for (const std::int64_t tokens : {2048, 8192, 512, 128, 4096, 1024})
    for (const std::int64_t context : {0, 8192, 32768})
      for (const std::int64_t heads : {128, 16}) out.push_back(latent(Operation::prefill_latent, 1, tokens, context, heads));
  return out;
}

std::vector<Case> memory_cases() {
  std::vector<Case> out;
  for (const std::int64_t bytes : {kGibi, 16 * kMebi, 128 * kMebi, kMebi, 4 * kGibi})
    for (const Operation operation : {Operation::memory_read, Operation::memory_write, Operation::memory_copy})
      out.push_back(moved(operation, bytes));
  return out;
}

std::vector<Case> block_cases() {
  std::vector<Case> out;
  for (const std::int64_t bytes : {256 * kMebi, 16 * kMebi, 64 * kMebi})
    for (const std::int64_t block : {64 * kKibi, 16 * kKibi, 2 * kMebi, 256 * kKibi})
      for (const Operation operation : {Operation::kv_gather, Operation::kv_scatter}) out.push_back(moved(operation, bytes, block));
  return out;
}

std::vector<Case> launch_cases() {
  return {launched(Operation::launch, 1000, 0),      launched(Operation::graph_launch, 1, 1),   launched(Operation::launch, 1000, 1),
          launched(Operation::graph_launch, 500, 1), launched(Operation::launch, 100, 0),       launched(Operation::graph_launch, 50, 1),
          launched(Operation::launch, 100, 1),       launched(Operation::graph_launch, 2000, 1)};
}

std::vector<Case> host_copy_cases() {
  std::vector<Case> out;
  for (const std::int64_t bytes : {256 * kMebi, 16 * kMebi, kMebi, 64 * kKibi, kGibi})
    for (const std::int64_t block : {std::int64_t{0}, 64 * kKibi, 16 * kKibi, 256 * kKibi, 2 * kMebi})
      for (const Operation operation : {Operation::host_to_device, Operation::device_to_host})
        if (block < bytes && (block == 0 || bytes / block <= 16384)) out.push_back(moved(operation, bytes, block));
  return out;
}

std::vector<Case> reduce_cases(const Extent& extent) {
  std::vector<Case> out;
  for (std::int64_t ranks = 2; ranks <= extent.devices; ranks *= 2)
    for (const std::int64_t bytes :
         {16 * kKibi, kMebi, 64 * kMebi, 128 * kKibi, 8 * kMebi, 512 * kMebi, 512 * kKibi, 32 * kMebi, 4 * kKibi})
      out.push_back(reduced(ranks, bytes));
  return out;
}

std::vector<Case> small_cases() {
  std::vector<Case> out;
  for (const std::int64_t tokens : {1, 4096, 64, 512, 16, 8192, 256, 2048}) {
    for (const std::int64_t hidden : {4096, 8192, 5120}) out.push_back(in_graph(add_norm_case("bf16", tokens, hidden)));
    for (const Heads& heads : {Heads{32, 8, 128}, {8, 1, 128}, {64, 8, 64}})
      out.push_back(in_graph(rotary_case("bf16", tokens, heads.heads, heads.kv_heads, heads.size)));
    for (const std::int64_t width : {14336, 3584, 6912}) out.push_back(in_graph(activation_case("bf16", tokens, width)));
  }
  return out;
}

}  // namespace

std::vector<Case> cuda_cases(const Extent& extent) {
  return in_turn({memory_cases(), dense_cases(extent), decode_cases(extent), prefill_cases(), latent_cases(extent), latent_prefill_cases(),
                  small_cases(), block_cases(), host_copy_cases(), launch_cases(), reduce_cases(extent)});
}

std::vector<Case> quick_cuda_cases(const Extent& extent) {
  std::vector<Case> out = {moved(Operation::memory_read, 256 * kMebi), moved(Operation::memory_copy, 256 * kMebi),
                           launched(Operation::launch, 1000, 0), launched(Operation::launch, 1000, 1)};
  for (const std::string& format : extent.dense_formats)
    for (const std::int64_t m : {1, 64, 4096}) out.push_back(dense(format, m, 4096, 4096));
  for (const char* kv : {"bf16", "fp8"}) out.push_back(decode(kv, 32, 4095, {32, 8, 128}));
  out.push_back(prefill(1, 4096, 0, {32, 8, 128}));
  out.push_back(latent(Operation::decode_latent, 32, 1, 4095, 16));
  out.push_back(in_graph(add_norm_case("bf16", 256, 4096)));
  out.push_back(moved(Operation::kv_gather, 64 * kMebi, 64 * kKibi));
  out.push_back(moved(Operation::host_to_device, 64 * kMebi));
  return out;
}

std::vector<Case> cuda_check_cases(const Extent& extent) {
  std::vector<Case> out;
  for (const Operation operation : {Operation::memory_read, Operation::memory_write, Operation::memory_copy})
    out.push_back(moved(operation, 1000016));
  for (const std::string& format : extent.dense_formats)
    for (const std::int64_t m : {1, 7, 130}) out.push_back(dense(format, m, 1040, 1056));
  for (const char* kv : {"bf16", "fp8"})
    for (const std::int64_t size : {64, 128}) {
      out.push_back(decode(kv, 3, 36, {8, 2, size}));
      out.push_back(decode(kv, 1, 0, {4, 4, size}));
      out.push_back(decode(kv, 2, 2000, {16, 1, size}));
      out.push_back(decode(kv, 1, 20001, {12, 4, size}));
      out.push_back(decode(kv, 2, 3000, {8, 1, size}, 777));
    }
  for (const std::int64_t size : {64, 128}) {
    out.push_back(prefill(1, 150, 0, {4, 2, size}));
    out.push_back(prefill(2, 77, 345, {4, 1, size}));
    out.push_back(prefill(1, 1000, 200, {2, 2, size}, 300));
  }
  for (const std::int64_t heads : {16, 20, 64, 128}) {
    out.push_back(latent(Operation::decode_latent, 2, 1, 44, heads));
    out.push_back(latent(Operation::decode_latent, 1, 1, 5000, heads));
  }
  out.push_back(latent(Operation::prefill_latent, 2, 150, 70, 3));
  for (const std::int64_t tokens : {5, 130}) {
    out.push_back(in_graph(add_norm_case("bf16", tokens, 2056)));
    out.push_back(in_graph(add_norm_case("bf16", tokens, 16384)));
    out.push_back(in_graph(rotary_case("bf16", tokens, 6, 2, 64)));
    out.push_back(in_graph(rotary_case("bf16", tokens, 8, 1, 128)));
    out.push_back(in_graph(activation_case("bf16", tokens, 704)));
  }
  for (const Operation operation : {Operation::kv_gather, Operation::kv_scatter})
    out.push_back(moved(operation, 37 * 16 * kKibi, 16 * kKibi));
  for (const Operation operation : {Operation::host_to_device, Operation::device_to_host}) out.push_back(moved(operation, 100000, 4096));
  out.push_back(launched(Operation::launch, 100, 0));
  out.push_back(launched(Operation::launch, 100, 1));
  out.push_back(launched(Operation::graph_launch, 10, 1));
  for (std::int64_t ranks = 2; ranks <= extent.devices; ranks *= 2) out.push_back(reduced(ranks, 100000));
  return out;
}

std::string device_file_of(const std::string& name) {
  // The longer of two names that fit comes first.
  static const std::pair<const char*, const char*> known[] = {
      {"GB300", "gb300"},
      {"GB200", "gb200"},
      {"B300", "b300-sxm"},
      {"B200", "b200-sxm"},
      {"GH200", "gh200"},
      {"H200 NVL", "h200-nvl"},
      {"H200", "h200-sxm"},
      {"H100 80GB HBM3", "h100-sxm"},
      {"H100 PCIe", "h100-pcie"},
      {"H100 NVL", "h100-nvl"},
      {"A100-SXM4-80GB", "a100-80"},
      {"A100-SXM4-40GB", "a100-40"},
      {"L40S", "l40s"},
      {"RTX PRO 6000", "rtx-pro-6000"},
      {"RTX 4090", "rtx-4090"},
  };
  for (const auto& [part, file] : known)
    if (name.find(part) != std::string::npos) return file;
  std::string out;
  for (const char letter : name.rfind("NVIDIA ", 0) == 0 ? name.substr(7) : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0)
      out += static_cast<char>(std::tolower(byte));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace marea::probe::cuda
