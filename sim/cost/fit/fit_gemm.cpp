// Dense products: which coefficients the law has, and within which bounds they are looked for.
#include "sim/cost/fit/block.h"

namespace marea::cost {

namespace {

struct Product {
  double m, k, n;
};

// Smaller matrices than this are launch and cache effects; engines have them in routers only.
constexpr double kSmallest = 1024;

spec::GemmCost gemm_cost(std::span<const double> v, spec::Format math) {
  spec::GemmCost cost;
  cost.math = math;
  cost.floor = Seconds{v[0]};
  cost.compute_efficiency = v[1];
  cost.memory_efficiency = v[2];
  cost.norm = v[3];
  cost.wave = v[4];
  cost.depth_offset = v[5];
  cost.wave_norm = v[6];
  cost.wave_rows = v[7];
  cost.row_tile = v[8];
  cost.narrow = v[9];
  cost.sustained = v[10];
  cost.activation = v[11];
  cost.unaligned = v[12];
  return cost;
}

Law<Product> gemm_law(const Machine& machine, spec::Format weights, spec::Format math) {
  const bool narrow_math = spec::bytes_per_number(math) < 2;
  Law<Product> law;
  law.coefficients = {{"floor", Notation::duration, {4e-6, 1e-7, 1e-4, 1e-7}},
                      {"compute", Notation::number, {0.75, 0.02, 1.2}},
                      {"memory", Notation::number, {0.85, 0.05, 1.2}},
                      {"norm", Notation::number, {4, 1, 12}},
                      {"wave", Notation::number, {0.3, 0, 4, 0.01}},
                      {"depth_offset", Notation::number, {100, 0, 2000, 10}},
                      {"wave_norm", Notation::number, {1.5, 1, 8}},
                      {"wave_rows", Notation::number, {0.4, 0, 1.5, 0.1}},
                      {"row_tile", Notation::number, {0.4, 0, 1, 0.05}},
                      {"narrow", Notation::number, {600, 0, 8000, 100}},
                      {"sustained", Notation::number, {0.05, 0, 2, 0.01}},
                      {"activation", Notation::number, {1, 0, 12, 0.1}}};
  // A penalty of odd row numbers is not monotone in work, so it is only looked for where kernels are known to have it.
  if (narrow_math) law.coefficients.push_back({"unaligned", Notation::number, {0.2, 0, 2, 0.05}});
  law.basic = 4;
  law.neutral = {0, 1, 1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  law.neutral.resize(law.coefficients.size());
  const double weight_bytes = spec::bytes_per_number(weights);
  law.with = [=](std::span<const double> values) -> std::function<double(const Product&)> {
    std::vector<double> all(values.begin(), values.end());
    all.resize(13, 0);
    return
        [cost = gemm_cost(all, math), machine, weight_bytes](const Product& p) { return gemm(cost, machine, p.m, p.k, p.n, weight_bytes); };
  };
  return law;
}

}  // namespace

FittedGemm fit_gemm(const std::vector<Timing>& rows, const spec::Device& device, const Mark& place) {
  using M = Measure;
  check(!rows.empty() && rows.front().format.has_value(), "dense products without rows or format");
  const spec::Format weights = *rows.front().format;
  const spec::Format math = device.compute.peak[spec::at(weights)] ? weights : spec::Format::bf16;
  std::vector<Timing> used;
  std::vector<Sample<Product>> samples;
  for (const Timing& row : rows) {
    if (row[M::n] < kSmallest || row[M::k] < kSmallest) continue;
    used.push_back(row);
    samples.push_back({{row[M::m], row[M::k], row[M::n]}, row.seconds, shape_key({row[M::n], row[M::k]})});
  }
  Block block;
  block.law = "gemm";
  block.format = spec::name(weights);
  if (math != weights) block.values.emplace_back("math", std::string(spec::name(math)));
  if (!used.empty())
    for (const auto& [extent, measure] :
         {std::pair{spec::Extent::m, M::m}, std::pair{spec::Extent::n, M::n}, std::pair{spec::Extent::k, M::k}})
      block.record.ranges[static_cast<std::size_t>(extent)] = range_of(used, measure);
  const Law<Product> law = gemm_law(machine_of(device, math), weights, math);
  const auto fitted = law.with(complete(block, law, samples, place));
  return {std::move(block), [fitted](double m, double k, double n) { return fitted({m, k, n}); }};
}

}  // namespace marea::cost
