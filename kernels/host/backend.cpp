// The host backend: which cases it measures, and what it says about this machine.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>

#include "kernels/host/kernel.h"
#include "kernels/version.h"

namespace marea::probe {

namespace {

// "name : value" of the first processor in /proc/cpuinfo; empty where there is none.
std::string processor_fact(const std::string& name) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind(name, 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "";
}

Case dense(const char* format, std::int64_t m, std::int64_t n, std::int64_t k) {
  Case one{.operation = Operation::gemm, .format = format};
  one.m = m, one.n = n, one.k = k;
  return one;
}

Case attention(const char* kv, std::int64_t batch, std::int64_t tokens, std::int64_t context, std::int64_t heads, std::int64_t kv_heads,
               std::int64_t size, std::int64_t window = 0) {
  Case one{.operation = tokens == 0 ? Operation::decode_attention : Operation::prefill_attention, .format = "fp32", .kv = kv};
  one.batch = batch, one.context = context, one.heads = heads, one.kv_heads = kv_heads, one.head_dim = size;
  if (tokens > 0) one.tokens = tokens;
  if (window > 0) one.window = window;
  return one;
}

Case moved(Operation operation, std::int64_t bytes, std::int64_t block = 0) {
  Case one{.operation = operation};
  one.bytes = bytes;
  if (block > 0) one.block = block;
  return one;
}

constexpr std::int64_t kMebi = std::int64_t{1} << 20;

std::vector<Case> quick_cases() {
  return {moved(Operation::memory_read, 16 * kMebi),
          moved(Operation::memory_copy, 16 * kMebi),
          dense("fp32", 1, 1024, 1024),
          dense("fp32", 16, 1024, 1024),
          dense("bf16", 1, 1024, 1024),
          attention("fp32", 2, 0, 511, 8, 2, 64),
          attention("fp32", 1, 64, 64, 4, 2, 64),
          add_norm_case("fp32", 16, 1024),
          moved(Operation::kv_gather, 4 * kMebi, 64 << 10)};
}

void add_dense(std::vector<Case>& out) {
  struct Shape {
    std::int64_t n, k;
  };
  for (const Shape shape :
       {Shape{4096, 4096}, {1024, 4096}, {14336, 4096}, {4096, 14336}, {2048, 2048}, {1024, 1024}, {8192, 2048}, {2048, 8192}})
    for (const std::int64_t m : {1, 512, 16, 4, 64, 2, 8, 32, 128, 256})
      for (const char* format : {"fp32", "bf16"}) out.push_back(dense(format, m, shape.n, shape.k));
}

void add_attention(std::vector<Case>& out) {
  for (const std::int64_t context : {4095, 511, 16383, 2047, 65535})
    for (const std::int64_t batch : {1, 8, 4, 16})
      if (batch * context <= 131072)
        for (const char* kv : {"fp32", "bf16"}) {
          out.push_back(attention(kv, batch, 0, context, 32, 8, 128));
          out.push_back(attention(kv, batch, 0, context, 16, 16, 64));
        }
  out.push_back(attention("fp32", 4, 0, 16383, 32, 8, 128, 4096));
  for (const std::int64_t tokens : {512, 128, 1024, 256})
    for (const std::int64_t context : {0, 2048})
      for (const char* kv : {"fp32", "bf16"}) out.push_back(attention(kv, 1, tokens, context, 32, 8, 128));
}

class HostBackend final : public Backend {
 public:
  explicit HostBackend(std::string folder) : folder_(std::move(folder)) {}

  std::string device() const override { return "this-cpu"; }

  std::string source(const Case& one) const override {
    const std::string us = fmt::format("marea-probe {}", kVersion);
    if (one.operation == Operation::gemm)
      return fmt::format("{} eigen {}.{}.{}", us, EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
    if (one.operation != Operation::file_read) return us + " host";
    if (way_.empty()) way_ = host::file_read_way(folder_);
    return fmt::format("{} {}", us, way_);
  }

  std::map<std::string, std::string> facts() const override {
    utsname system{};
    ::uname(&system);
    return {{"processor", processor_fact("model name")},
            {"clock_mhz", processor_fact("cpu MHz")},
            {"threads", std::to_string(host::threads())},
            {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
            {"compiler", __VERSION__},
            {"vectors", Eigen::SimdInstructionSetsInUse()}};
  }

  // Coarse first: a run that ends early has seen every operation.
  std::vector<Case> cases(bool quick) const override {
    if (quick) return quick_cases();
    std::vector<Case> out;
    for (const std::int64_t bytes : {256 * kMebi, 16 * kMebi, 1 * kMebi, 64 * kMebi, 4 * kMebi})
      for (const Operation operation : {Operation::memory_read, Operation::memory_write, Operation::memory_copy})
        out.push_back(moved(operation, bytes));
    add_dense(out);
    add_attention(out);
    for (const std::int64_t tokens : {1, 256, 16, 64, 1024}) {
      out.push_back(add_norm_case("fp32", tokens, 4096));
      out.push_back(rotary_case("fp32", tokens, 32, 8, 128));
      out.push_back(activation_case("fp32", tokens, 14336));
    }
    for (const std::int64_t block : {64 << 10, 1 << 20, 16 << 10})
      for (const Operation operation : {Operation::kv_gather, Operation::kv_scatter})
        for (const std::int64_t bytes : {64 * kMebi, 4 * kMebi}) out.push_back(moved(operation, bytes, block));
    for (const std::int64_t block : {1 * kMebi, 128 * kMebi >> 10, std::int64_t{4096}})
      for (const std::int64_t blocks : {1, 256}) out.push_back(moved(Operation::file_read, blocks * block, block));
    return out;
  }

  std::vector<Case> check_cases() const override {
    std::vector<Case> out;
    for (const Operation operation : {Operation::memory_read, Operation::memory_write, Operation::memory_copy})
      out.push_back(moved(operation, 999952));
    for (const char* format : {"fp32", "bf16"}) {
      out.push_back(dense(format, 1, 333, 260));
      out.push_back(dense(format, 7, 65, 1028));
    }
    for (const char* kv : {"fp32", "bf16"}) {
      out.push_back(attention(kv, 3, 0, 517, 8, 2, 64));
      out.push_back(attention(kv, 1, 0, 2000, 4, 4, 128, 300));
      out.push_back(attention(kv, 2, 77, 45, 6, 2, 64));
      out.push_back(attention(kv, 1, 100, 0, 2, 1, 32, 33));
    }
    out.push_back(add_norm_case("fp32", 5, 260));
    out.push_back(rotary_case("fp32", 5, 6, 2, 64));
    out.push_back(activation_case("fp32", 5, 700));
    out.push_back(moved(Operation::kv_gather, 37 * 4096, 4096));
    out.push_back(moved(Operation::kv_scatter, 37 * 4096, 4096));
    out.push_back(moved(Operation::file_read, 4096, 4096));
    out.push_back(moved(Operation::file_read, 64 * 16384, 16384));
    return out;
  }

  std::unique_ptr<Kernel> prepare(const Case& one, std::uint64_t seed) override {
    switch (one.operation) {
      case Operation::memory_read:
      case Operation::memory_write:
      case Operation::memory_copy:
        return host::make_memory(one, seed);
      case Operation::gemm:
        return host::make_dense(one, seed);
      case Operation::decode_attention:
      case Operation::prefill_attention:
        return host::make_attention(one, seed);
      case Operation::small_kernels:
        return host::make_small_kernels(one, seed);
      case Operation::kv_gather:
      case Operation::kv_scatter:
        return host::make_blocks(one, seed);
      case Operation::file_read:
        return host::make_file_read(one, seed, folder_);
      default:
        throw Unsupported(fmt::format("the host has no kernel for {}", name_of(one.operation)));
    }
  }

 private:
  std::string folder_;
  mutable std::string way_;  // found out when a file is first read
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(const std::string& folder) { return std::make_unique<HostBackend>(folder); }

}  // namespace marea::probe
