// What moves bytes: collectives, copies, small kernels.
#include "sim/cost/fit/block.h"

namespace marea::cost {

namespace {

using M = Measure;

}  // namespace

Block fit_all_reduce(const std::vector<Timing>& rows, const Mark& place) {
  check(!rows.empty(), "collectives without rows");
  const auto ranks = static_cast<std::int64_t>(rows.front()[M::ranks]);
  Law<double> law;
  law.coefficients = {{"floor", Notation::duration, {5e-6, 1e-7, 1e-3, 1e-7}},
                      {"bus", Notation::bandwidth, {3e11, 1e8, 1e13, 0}},
                      {"root", Notation::duration, {4e-9, 0, 1e-6, 1e-10}}};
  law.basic = 3;
  law.neutral = {0, 1e12, 0};
  law.with = [ranks](std::span<const double> values) -> std::function<double(const double&)> {
    spec::AllReduceCost cost;
    cost.ranks = ranks;
    cost.floor = Seconds{values[0]};
    cost.bus = Bandwidth{values[1]};
    cost.root = Seconds{values[2]};
    return [cost](const double& payload) { return all_reduce(cost, payload); };
  };
  std::vector<Sample<double>> samples;
  for (const Timing& row : rows) samples.push_back({row[M::bytes], row.seconds, shape_key({row[M::bytes]})});
  Block block;
  block.law = "all_reduce";
  block.format = std::to_string(ranks);
  block.record.ranges[static_cast<std::size_t>(spec::Extent::bytes)] = range_of(rows, M::bytes);
  complete(block, law, samples, place);
  return block;
}

namespace {

// Kernels of a layer, and the bytes that they move: of one kernel as the row states them, of a whole layer as StepCost counts them.
struct SmallCase {
  double kernels = 1;
  double bytes = 0;
};
constexpr double kPerLayer = 4;

SmallCase small_case(const Timing& row) {
  if (row[M::bytes] > 0) return {1, row[M::bytes]};
  return {kPerLayer, row[M::tokens] * 2 * (10 * row[M::hidden] + 3 * row[M::width] + 2 * row[M::heads] * row[M::head_dim])};
}

}  // namespace

Block fit_small_kernels(const std::vector<Timing>& rows, const spec::Device& device, const Mark& place) {
  Law<SmallCase> law;
  law.coefficients = {{"floor", Notation::duration, {3e-6, 1e-8, 1e-3, 1e-8}}, {"memory", Notation::number, {0.7, 0.01, 8, 0}}};
  law.basic = 2;
  law.neutral = {0, 1};
  const double bandwidth = device.memory.bandwidth.value;
  law.with = [bandwidth](std::span<const double> values) -> std::function<double(const SmallCase&)> {
    return [floor = values[0], rate = values[1] * bandwidth](const SmallCase& one) { return one.kernels * floor + one.bytes / rate; };
  };
  std::vector<Sample<SmallCase>> samples;
  for (const Timing& row : rows) samples.push_back({small_case(row), row.seconds, shape_key({small_case(row).bytes})});
  Block block;
  block.law = "small_kernels";
  block.values.emplace_back("per_layer", std::to_string(static_cast<int>(kPerLayer)));
  block.record.ranges[static_cast<std::size_t>(spec::Extent::tokens)] = range_of(rows, M::tokens);
  complete(block, law, samples, place);
  return block;
}

}  // namespace marea::cost
