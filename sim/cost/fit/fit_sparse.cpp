// Latent attention over chosen keys, with the index that chooses them. Public tables time the two together, in blocks with their dense
// products; those of prompts were launched one by one, so only long ones tell of the kernels.
#include <cmath>
#include <set>

#include "sim/cost/fit/block.h"

namespace marea::cost {

namespace {

using M = Measure;

struct SparseCase {
  SparseShape shape;
  double queries = 0;
  double keys = 0;    // read, of all queries
  double scored = 0;  // by the index
  double beside = 0;  // seconds of other kernels in the time
};

SparseCase sparse_case(const Timing& row, const ProductLaw& products) {
  constexpr double kScale = 4;  // bytes beside the 8-bit numbers of an index entry
  const double rank = row[M::latent] + row[M::rope_dim];
  SparseCase one;
  one.shape = {row[M::heads],
               rank * spec::bytes_per_number(*row.kv),
               2 * (2 * row[M::latent] + row[M::rope_dim]),
               row[M::index_heads],
               row[M::index_dim],
               row[M::index_heads] > 0 ? row[M::index_dim] + kScale : 0};
  const double before = row[M::context];
  if (row.operation == Operation::prefill_sparse) {
    one.queries = row[M::batch] * row[M::tokens];
    one.keys = row[M::batch] * causal_pairs(before, row[M::tokens], row[M::chosen_keys]);
    one.scored = row[M::batch] * causal_pairs(before, row[M::tokens], 0);
  } else {
    one.queries = row[M::batch];
    one.keys = row[M::batch] * std::min(before + 1, row[M::chosen_keys]);
    one.scored = row[M::batch] * (before + 1);
  }
  if (!row.with_products) return one;
  one.beside = latent_products(row, one.queries, products) +
               products(one.queries, row[M::query_rank], row[M::index_heads] * row[M::index_dim]) +
               products(one.queries, row[M::hidden], row[M::index_heads] + row[M::index_dim]);
  return one;
}

// The time of launching a block: what the smallest rows take, in the middle of them. Rows not well above it are dropped.
void drop_launch_times(std::vector<Timing>& rows) {
  constexpr double kFewTokens = 64;
  constexpr double kWellAbove = 1.5;
  constexpr double kLong = 300e-6;
  std::vector<double> small;
  for (const Timing& row : rows)
    if (row.with_products && row[M::batch] * std::max(1.0, row[M::tokens]) <= kFewTokens) small.push_back(row.seconds);
  if (small.empty()) return;
  std::nth_element(small.begin(), small.begin() + static_cast<std::ptrdiff_t>(small.size() / 2), small.end());
  const double least = std::max(kLong, kWellAbove * small[small.size() / 2]);
  std::erase_if(rows, [least](const Timing& row) { return row.with_products && row.seconds < least; });
}

spec::SparseAttentionCost sparse_cost(std::span<const double> v, bool prefill) {
  spec::SparseAttentionCost cost;
  cost.floor = Seconds{v[0]};
  cost.index_floor = Seconds{v[1]};
  cost.memory_efficiency = v[2];
  cost.query = Seconds{v[3]};
  cost.compute_efficiency = v[4];
  (prefill ? cost.index_traffic : cost.index_memory) = v[5];
  cost.head = Seconds{v[6]};
  cost.least_heads = v[7];
  cost.tile_keys = v[8];
  cost.index_query = Seconds{v[9]};
  cost.index_compute = v[10];
  return cost;
}

// Attention and index share a floor in a table of blocks: attention's is then that of captured latent blocks, 15 us, and what is left
// belongs to the index. Of prompts, whose launches were timed, neither can be told.
Law<SparseCase> sparse_fit(const Machine& machine, double index_peak, bool prefill, bool whole) {
  const auto known = [](double value) { return Bounds{value, value, value * (1 + 1e-9), 0}; };
  const Bounds attention = whole ? known(prefill ? 25e-6 : 15e-6) : Bounds{1e-5, 1e-7, 1e-3, 1e-7};
  const Bounds index = whole && prefill ? known(10e-6) : Bounds{2e-5, 1e-7, 1e-3, 1e-7};
  Law<SparseCase> law;
  law.coefficients = {{"floor", Notation::duration, attention},
                      {"index_floor", Notation::duration, index},
                      {"memory", Notation::number, {0.8, 0.02, 20, 0}},
                      {"query", Notation::duration, {5e-6, 0, 1e-3, 1e-7}},
                      {"compute", Notation::number, {0.6, 0.02, 1.5, 0}}};
  law.coefficients.push_back(prefill ? Coefficient{"index_traffic", Notation::number, {8, 0, 200, 0.5}}
                                     : Coefficient{"index_memory", Notation::number, {0.7, 0.02, 1.5, 0}});
  law.coefficients.push_back({"head", Notation::duration, {2e-7, 0, 1e-4, 1e-8}});
  law.coefficients.push_back({"least_heads", Notation::number, {64, 1, 128, 0}});
  law.coefficients.push_back({"tile_keys", Notation::number, {50, 0, 2048, 5}});
  law.coefficients.push_back({"index_query", Notation::duration, {1e-7, 0, 1e-4, 1e-8}});
  if (prefill) law.coefficients.push_back({"index_compute", Notation::number, {0.4, 0.02, 1, 0}});
  law.basic = 6;
  law.neutral = {0, 0, 1, 0, 1, prefill ? 0.0 : 1.0, 0, 1, 0, 0, 0};
  law.neutral.resize(law.coefficients.size());
  law.with = [=](std::span<const double> values) -> std::function<double(const SparseCase&)> {
    std::vector<double> all(values.begin(), values.end());
    all.resize(11, 0);
    return [cost = sparse_cost(all, prefill), machine, index_peak](const SparseCase& one) {
      const SparseLaw at = sparse_law(cost, machine, index_peak, one.shape);
      return one.beside + at.floor + at.index_floor + at.attend(one.queries, one.keys) + at.choose(one.queries, one.scored);
    };
  };
  return law;
}

// Head layouts are held out whole; where a table has fewer of them than the law has coefficients, batches or chunk lengths of a layout.
void add_shapes(std::vector<Sample<SparseCase>>& samples, const std::vector<Timing>& rows, std::size_t coefficients) {
  const auto layout = [](const Timing& row, double finer) {
    return shape_key({row[M::heads], row[M::hidden], row[M::latent], row[M::chosen_keys], row[M::index_heads], finer});
  };
  std::set<std::uint64_t> layouts;
  for (const Timing& row : rows) layouts.insert(layout(row, 0));
  const bool few = layouts.size() < coefficients;
  for (std::size_t i = 0; i < rows.size(); ++i)
    samples[i].shape = layout(rows[i], few ? std::max(rows[i][M::tokens], rows[i][M::batch]) : 0);
}

}  // namespace

Block fit_sparse(const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place) {
  check(!rows.empty() && rows.front().kv.has_value(), "sparse attention without rows or KV format");
  const bool prefill = rows.front().operation == Operation::prefill_sparse;
  std::vector<Timing> used = rows;
  const bool whole = std::any_of(used.begin(), used.end(), [](const Timing& row) { return row.with_products; });
  if (prefill) drop_launch_times(used);
  std::vector<Sample<SparseCase>> samples;
  for (const Timing& row : used) samples.push_back({sparse_case(row, products), row.seconds, 0});
  const double index_peak = device.peak(device.compute.peak[spec::at(spec::Format::fp8)] ? spec::Format::fp8 : spec::Format::bf16).value;
  const Law<SparseCase> law = sparse_fit(machine_of(device, spec::Format::bf16), index_peak, prefill, whole);
  add_shapes(samples, used, law.coefficients.size());
  Block block;
  block.law = name(rows.front().operation);
  block.format = spec::name(*rows.front().kv);
  if (!used.empty())
    for (const auto& [extent, measure] : {std::pair{spec::Extent::batch, M::batch}, std::pair{spec::Extent::tokens, M::tokens},
                                          std::pair{spec::Extent::context, M::context}, std::pair{spec::Extent::heads, M::heads}})
      if (prefill || extent != spec::Extent::tokens) block.record.ranges[static_cast<std::size_t>(extent)] = range_of(used, measure);
  complete(block, law, samples, place);
  return block;
}

}  // namespace marea::cost
