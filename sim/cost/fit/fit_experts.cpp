// Routed experts: coefficients, bounds, and rows that cannot be true.
#include <cmath>
#include <map>
#include <set>

#include "sim/cost/fit/block.h"

namespace marea::cost {

namespace {

using M = Measure;

struct ExpertCase {
  ExpertShape shape;
  double tokens = 0;
};

// What one rank does in a row: as the row states it, else by the popularity that it states.
ExpertCase expert_case(const Timing& row, spec::Format weights) {
  const double ranks = std::max(1.0, row[M::expert_ranks]);
  ExpertCase one;
  one.tokens = row[M::tokens];
  one.shape = {
      row[M::hidden], row[M::width] / std::max(1.0, row[M::tensor_ranks]), row[M::rows], row[M::touched], spec::bytes_per_number(weights),
      ranks > 1};
  if (row[M::touched] <= 0 || row[M::rows] <= 0) {
    const std::vector<double> all = choice_probabilities(static_cast<std::size_t>(row[M::experts]), row[M::chosen], row[M::skew]);
    const std::vector<double> own = busiest_rank(all, static_cast<std::size_t>(ranks));
    one.shape.rows = 0;
    for (const double p : own) one.shape.rows += p * row[M::tokens];
    one.shape.touched = touched_experts(own, row[M::tokens]);
  }
  return one;
}

spec::ExpertsCost experts_cost(std::span<const double> v, spec::Format math) {
  spec::ExpertsCost cost;
  cost.math = math;
  cost.floor = Seconds{v[0]};
  cost.compute_efficiency = v[1];
  cost.memory_efficiency = v[2];
  cost.norm = v[3];
  cost.row_offset = v[4];
  cost.per_token = Seconds{v[5]};
  cost.per_expert = Seconds{v[6]};
  cost.traffic = v[7];
  cost.wave = v[8];
  cost.width_offset = v[9];
  if (v.size() > 10) cost.spread_floor = Seconds{v[10]};
  return cost;
}

Law<ExpertCase> experts_fit(const Machine& machine, spec::Format math, std::size_t layouts) {
  Law<ExpertCase> law;
  law.coefficients = {{"floor", Notation::duration, {2e-5, 1e-7, 1e-3, 1e-7}},
                      {"compute", Notation::number, {0.5, 0.02, 1, 0}},
                      {"memory", Notation::number, {0.85, 0.05, 1, 0}},
                      {"norm", Notation::number, {2, 1, 10, 0}},
                      {"row_offset", Notation::number, {30, 0, 300, 2}},
                      {"per_token", Notation::duration, {2e-8, 0, 1e-6, 2e-9}},
                      {"per_expert", Notation::duration, {5e-8, 0, 5e-6, 5e-9}},
                      {"traffic", Notation::number, {1, 0, 20, 0.1}},
                      {"wave", Notation::number, {0.3, 0, 5, 0.02}},
                      {"width_offset", Notation::number, {50, 0, 2000, 10}}};
  // A table of few layouts tells of ten coefficients at most.
  if (layouts > law.coefficients.size()) law.coefficients.push_back({"spread_floor", Notation::duration, {1e-6, 0, 1e-4, 2e-7}});
  law.basic = 4;
  law.neutral = {0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0};
  law.neutral.resize(law.coefficients.size());
  law.with = [machine, math](std::span<const double> values) -> std::function<double(const ExpertCase&)> {
    return [cost = experts_cost(values, math), machine](const ExpertCase& one) { return experts(cost, machine, one.shape, one.tokens); };
  };
  return law;
}

// Share of the sheet's arithmetic or bandwidth that a row would need.
double share_of_sheet(const ExpertCase& one, double seconds, const Machine& machine) {
  const double weights = 3 * one.shape.hidden * one.shape.width;
  return std::max(2 * one.shape.rows * weights / machine.peak, one.shape.touched * weights * one.shape.weight_bytes / machine.bandwidth) /
         seconds;
}

// Weights that fit into the last cache were read from it, as keys are (fit_attention.cpp), unless so many rows share them, or so little of
// the time is reading, that it matters little.
bool fits(const ExpertCase& one, double seconds, const spec::Device& device) {
  constexpr double kLarge = 1.6;
  constexpr double kManyRows = 64;
  constexpr double kLittle = 0.1;
  const double bytes = one.shape.touched * 3 * one.shape.hidden * one.shape.width * one.shape.weight_bytes;
  return bytes < kLarge * static_cast<double>(device.memory.cache.value) && one.shape.rows < kManyRows * one.shape.touched &&
         bytes / device.memory.bandwidth.value > kLittle * seconds;
}

}  // namespace

Block fit_experts(const std::vector<Timing>& rows, const spec::Device& device, const Mark& place) {
  constexpr double kImpossible = 1.1;
  check(!rows.empty() && rows.front().format.has_value(), "experts without rows or format");
  const spec::Format weights = *rows.front().format;
  const spec::Format wanted = rows.front().math.value_or(weights);
  const spec::Format math = device.compute.peak[spec::at(wanted)] ? wanted : spec::Format::bf16;
  const Machine machine = machine_of(device, math);
  std::vector<Sample<ExpertCase>> samples;
  std::vector<const Timing*> of_sample;
  std::map<std::uint64_t, double> best;  // largest share of the sheet by shape
  for (const Timing& row : rows) {
    const ExpertCase one = expert_case(row, weights);
    if (row.warm && fits(one, row.seconds, device)) continue;
    const std::uint64_t shape =
        shape_key({row[M::hidden], row[M::width], row[M::experts], row[M::chosen], row[M::expert_ranks], row[M::tensor_ranks]});
    double& most = best[shape];
    most = std::max(most, share_of_sheet(one, row.seconds, machine));
    samples.push_back({one, row.seconds, shape});
    of_sample.push_back(&row);
  }
  Block block;
  block.law = "experts";
  block.format = spec::name(weights);
  if (math != weights) block.values.emplace_back("math", std::string(spec::name(math)));
  std::vector<Timing> used;
  std::vector<Sample<ExpertCase>> kept;
  std::set<std::uint64_t> layouts;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (best[samples[i].shape] > kImpossible) continue;  // not the shape that it says
    layouts.insert(samples[i].shape);
    kept.push_back(samples[i]);
    used.push_back(*of_sample[i]);
  }
  if (!used.empty())
    for (const auto& [extent, measure] : {std::pair{spec::Extent::tokens, M::tokens}, std::pair{spec::Extent::experts, M::experts},
                                          std::pair{spec::Extent::chosen, M::chosen}, std::pair{spec::Extent::hidden, M::hidden},
                                          std::pair{spec::Extent::expert_ranks, M::expert_ranks}})
      block.record.ranges[static_cast<std::size_t>(extent)] = range_of(used, measure);
  complete(block, experts_fit(machine, math, layouts.size()), kept, place);
  return block;
}

}  // namespace marea::cost
