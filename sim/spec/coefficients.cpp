// Reading the coefficients of step costs.
#include "sim/spec/coefficients.h"

#include <string>

namespace marea::spec {

namespace {

double number_or(Section& section, std::string_view key, double otherwise, double least = 0, double most = 1e6) {
  const std::optional<Value> value = section.optional(key);
  return value ? value->number(least, most) : otherwise;
}

double efficiency(Section& section, std::string_view key) { return section.required(key).number(1e-3, 1.2); }

Seconds seconds_or(Section& section, std::string_view key, Seconds otherwise) {
  const std::optional<Value> value = section.optional(key);
  return value ? read_seconds(*value) : otherwise;
}

Format math_of(Section& section, Format weights) {
  const std::optional<Value> math = section.optional("math");
  return math ? read_format(*math) : weights;
}

GemmCost read_gemm(const Value& value, const Sources& sources, Format weights) {
  Section section(value);
  GemmCost cost;
  cost.math = math_of(section, weights);
  cost.floor = read_seconds(section.required("floor"));
  cost.compute_efficiency = efficiency(section, "compute");
  cost.memory_efficiency = efficiency(section, "memory");
  cost.norm = section.required("norm").number(1, 20);
  cost.row_tile = number_or(section, "row_tile", 0, 0, 1);
  cost.wave = number_or(section, "wave", 0);
  cost.wave_norm = number_or(section, "wave_norm", 1, 1, 20);
  cost.wave_rows = number_or(section, "wave_rows", 0, 0, 3);
  cost.depth_offset = number_or(section, "depth_offset", 0);
  cost.narrow = number_or(section, "narrow", 0);
  cost.sustained = number_or(section, "sustained", 0, 0, 10);
  cost.activation = number_or(section, "activation", 0, 0, 100);
  cost.unaligned = number_or(section, "unaligned", 0, 0, 10);
  cost.fit = read_fit_record(section);
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

DecodeAttentionCost read_decode(const Value& value, const Sources& sources, Format) {
  Section section(value);
  DecodeAttentionCost cost;
  cost.floor = read_seconds(section.required("floor"));
  cost.width_floor = seconds_or(section, "width_floor", Seconds{});
  cost.memory_efficiency = efficiency(section, "memory");
  cost.compute_efficiency = number_or(section, "compute", 0, 0, 1.5);
  cost.query_rows = number_or(section, "query_rows", 0, 0, 1024);
  cost.wide_head = number_or(section, "wide_head", 0, 0, 4);
  cost.per_head = seconds_or(section, "per_head", Seconds{});
  cost.head_width = number_or(section, "head_width", 0, 0, 1);
  cost.per_query = seconds_or(section, "per_query", Seconds{});
  cost.ramp = seconds_or(section, "ramp", Seconds{});
  cost.tile_keys = number_or(section, "tile_keys", 0, 0, 4096);
  cost.fit = read_fit_record(section);
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

PrefillAttentionCost read_prefill(const Value& value, const Sources& sources, Format) {
  Section section(value);
  PrefillAttentionCost cost;
  cost.floor = read_seconds(section.required("floor"));
  cost.compute_efficiency = efficiency(section, "compute");
  cost.row = number_or(section, "row", 0);
  cost.tile_waste = number_or(section, "tile_waste", 0);
  cost.sequence_rows = number_or(section, "sequence_rows", 0);
  cost.narrow_head = number_or(section, "narrow_head", 0, 0, 1.9);
  cost.window_waste = number_or(section, "window_waste", 0);
  cost.traffic = number_or(section, "traffic", 0);
  cost.per_token = seconds_or(section, "per_token", Seconds{});
  cost.fit = read_fit_record(section);
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

SparseAttentionCost read_sparse(const Value& value, const Sources& sources, Format) {
  Section section(value);
  SparseAttentionCost cost;
  cost.floor = read_seconds(section.required("floor"));
  cost.compute_efficiency = number_or(section, "compute", 0, 0, 1.5);
  cost.memory_efficiency = number_or(section, "memory", 0, 0, 20);
  if (cost.compute_efficiency <= 0 && cost.memory_efficiency <= 0)
    section.fail("neither `compute` nor `memory`; reading keys takes one of them");
  cost.least_heads = number_or(section, "least_heads", 0, 0, 1024);
  cost.tile_keys = number_or(section, "tile_keys", 0, 0, 65536);
  cost.query = seconds_or(section, "query", Seconds{});
  cost.head = seconds_or(section, "head", Seconds{});
  cost.index_floor = seconds_or(section, "index_floor", Seconds{});
  cost.index_compute = number_or(section, "index_compute", 0, 0, 1.5);
  cost.index_memory = number_or(section, "index_memory", 0, 0, 1.5);
  cost.index_traffic = number_or(section, "index_traffic", 0, 0, 1000);
  cost.index_query = seconds_or(section, "index_query", Seconds{});
  cost.fit = read_fit_record(section);
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

ExpertsCost read_experts(const Value& value, const Sources& sources, Format weights) {
  Section section(value);
  ExpertsCost cost;
  cost.math = math_of(section, weights);
  cost.floor = read_seconds(section.required("floor"));
  cost.compute_efficiency = efficiency(section, "compute");
  cost.memory_efficiency = efficiency(section, "memory");
  cost.norm = section.required("norm").number(1, 20);
  cost.row_offset = number_or(section, "row_offset", 0);
  cost.width_offset = number_or(section, "width_offset", 0);
  cost.wave = number_or(section, "wave", 0);
  cost.traffic = number_or(section, "traffic", 0);
  cost.spread_floor = seconds_or(section, "spread_floor", Seconds{});
  cost.per_expert = seconds_or(section, "per_expert", Seconds{});
  cost.per_token = seconds_or(section, "per_token", Seconds{});
  cost.fit = read_fit_record(section);
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

// A map from format to coefficients.
template <class Cost>
void read_by_format(Section& costs, std::string_view key, const Sources& sources, std::array<std::optional<Cost>, kFormats>& into,
                    Cost (*read)(const Value&, const Sources&, Format)) {
  const std::optional<Value> value = costs.optional(key);
  if (!value) return;
  Section section(*value);
  for (const Format format : kAllFormats)
    if (const std::optional<Value> block = section.optional(name(format)))
      into[static_cast<std::size_t>(format)] = read(*block, sources, format);
  section.close();
}

std::vector<AllReduceCost> read_all_reduce(const Value& value, const Sources& sources) {
  std::vector<AllReduceCost> all;
  for (const Value& item : value.items()) {
    Section section(item);
    AllReduceCost cost;
    cost.ranks = section.required("ranks").integer(2, 1 << 20);
    if (!all.empty() && all.back().ranks >= cost.ranks) section.fail("not in rising order of `ranks`");
    cost.floor = read_seconds(section.required("floor"));
    cost.root = seconds_or(section, "root", Seconds{});
    cost.bus = section.required("bus").bandwidth();
    cost.fit = read_fit_record(section);
    cost.origin = sources.read(section);
    section.close();
    all.push_back(cost);
  }
  return all;
}

SmallKernelCost read_small_kernels(const Value& value, const Sources& sources) {
  Section section(value);
  SmallKernelCost cost;
  cost.floor = read_seconds(section.required("floor"));
  cost.per_layer = section.required("per_layer").number(0, 100);
  cost.memory_efficiency = section.required("memory").number(1e-3, 8);
  cost.fit = read_fit_record(section);
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

SamplerCost read_sampler(const Value& value, const Sources& sources) {
  Section section(value);
  SamplerCost cost;
  cost.floor = read_seconds(section.required("floor"));
  cost.per_row = read_seconds(section.required("per_row"));
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

}  // namespace

StepCosts read_step_costs(const Value& value, const Sources& sources) {
  Section section(value);
  StepCosts costs;
  read_by_format(section, "gemm", sources, costs.gemm, read_gemm);
  read_by_format(section, "experts", sources, costs.experts, read_experts);
  read_by_format(section, "decode_attention", sources, costs.decode_attention, read_decode);
  read_by_format(section, "prefill_attention", sources, costs.prefill_attention, read_prefill);
  read_by_format(section, "decode_latent", sources, costs.decode_latent, read_decode);
  read_by_format(section, "prefill_latent", sources, costs.prefill_latent, read_prefill);
  read_by_format(section, "decode_sparse", sources, costs.decode_sparse, read_sparse);
  read_by_format(section, "prefill_sparse", sources, costs.prefill_sparse, read_sparse);
  if (!costs.gemm[static_cast<std::size_t>(Format::bf16)]) section.fail("no `gemm.bf16`; every device states its 16-bit coefficients");
  if (const std::optional<Value> all_reduce = section.optional("all_reduce")) costs.all_reduce = read_all_reduce(*all_reduce, sources);
  costs.small_kernels = read_small_kernels(section.required("small_kernels"), sources);
  costs.sampler = read_sampler(section.required("sampler"), sources);
  costs.routing_skew = number_or(section, "routing_skew", 0, 0, 3);
  section.close();
  return costs;
}

}  // namespace marea::spec
