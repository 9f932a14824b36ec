// Reading kernel timings, and what each operation has to state.
#include "sim/cost/fit/timing.h"

#include <algorithm>

#include "sim/base/input.h"
#include "sim/base/text.h"

namespace marea::cost {

std::string_view name(Operation operation) {
  static constexpr std::array<std::string_view, kOperations> names{
      "gemm",      "decode_attention", "prefill_attention", "decode_latent", "prefill_latent", "decode_sparse",  "prefill_sparse",
      "experts",   "all_reduce",       "memory_read",       "memory_write",  "memory_copy",    "host_to_device", "device_to_host",
      "kv_gather", "kv_scatter",       "small_kernels",     "launch",        "graph_launch",   "file_read"};
  return names[static_cast<std::size_t>(operation)];
}

std::string_view name(Measure measure) {
  static constexpr std::array<std::string_view, kMeasures> names{
      "m",           "n",           "k",         "batch",    "tokens",   "context",   "heads",        "kv_heads",
      "head_dim",    "window",      "latent",    "rope_dim", "nope_dim", "value_dim", "hidden",       "query_rank",
      "chosen_keys", "index_heads", "index_dim", "experts",  "chosen",   "width",     "expert_ranks", "tensor_ranks",
      "skew",        "touched",     "rows",      "ranks",    "bytes",    "block",     "graph",        "noise"};
  return names[static_cast<std::size_t>(measure)];
}

std::uint32_t Timings::source(std::string_view name) {
  const auto place = static_cast<std::size_t>(std::find(sources.begin(), sources.end(), name) - sources.begin());
  if (place == sources.size()) sources.emplace_back(name);
  return static_cast<std::uint32_t>(place);
}

void Timings::device(std::string_view name) {
  if (std::find(devices.begin(), devices.end(), name) == devices.end()) devices.emplace_back(name);
}

namespace {

constexpr double kLargest = 1e18;

struct Need {
  bool format = false;
  bool kv = false;
  std::vector<Measure> positive;
};

// What a row of an operation cannot do without.
Need needs(Operation operation) {
  using enum Measure;
  switch (operation) {
    case Operation::gemm:
      return {true, false, {m, n, k}};
    case Operation::decode_attention:
      return {false, true, {batch, context, heads, kv_heads, head_dim}};
    case Operation::prefill_attention:
      return {false, true, {batch, tokens, heads, kv_heads, head_dim}};
    case Operation::decode_latent:
      return {false, true, {batch, context, heads, latent, rope_dim}};
    case Operation::prefill_latent:
      return {false, true, {batch, tokens, heads, nope_dim, rope_dim, value_dim}};
    case Operation::decode_sparse:
      return {false, true, {batch, context, heads, latent, rope_dim, chosen_keys}};
    case Operation::prefill_sparse:
      return {false, true, {batch, tokens, heads, latent, rope_dim, chosen_keys}};
    case Operation::experts:
      return {true, false, {tokens, hidden, experts, chosen, width}};
    case Operation::all_reduce:
      return {false, false, {ranks, bytes}};
    case Operation::small_kernels:
      return {false, false, {tokens}};  // and bytes, or hidden: see require()
    case Operation::launch:
    case Operation::graph_launch:
      return {};
    default:
      return {false, false, {bytes}};
  }
}

// Columns of a table, found once.
struct Columns {
  std::size_t operation, microseconds;
  std::optional<std::size_t> device, source, format, kv, math;
  std::array<std::optional<std::size_t>, kMeasures> measure;
};

Columns find_columns(const CsvReader& csv, const std::string& file) {
  std::vector<std::string> known{"device", "operation", "source", "format", "kv", "math", "microseconds"};
  for (int i = 0; i < kMeasures; ++i) known.emplace_back(name(static_cast<Measure>(i)));
  for (const std::string& column : csv.columns())
    if (std::find(known.begin(), known.end(), column) == known.end())
      throw ConfigError({file, 1, 0}, "",
                        "there is no column " + excerpt(column) + " in a table of kernel timings" + did_you_mean(column, known));
  const auto optional = [&](std::string_view column) {
    return csv.has(column) ? std::optional<std::size_t>(csv.column(column)) : std::nullopt;
  };
  Columns columns{csv.column("operation"), csv.column("microseconds"),
                  optional("device"),      optional("source"),
                  optional("format"),      optional("kv"),
                  optional("math"),        {}};
  for (int i = 0; i < kMeasures; ++i) columns.measure[static_cast<std::size_t>(i)] = optional(name(static_cast<Measure>(i)));
  return columns;
}

template <class Choice>
Choice choose(const CsvReader& csv, std::size_t column, const std::vector<std::string>& names, const char* what) {
  const std::string_view field = csv.field(column);
  const auto found = std::find(names.begin(), names.end(), field);
  if (found == names.end())
    throw ConfigError(csv.mark(column), csv.columns()[column],
                      excerpt(field) + " is no " + what + did_you_mean(field, names) + "; there are " + joined(names));
  return static_cast<Choice>(found - names.begin());
}

std::optional<spec::Format> read_format(const CsvReader& csv, const std::optional<std::size_t>& column) {
  if (!column || csv.field(*column).empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const spec::Format format : spec::kAllFormats) names.emplace_back(spec::name(format));
  return choose<spec::Format>(csv, *column, names, "number format");
}

// The row's operation must find what it needs.
void require(const Timing& row, const CsvReader& csv, const Columns& columns) {
  const Need need = needs(row.operation);
  const auto missing = [&](std::string_view column) {
    throw ConfigError(csv.mark(columns.operation), "operation",
                      std::string(name(row.operation)) + " needs a value in column `" + std::string(column) + "`");
  };
  if (need.format && !row.format) missing("format");
  if (need.kv && !row.kv) missing("kv");
  for (const Measure measure : need.positive)
    if (row[measure] <= 0) missing(name(measure));
  if (row.operation == Operation::small_kernels && row[Measure::bytes] <= 0 && row[Measure::hidden] <= 0) missing("bytes");
}

}  // namespace

void read_timings(const std::string& file, Timings& into) {
  CsvReader csv(file);
  const Columns columns = find_columns(csv, file);
  std::vector<std::string> operations;
  for (int i = 0; i < kOperations; ++i) operations.emplace_back(name(static_cast<Operation>(i)));
  const std::size_t before = into.rows.size();
  while (csv.next()) {
    Timing row;
    row.operation = choose<Operation>(csv, columns.operation, operations, "operation");
    row.format = read_format(csv, columns.format);
    row.kv = read_format(csv, columns.kv);
    row.math = read_format(csv, columns.math);
    for (std::size_t i = 0; i < kMeasures; ++i)
      if (const auto column = columns.measure[i]; column && !csv.field(*column).empty()) row.measure[i] = csv.number(*column, 0, kLargest);
    row.seconds = csv.number(columns.microseconds, 1e-6, kLargest) * 1e-6;
    if (columns.device) into.device(csv.field(*columns.device));
    row.source = into.source(columns.source ? csv.field(*columns.source) : std::string_view());
    require(row, csv, columns);
    into.rows.push_back(row);
  }
  if (into.rows.size() == before) throw ConfigError({file}, "", "has a header but no rows");
}

}  // namespace marea::cost
