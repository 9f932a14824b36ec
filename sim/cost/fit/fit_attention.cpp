// Attention over cached keys and of prompts, grouped and latent: coefficients, bounds, and which rows are not to be trusted.
#include <cmath>
#include <set>

#include "sim/base/random.h"
#include "sim/cost/fit/block.h"

namespace marea::cost {

namespace {

using M = Measure;

// Keys that every sequence of a row reads. A window keeps the newest.
double keys_read(const Timing& row) {
  const double all = row[M::context] + 1;
  return row[M::window] > 0 ? std::min(all, row[M::window]) : all;
}

bool latent(Operation operation) { return operation == Operation::decode_latent || operation == Operation::prefill_latent; }

double rows_of(const Timing& row) { return row[M::batch] * (row.operation == Operation::prefill_latent ? row[M::tokens] : 1); }

struct DecodeCase {
  DecodeShape shape;
  double sequences = 0;
  double keys = 0;
  double beside = 0;  // seconds of other kernels in the time
};

DecodeCase decode_case(const Timing& row, const ProductLaw& products) {
  const double bytes = spec::bytes_per_number(*row.kv);
  DecodeCase work;
  work.sequences = row[M::batch];
  work.keys = row[M::batch] * keys_read(row);
  if (latent(row.operation)) {
    work.shape = {row[M::heads], 1, 128, (row[M::latent] + row[M::rope_dim]) * bytes, 2 * (2 * row[M::latent] + row[M::rope_dim])};
    if (row.with_products) work.beside = latent_products(row, rows_of(row), products);
  } else {
    work.shape = {row[M::heads], row[M::kv_heads], row[M::head_dim], 2 * row[M::kv_heads] * row[M::head_dim] * bytes, 4 * row[M::head_dim]};
  }
  return work;
}

// Keys that fit into the last cache were read from it where it was not cleared between measurements: such cells between 2 % and 160 % of it
// are dropped. What lies below is nearly all floor, and must not outweigh the cells that read.
std::vector<Timing> cold(const std::vector<Timing>& rows, double cache) {
  constexpr double kSmall = 0.02;
  constexpr double kLarge = 1.6;
  std::vector<Timing> small;
  std::vector<Timing> used;
  for (const Timing& row : rows) {
    const DecodeShape shape = decode_case(row, [](double, double, double) { return 0.0; }).shape;
    const double bytes = shape.key_bytes * row[M::batch] * keys_read(row);
    if (!row.warm || bytes > kLarge * cache)
      used.push_back(row);
    else if (bytes < kSmall * cache)
      small.push_back(row);
  }
  const double share = used.empty() ? 1 : static_cast<double>(used.size()) / 2 / static_cast<double>(small.size());
  for (std::size_t i = 0; i < small.size(); ++i)
    if (RandomStream(0, "small reads", i).uniform() < share) used.push_back(small[i]);
  return used;
}

// Blocks whose fastest row takes longer than this were launched one by one while they were timed.
constexpr double kLaunched = 50e-6;
constexpr double kLongBlock = 300e-6;

// Of blocks that were timed with the launches of their kernels in them, only long ones tell of the kernels.
bool drop_launches(std::vector<Timing>& rows) {
  double fastest = INFINITY;
  bool whole = false;
  for (const Timing& row : rows) {
    fastest = std::min(fastest, row.seconds);
    whole = whole || row.with_products;
  }
  if (!whole || fastest < kLaunched) return false;
  std::erase_if(rows, [](const Timing& row) { return row.seconds < kLongBlock; });
  return true;
}

// What lies beside the floor that cannot be fitted is left as in the tables that were captured in a graph.
Bounds pinned(double value) { return {value, value, value * (1 + 1e-9), 0}; }

spec::DecodeAttentionCost decode_cost(std::span<const double> v) {
  spec::DecodeAttentionCost cost;
  cost.floor = Seconds{v[0]};
  cost.memory_efficiency = v[1];
  cost.per_head = Seconds{v[2]};
  cost.ramp = Seconds{v[3]};
  cost.compute_efficiency = v[4];
  cost.per_query = Seconds{v[5]};
  cost.query_rows = v[6];
  cost.tile_keys = v[7];
  cost.width_floor = Seconds{v[8]};
  cost.head_width = v[9];
  cost.wide_head = v[10];
  return cost;
}

Law<DecodeCase> decode_fit(const Machine& machine, bool of_latent, bool launched) {
  constexpr double kDecodeBlockFloor = 25e-6;
  Law<DecodeCase> law;
  law.coefficients = {{"floor", Notation::duration, launched ? pinned(kDecodeBlockFloor) : Bounds{1e-5, 1e-7, 1e-3, 1e-7}},
                      {"memory", Notation::number, {0.85, 0.02, 1.2, 0}},
                      {"per_head", Notation::duration, {1.5e-8, 0, 1e-5, 5e-10}},
                      {"ramp", Notation::duration, launched ? Bounds{0, 0, 1e-15, 1e-9} : Bounds{5e-6, 0, 1e-4, 1e-7}},
                      {"compute", Notation::number, {0.3, 0.01, 1.5, 0}},
                      {"per_query", Notation::duration, {1e-9, 0, 1e-6, 1e-10}}};
  if (!of_latent) {
    law.coefficients.push_back({"query_rows", Notation::number, {16, 0, 128, 4}});
    law.coefficients.push_back({"tile_keys", Notation::number, {10, 0, 256, 5}});
    law.coefficients.push_back({"width_floor", Notation::duration, {1e-6, 0, 1e-5, 1e-7}});
    law.coefficients.push_back({"head_width", Notation::number, {0.2, 0, 1, 0.05}});
    law.coefficients.push_back({"wide_head", Notation::number, {0.2, 0, 3, 0.1}});
  }
  law.basic = 4;
  law.neutral = {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  law.neutral.resize(law.coefficients.size());
  law.with = [machine](std::span<const double> values) -> std::function<double(const DecodeCase&)> {
    std::vector<double> all(values.begin(), values.end());
    all.resize(11, 0);
    return [cost = decode_cost(all), machine](const DecodeCase& work) {
      const DecodeLaw one = decode_law(cost, machine, work.shape);
      return work.beside + one.floor + one.at(work.sequences, work.keys);
    };
  };
  return law;
}

struct PrefillCase {
  PrefillShape shape;
  PrefillWork work;
  double beside = 0;
};

PrefillCase prefill_case(const Timing& row, const ProductLaw& products) {
  PrefillCase one;
  const double reach = row[M::context] + row[M::tokens];
  const bool limited = row[M::window] > 0 && row[M::window] < reach;
  one.work = {row[M::batch], row[M::batch] * row[M::tokens], row[M::batch] * causal_pairs(row[M::context], row[M::tokens], row[M::window]),
              limited ? row[M::window] : reach, limited};
  if (latent(row.operation)) {
    one.shape = {row[M::heads], row[M::heads], (row[M::nope_dim] + row[M::rope_dim] + row[M::value_dim]) / 2};
    if (row.with_products) one.beside = latent_products(row, rows_of(row), products);
  } else {
    one.shape = {row[M::heads], row[M::kv_heads], row[M::head_dim]};
  }
  return one;
}

spec::PrefillAttentionCost prefill_cost(std::span<const double> v) {
  spec::PrefillAttentionCost cost;
  cost.floor = Seconds{v[0]};
  cost.compute_efficiency = v[1];
  cost.row = v[2];
  cost.tile_waste = v[3];
  cost.traffic = v[4];
  cost.per_token = Seconds{v[5]};
  cost.sequence_rows = v[6];
  cost.narrow_head = v[7];
  cost.window_waste = v[8];
  return cost;
}

Law<PrefillCase> prefill_fit(const Machine& machine, bool of_latent, bool launched) {
  constexpr double kPrefillBlockFloor = 35e-6;
  Law<PrefillCase> law;
  law.coefficients = {{"floor", Notation::duration, launched ? pinned(kPrefillBlockFloor) : Bounds{1.5e-5, 1e-7, 1e-3, 1e-7}},
                      {"compute", Notation::number, {0.6, 0.02, 1, 0}},
                      {"row", Notation::number, {0.4, 0, 4, 0.02}},
                      {"tile_waste", Notation::number, {500, 0, 4000, 20}},
                      {"traffic", Notation::number, {4, 0, 40, 0.2}},
                      {"per_token", Notation::duration, {5e-10, 0, 1e-6, 5e-11}}};
  if (!of_latent) {
    law.coefficients.push_back({"sequence_rows", Notation::number, {50, 0, 512, 4}});
    law.coefficients.push_back({"narrow_head", Notation::number, {0.3, 0, 1.5, 0.05}});
    law.coefficients.push_back({"window_waste", Notation::number, {50, 0, 1000, 10}});
  }
  law.basic = 3;
  law.neutral = {0, 1, 0, 0, 0, 0, 0, 0, 0};
  law.neutral.resize(law.coefficients.size());
  law.with = [machine](std::span<const double> values) -> std::function<double(const PrefillCase&)> {
    std::vector<double> all(values.begin(), values.end());
    all.resize(9, 0);
    return [cost = prefill_cost(all), machine](const PrefillCase& one) {
      return one.beside + prefill_attention(cost, machine, one.shape, one.work);
    };
  };
  return law;
}

void add_ranges(Block& block, const std::vector<Timing>& rows, std::initializer_list<std::pair<spec::Extent, Measure>> extents) {
  if (rows.empty()) return;
  for (const auto& [extent, measure] : extents) block.record.ranges[static_cast<std::size_t>(extent)] = range_of(rows, measure);
}

// Head layouts are held out whole; where a table has too few of them, batches (decode) or chunk lengths (prefill) of a layout.
template <class Case>
void add_shapes(std::vector<Sample<Case>>& samples, const std::vector<Timing>& rows, Measure finer) {
  std::set<std::uint64_t> layouts;
  const auto layout = [](const Timing& row, double more) {
    return shape_key({row[M::heads], row[M::kv_heads], row[M::head_dim], row[M::window], row[M::latent], row[M::nope_dim], more});
  };
  for (const Timing& row : rows) layouts.insert(layout(row, 0));
  for (std::size_t i = 0; i < rows.size(); ++i) samples[i].shape = layout(rows[i], layouts.size() < kFolds ? rows[i][finer] : 0);
}

}  // namespace

Block fit_decode(const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place) {
  check(!rows.empty() && rows.front().kv.has_value(), "decode attention without rows or KV format");
  std::vector<Timing> used = cold(rows, static_cast<double>(device.memory.cache.value));
  const bool launched = drop_launches(used);
  std::vector<Sample<DecodeCase>> samples;
  for (const Timing& row : used) samples.push_back({decode_case(row, products), row.seconds, 0});
  add_shapes(samples, used, M::batch);
  Block block;
  const bool of_latent = latent(rows.front().operation);
  block.law = name(rows.front().operation);
  block.format = spec::name(*rows.front().kv);
  add_ranges(block, used, {{spec::Extent::batch, M::batch}, {spec::Extent::context, M::context}, {spec::Extent::heads, M::heads}});
  if (!of_latent) add_ranges(block, used, {{spec::Extent::kv_heads, M::kv_heads}, {spec::Extent::head_dim, M::head_dim}});
  complete(block, decode_fit(machine_of(device, spec::Format::bf16), of_latent, launched), samples, place);
  return block;
}

Block fit_prefill(const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place) {
  check(!rows.empty() && rows.front().kv.has_value(), "prefill attention without rows or KV format");
  constexpr double kShort = 40e-6;  // launches of one token or a few, which engines send to decode attention
  std::vector<Timing> used = rows;
  const bool launched = drop_launches(used);
  const std::size_t all = used.size();
  std::vector<Timing> longer = used;
  std::erase_if(longer, [](const Timing& row) { return row.seconds < kShort; });
  if (longer.size() >= all / 4) used = longer;
  std::vector<Sample<PrefillCase>> samples;
  for (const Timing& row : used) samples.push_back({prefill_case(row, products), row.seconds, 0});
  add_shapes(samples, used, M::tokens);
  Block block;
  const bool of_latent = latent(rows.front().operation);
  block.law = name(rows.front().operation);
  block.format = spec::name(*rows.front().kv);
  add_ranges(block, used,
             {{spec::Extent::batch, M::batch},
              {spec::Extent::tokens, M::tokens},
              {spec::Extent::context, M::context},
              {spec::Extent::heads, M::heads}});
  if (!of_latent) add_ranges(block, used, {{spec::Extent::kv_heads, M::kv_heads}, {spec::Extent::head_dim, M::head_dim}});
  complete(block, prefill_fit(machine_of(device, spec::Format::bf16), of_latent, launched), samples, place);
  return block;
}

}  // namespace marea::cost
