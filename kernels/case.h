// What one row of a kernel-timing table says about the measured kernel: the operation and the sizes that apply to it. The columns are the
// ones that `marea calibrate` reads; one table of names and members keeps the writer, the list and the resumption in step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace marea::probe {

// The operations this program measures, in the order in which they are listed.
enum class Operation {
  memory_read,
  memory_write,
  memory_copy,
  gemm,
  decode_attention,
  prefill_attention,
  decode_latent,
  prefill_latent,
  small_kernels,
  kv_gather,
  kv_scatter,
  host_to_device,
  device_to_host,
  launch,
  graph_launch,
  all_reduce,
  file_read,
};

std::string_view name_of(Operation operation);
std::optional<Operation> operation_named(std::string_view name);
const std::vector<Operation>& all_operations();

// One kernel at one shape. Sizes are counts (tokens, heads, sequences) or bytes; what does not apply is absent.
struct Case {
  using Count = std::optional<std::int64_t>;

  Operation operation = Operation::gemm;
  std::string format;  // of the weights (gemm) or the activations: fp32, bf16, fp16, fp8, int8, nvfp4
  std::string kv;      // number format of the KV cache
  Count m, n, k;       // tokens, outputs, inner size of a dense layer
  Count batch;         // sequences; launches in a row
  Count tokens;        // new tokens: of a sequence (prefill), of the step (small kernels)
  Count context;       // tokens already cached per sequence, before the step
  Count heads, kv_heads, head_dim, window;
  Count latent, rope_dim, nope_dim, value_dim;
  Count hidden, width;  // of a layer (small kernels)
  Count ranks, bytes;   // devices of a collective; bytes moved once
  Count block;          // bytes of one block
  Count graph;          // 1: launched in a captured graph, 0: one by one
};

// Two cases are the same kernel at the same shape.
bool operator==(const Case& left, const Case& right);

// A column of counts: its name and where its value is.
struct CountColumn {
  std::string_view name;
  Case::Count Case::*value;
};
const std::vector<CountColumn>& count_columns();

// The small kernels of a layer, told apart by the sizes that they have; `bytes` is what they read and what they write, added up.
Case add_norm_case(const std::string& format, std::int64_t tokens, std::int64_t hidden);
Case rotary_case(const std::string& format, std::int64_t tokens, std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim);
Case activation_case(const std::string& format, std::int64_t tokens, std::int64_t width);

// "gemm bf16 m=16 n=4096 k=4096": for lists, progress and complaints.
std::string describe(const Case& one);

// Bytes of one value of a number format, scales included (nvfp4: a byte of scale for 16 values). Throws std::invalid_argument for an
// unknown one.
double bytes_per_value(std::string_view format);

}  // namespace marea::probe
