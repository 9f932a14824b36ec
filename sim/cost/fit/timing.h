// One measured kernel, and the reader of the one set of columns in which probes and converted public tables state them
// (docs/calibration.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/number.h"

namespace marea::cost {

enum class Operation : std::uint8_t {
  gemm,
  decode_attention,
  prefill_attention,
  decode_latent,
  prefill_latent,
  decode_sparse,
  prefill_sparse,
  experts,
  all_reduce,
  memory_read,
  memory_write,
  memory_copy,
  host_to_device,
  device_to_host,
  kv_gather,
  kv_scatter,
  small_kernels,
  launch,
  graph_launch,
  file_read
};
inline constexpr int kOperations = 20;
std::string_view name(Operation operation);

// The numbers of a row by column; 0 where the column is absent or the cell empty: it does not apply.
enum class Measure : std::uint8_t {
  m,
  n,
  k,
  batch,
  tokens,
  context,
  heads,
  kv_heads,
  head_dim,
  window,
  latent,
  rope_dim,
  nope_dim,
  value_dim,
  hidden,
  query_rank,
  chosen_keys,
  index_heads,
  index_dim,
  experts,
  chosen,
  width,
  expert_ranks,
  tensor_ranks,
  skew,
  touched,
  rows,
  ranks,
  bytes,
  block,
  graph,
  noise
};
inline constexpr int kMeasures = 32;
std::string_view name(Measure measure);

struct Timing {
  Operation operation = Operation::gemm;
  std::uint32_t source = 0;            // index into Timings::sources
  std::optional<spec::Format> format;  // of weights (gemm, experts) or activations
  std::optional<spec::Format> kv;      // of cached keys and values
  std::optional<spec::Format> math;    // multiplied in, where it is not the weights' own
  bool with_products = false;          // a whole latent block: its dense products are part of the time
  bool warm = false;                   // timed again and again without clearing caches
  std::array<double, kMeasures> measure{};
  double seconds = 0;
  double operator[](Measure which) const { return measure[static_cast<std::size_t>(which)]; }
  double& operator[](Measure which) { return measure[static_cast<std::size_t>(which)]; }
};

struct Timings {
  std::vector<std::string> devices;  // named by the rows, each once
  std::vector<std::string> sources;  // who measured
  std::vector<Timing> rows;

  std::uint32_t source(std::string_view name);  // its index; added when new
  void device(std::string_view name);
};

// Adds the rows of a table (plain or gzip) to `into`. Throws ConfigError with file, row and column for a column that is unknown or missing,
// a cell that is no number, negative, not finite or not applicable to the row's operation, and a table without rows.
void read_timings(const std::string& file, Timings& into);

}  // namespace marea::cost
