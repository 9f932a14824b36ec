// Evaluation of the laws; their forms are in the header.
#include "sim/cost/laws.h"

#include <algorithm>
#include <cmath>

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
  const double rows = (1 - cost.row_tile) * (m + cost.row_offset) + cost.row_tile * kTile * std::ceil(m / kTile);
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

double experts(const spec::ExpertsCost& cost, const Machine& machine, const ExpertShape& shape, double tokens, double skew) {
  const double rows = tokens * shape.per_token / shape.ranks * (1 + cost.imbalance * skew * (1 + std::log2(shape.ranks)));
  const double per_expert = 3 * shape.hidden * shape.width;
  const double compute = 2 * (rows + shape.touched * cost.row_offset) * per_expert / (cost.compute_efficiency * machine.peak);
  const double memory = shape.touched * per_expert * shape.weight_bytes / (cost.memory_efficiency * machine.bandwidth);
  return cost.floor.count() + cost.per_expert.count() * shape.touched + cost.per_token.count() * tokens + norm(compute, memory, cost.norm);
}

double touched_experts(std::span<const double> probabilities, double tokens) {
  double touched = 0;
  for (const double p : probabilities) touched += p >= 1 ? 1 : -std::expm1(tokens * std::log1p(-p));
  return touched;
}

double seconds_per_key(const spec::DecodeAttentionCost& cost, const Machine& machine, const KeyWork& key) {
  const double memory = key.bytes / (cost.memory_efficiency * machine.bandwidth);
  if (cost.compute_efficiency <= 0) return memory;
  return norm(memory, key.flops / (cost.compute_efficiency * machine.peak), 3);
}

double decode_floor(const spec::DecodeAttentionCost& cost, double sequences, double kv_heads) {
  return cost.floor.count() + cost.per_head.count() * sequences * kv_heads;
}

double prefill_attention(const spec::PrefillAttentionCost& cost, const Machine& machine, const PrefillShape& shape, double tokens,
                         double pairs, double longest) {
  const double d = shape.head_dim;
  const double work = 4 * shape.heads * d * (pairs + tokens * cost.tile_waste / 2) + cost.row * 4 * d * 128 * longest * machine.units;
  const double narrow = 1 + cost.narrow_head * std::max(0.0, 128 / d - 1);
  const double traffic = cost.traffic * tokens * (2 * shape.heads * d + 2 * shape.kv_heads * d) * 2 / machine.bandwidth;
  return cost.floor.count() + work / (cost.compute_efficiency * machine.peak) * narrow + traffic;
}

double all_reduce(const spec::AllReduceCost& cost, double payload) {
  const double ranks = static_cast<double>(cost.ranks);
  const double moved = payload * 2 * (ranks - 1) / ranks;
  return cost.floor.count() + cost.root.count() * std::sqrt(moved) + moved / cost.bus.value;
}

}  // namespace marea::cost
