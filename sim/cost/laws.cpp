// Evaluation of the laws; their forms are in the header.
#include "sim/cost/laws.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/random.h"

namespace marea::cost {

namespace {

// (a^q + b^q)^(1/q), scaled by the larger so that no power leaves the range of a double.
double norm(double a, double b, double q) {
  const double large = std::max(a, b);
  if (large <= 0) return 0;
  return large * std::pow(1 + std::pow(std::min(a, b) / large, q), 1 / q);
}

}  // namespace

double gemm(const spec::GemmCost& cost, const Machine& machine, double m, double k, double n, double weight_bytes) {
  constexpr double kTile = 128;
  constexpr double kAlign = 16;
  constexpr double kHalfClock = 16384;
  const double rate = cost.compute_efficiency * machine.peak;
  const double depth = 2 * (k + cost.depth_offset);
  const double rows = (1 - cost.row_tile) * m + cost.row_tile * kTile * std::ceil(m / kTile);
  const double waves = rows * n * depth / rate * (1 + cost.sustained * m / (m + kHalfClock));
  double first = cost.wave * kTile * kTile * depth * machine.units / rate;
  if (cost.wave_rows > 0) first *= std::pow(std::clamp(m, kAlign, kTile) / kTile, cost.wave_rows);
  double compute = norm(waves, first, cost.wave_norm);
  if (m > 256 && std::fmod(m, kAlign) != 0) compute *= 1 + cost.unaligned;
  const double bytes = n * k * weight_bytes + m * k * spec::bytes_per_number(cost.math) + 2 * m * n;
  const double memory = bytes / (cost.memory_efficiency * machine.bandwidth) * std::hypot(1, cost.narrow / n);
  const double activation = cost.activation * 2 * m * k / machine.bandwidth;
  return cost.floor.count() + norm(compute, memory, cost.norm) + activation;
}

double experts(const spec::ExpertsCost& cost, const Machine& machine, const ExpertShape& shape, double tokens) {
  constexpr double kTile = 128;
  const double rate = cost.compute_efficiency * machine.peak;
  const double hidden = 3 * shape.hidden;
  const double waves = 2 * (shape.rows + shape.touched * cost.row_offset) * hidden * (shape.width + cost.width_offset) / rate;
  const double first = cost.wave * 2 * kTile * kTile * hidden * machine.units / rate;
  const double memory = shape.touched * hidden * shape.width * shape.weight_bytes / (cost.memory_efficiency * machine.bandwidth);
  const double traffic = cost.traffic * shape.rows * (2 * shape.hidden + 3 * shape.width) * 2 / machine.bandwidth;
  const double floor = cost.floor.count() + (shape.spread ? cost.spread_floor.count() : 0);
  return floor + cost.per_expert.count() * shape.touched + cost.per_token.count() * tokens +
         norm(std::hypot(waves, first), memory, cost.norm) + traffic;
}

std::vector<double> choice_probabilities(std::size_t count, double per_token, double skew) {
  std::vector<double> chosen(count);
  std::size_t certain = 0;
  while (true) {
    double weight = 0;
    for (std::size_t i = certain; i < count; ++i) weight += std::pow(static_cast<double>(i) + 1, -skew);
    const double scale = (per_token - static_cast<double>(certain)) / weight;
    for (std::size_t i = certain; i < count; ++i) chosen[i] = scale * std::pow(static_cast<double>(i) + 1, -skew);
    if (certain == count || chosen[certain] <= 1) return chosen;
    chosen[certain++] = 1;
  }
}

std::vector<double> busiest_rank(const std::vector<double>& probabilities, std::size_t ranks) {
  constexpr std::uint64_t kDeals = 9;
  check(ranks >= 1 && probabilities.size() % ranks == 0, "ranks that do not divide the experts");
  if (ranks == 1) return probabilities;
  const std::size_t own = probabilities.size() / ranks;
  std::vector<std::pair<double, std::vector<double>>> busiest;
  for (std::uint64_t deal = 0; deal < kDeals; ++deal) {
    std::vector<std::pair<std::uint64_t, double>> order;
    for (std::size_t i = 0; i < probabilities.size(); ++i)
      order.emplace_back(RandomStream(0, "placement of experts", deal, i).bits(), probabilities[i]);
    std::sort(order.begin(), order.end());
    std::pair<double, std::vector<double>> most{-1, {}};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::vector<double> mine;
      double sum = 0;
      for (std::size_t i = rank * own; i < (rank + 1) * own; ++i) {
        mine.push_back(order[i].second);
        sum += order[i].second;
      }
      if (sum > most.first) most = {sum, std::move(mine)};
    }
    busiest.push_back(std::move(most));
  }
  std::sort(busiest.begin(), busiest.end());
  return busiest[kDeals / 2].second;
}

double touched_experts(std::span<const double> probabilities, double tokens) {
  double touched = 0;
  for (const double p : probabilities) touched += p >= 1 ? 1 : -std::expm1(tokens * std::log1p(-p));
  return touched;
}

DecodeLaw decode_law(const spec::DecodeAttentionCost& cost, const Machine& machine, const DecodeShape& shape) {
  constexpr double kWidth = 128;
  const double wide = shape.width / kWidth;
  const double memory = shape.key_bytes / (cost.memory_efficiency * machine.bandwidth);
  double compute = 0;
  if (cost.compute_efficiency > 0)
    compute = shape.key_flops * (shape.heads + cost.query_rows * shape.kv_heads) * std::pow(std::max(1.0, wide), cost.wide_head) /
              (cost.compute_efficiency * machine.peak);
  DecodeLaw law;
  law.floor = cost.floor.count() + cost.width_floor.count() * wide;
  law.rate = norm(memory, compute, 3);
  law.wasted = law.rate * cost.tile_keys;
  law.block = cost.per_head.count() * (1 + cost.head_width * (wide - 1)) * shape.kv_heads + cost.per_query.count() * shape.heads;
  law.ramp = cost.ramp.count();
  return law;
}

SparseLaw sparse_law(const spec::SparseAttentionCost& cost, const Machine& machine, double index_peak, const SparseShape& shape) {
  constexpr double kScore = 4;  // bytes
  const auto over = [](double work, double efficiency, double rate) { return efficiency > 0 ? work / (efficiency * rate) : 0; };
  SparseLaw law;
  law.floor = cost.floor.count();
  law.key = norm(over(shape.key_bytes, cost.memory_efficiency, machine.bandwidth),
                 over(shape.key_flops * std::max(shape.heads, cost.least_heads), cost.compute_efficiency, machine.peak), 3);
  law.query = law.key * cost.tile_keys + (cost.query.count() + cost.head.count() * shape.heads) / machine.units;
  law.index_floor = cost.index_floor.count();
  law.index_key = over(2 * shape.index_heads * shape.index_dim, cost.index_compute, index_peak) +
                  over(shape.index_bytes, cost.index_memory, machine.bandwidth) + cost.index_traffic * kScore / machine.bandwidth;
  law.index_query = cost.index_query.count() * shape.index_heads / machine.units;
  return law;
}

double prefill_attention(const spec::PrefillAttentionCost& cost, const Machine& machine, const PrefillShape& shape,
                         const PrefillWork& work) {
  const double d = shape.head_dim;
  const double rate = cost.compute_efficiency * machine.peak;
  double pairs = work.pairs + (work.tokens + cost.sequence_rows * work.sequences) * cost.tile_waste / 2;
  if (work.windowed) pairs += work.tokens * cost.window_waste;
  const double all = 4 * shape.heads * d * pairs / rate;
  const double row = cost.row * 4 * d * 128 * work.longest * machine.units / rate;
  const double narrow = 1 + cost.narrow_head * (128 / d - 1);
  const double traffic = cost.traffic * work.tokens * 2 * shape.kv_heads * d * 2 / machine.bandwidth;
  return cost.floor.count() + std::sqrt(all * all + row * row) * narrow + traffic + cost.per_token.count() * work.tokens;
}

double all_reduce(const spec::AllReduceCost& cost, double payload) {
  const double ranks = static_cast<double>(cost.ranks);
  const double moved = payload * 2 * (ranks - 1) / ranks;
  return cost.floor.count() + cost.root.count() * std::sqrt(moved) + moved / cost.bus.value;
}

}  // namespace marea::cost
