// Names of operations and columns, and how a case is written in words.
#include "kernels/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace marea::probe {

namespace {

constexpr std::array kNames = {
    std::pair{Operation::memory_read, std::string_view("memory_read")},
    std::pair{Operation::memory_write, std::string_view("memory_write")},
    std::pair{Operation::memory_copy, std::string_view("memory_copy")},
    std::pair{Operation::gemm, std::string_view("gemm")},
    std::pair{Operation::decode_attention, std::string_view("decode_attention")},
    std::pair{Operation::prefill_attention, std::string_view("prefill_attention")},
    std::pair{Operation::decode_latent, std::string_view("decode_latent")},
    std::pair{Operation::prefill_latent, std::string_view("prefill_latent")},
    std::pair{Operation::small_kernels, std::string_view("small_kernels")},
    std::pair{Operation::kv_gather, std::string_view("kv_gather")},
    std::pair{Operation::kv_scatter, std::string_view("kv_scatter")},
    std::pair{Operation::host_to_device, std::string_view("host_to_device")},
    std::pair{Operation::device_to_host, std::string_view("device_to_host")},
    std::pair{Operation::launch, std::string_view("launch")},
    std::pair{Operation::graph_launch, std::string_view("graph_launch")},
    std::pair{Operation::all_reduce, std::string_view("all_reduce")},
    std::pair{Operation::file_read, std::string_view("file_read")},
};

}  // namespace

std::string_view name_of(Operation operation) {
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& one) { return one.first == operation; });
  if (found == kNames.end()) throw std::logic_error("an operation has no name");
  return found->second;
}

std::optional<Operation> operation_named(std::string_view name) {
  for (const auto& [operation, its_name] : kNames)
    if (its_name == name) return operation;
  return std::nullopt;
}

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> out;
    for (const auto& one : kNames) out.push_back(one.first);
    return out;
  }();
  return all;
}

const std::vector<CountColumn>& count_columns() {
  static const std::vector<CountColumn> columns = {
      {"m", &Case::m},
      {"n", &Case::n},
      {"k", &Case::k},
      {"batch", &Case::batch},
      {"tokens", &Case::tokens},
      {"context", &Case::context},
      {"heads", &Case::heads},
      {"kv_heads", &Case::kv_heads},
      {"head_dim", &Case::head_dim},
      {"window", &Case::window},
      {"latent", &Case::latent},
      {"rope_dim", &Case::rope_dim},
      {"nope_dim", &Case::nope_dim},
      {"value_dim", &Case::value_dim},
      {"hidden", &Case::hidden},
      {"width", &Case::width},
      {"ranks", &Case::ranks},
      {"bytes", &Case::bytes},
      {"block", &Case::block},
      {"graph", &Case::graph},
  };
  return columns;
}

bool operator==(const Case& left, const Case& right) {
  return left.operation == right.operation && left.format == right.format && left.kv == right.kv &&
         std::all_of(count_columns().begin(), count_columns().end(),
                     [&](const CountColumn& column) { return left.*column.value == right.*column.value; });
}

namespace {

Case small_kernel(const std::string& format, std::int64_t tokens, std::int64_t values) {
  Case one{.operation = Operation::small_kernels, .format = format};
  one.tokens = tokens;
  one.bytes = static_cast<std::int64_t>(bytes_per_value(format)) * tokens * values;
  return one;
}

}  // namespace

Case add_norm_case(const std::string& format, std::int64_t tokens, std::int64_t hidden) {
  Case one = small_kernel(format, tokens, 4 * hidden);  // input and residual in; sum and norm out
  one.hidden = hidden;
  return one;
}

Case rotary_case(const std::string& format, std::int64_t tokens, std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
  Case one = small_kernel(format, tokens, 2 * (heads + 2 * kv_heads) * head_dim);
  one.heads = heads, one.kv_heads = kv_heads, one.head_dim = head_dim;
  return one;
}

Case activation_case(const std::string& format, std::int64_t tokens, std::int64_t width) {
  Case one = small_kernel(format, tokens, 3 * width);  // gate and up in
  one.width = width;
  return one;
}

std::string describe(const Case& one) {
  std::string out(name_of(one.operation));
  if (!one.format.empty()) out += " " + one.format;
  if (!one.kv.empty()) out += " kv=" + one.kv;
  for (const CountColumn& column : count_columns())
    if (const Case::Count& value = one.*column.value) out += fmt::format(" {}={}", column.name, *value);
  return out;
}

double bytes_per_value(std::string_view format) {
  constexpr std::array widths = {
      std::pair{std::string_view("fp32"), 4.0}, std::pair{std::string_view("bf16"), 2.0}, std::pair{std::string_view("fp16"), 2.0},
      std::pair{std::string_view("fp8"), 1.0},  std::pair{std::string_view("int8"), 1.0}, std::pair{std::string_view("nvfp4"), 0.5625},
  };
  for (const auto& [name, bytes] : widths)
    if (name == format) return bytes;
  throw std::invalid_argument(fmt::format("no number format is called {}", format));
}

}  // namespace marea::probe
