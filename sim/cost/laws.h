// The laws that turn coefficients into seconds, each evaluated in this one place. All were chosen and fitted on measured kernel times; the
// comments of each give its form. One call is one kernel (or one group of kernels measured as one) on one rank.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "sim/base/units.h"
#include "sim/spec/device.h"

namespace marea::cost {

// What a law needs of the device: FLOP/s of the format it multiplies in, bandwidth, and how many units share the work.
struct Machine {
  double peak = 0;       // FLOP/s
  double bandwidth = 0;  // B/s
  double units = 1;
};

// Product of m x k activations with k x n weights, "tiled waves":
//   rows = (1 - al) (m + mh) + al 128 ceil(m / 128)                   tiles of 128 rows, as far as the kernels cannot avoid them
//   full = 2 rows n (k + ka) / (e P) (1 + th m / (m + 16384))         all units busy; clocks sag in long products
//   first = s 2 128 128 (k + ka) S / (e P) min(1, m / 128)^be         one tile alone takes this long however few there are
//   compute = (full^r + first^r)^(1/r), more by un for m > 256 that is no multiple of 16
//   memory = (n k wb + m k ab + 2 m n) / (eb BW) sqrt(1 + (nh / n)^2) few columns are few units that ask for weights
//   t = t0 + (compute^q + memory^q)^(1/q) + ac 2 m k / BW             activations are quantised before the product
double gemm(const spec::GemmCost& cost, const Machine& machine, double m, double k, double n, double weight_bytes);

// Routed experts of one layer on one rank, for `tokens` tokens of the whole group.
struct ExpertShape {
  double hidden = 0;
  double width = 0;         // per rank
  double per_token = 0;     // k
  double ranks = 1;         // that share out whole experts
  double touched = 0;       // experts of this rank that any token chose
  double weight_bytes = 1;  // per weight
};
//   rows = T k / ranks * (1 + im * skew * (1 + log2 ranks))
//   t = t0 + pe * touched + ct * T + ((2 (rows + touched mh) 3 h f / (e P))^q + (touched 3 h f wb / (eb BW))^q)^(1/q)
double experts(const spec::ExpertsCost& cost, const Machine& machine, const ExpertShape& shape, double tokens, double skew);

// Expected number of experts that `tokens` tokens touch: the sum over experts of 1 - (1 - p)^tokens.
double touched_experts(std::span<const double> probabilities, double tokens);

// What attention does for one cached key in one layer on one rank.
struct KeyWork {
  double bytes = 0;
  double flops = 0;
};
// Seconds a key: cube-norm of memory and compute. Memory and compute both grow with the keys, so one rate serves any number of them.
double seconds_per_key(const spec::DecodeAttentionCost& cost, const Machine& machine, const KeyWork& key);
// Decode attention of one layer apart from the keys: t0 + a * sequences * kv_heads.
double decode_floor(const spec::DecodeAttentionCost& cost, double sequences, double kv_heads);
// log2(x) for x >= 1 to 0.01, from the bits of x: the same on every machine, and a step that is otherwise a few additions can afford it.
// Between powers of two: m + 0.3436 m (1 - m) for a mantissa 1 + m. Continuous and rising.
inline double rough_log2(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const double exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  const double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u) - 1;
  return exponent + m + 0.3436 * m * (1 - m);
}
// The part of a step that grows with the contexts of its decodes, over all layers:
//   rate * keys + lg * log2(1 + keys / sequences / 256), once for layers that read every key and once for those that read a limited number.
struct DecodeGrowth {
  double rate = 0;      // seconds a key
  double doubling = 0;  // seconds a doubling
  double limited_rate = 0;
  double limited_doubling = 0;
  bool limited = false;

  // What at() wants to know of the sequences: 1 / (256 sequences). Without any there are no keys either, and 0 does.
  static double share(std::int64_t sequences) { return sequences > 0 ? 1 / (256 * static_cast<double>(sequences)) : 0; }
  // Seconds for so many keys: all, and limited ones.
  double at(double share, double keys, double limited_keys) const {
    const double seconds = rate * keys + doubling * rough_log2(1 + keys * share);
    if (!limited) return seconds;
    return seconds + (limited_rate * limited_keys + limited_doubling * rough_log2(1 + limited_keys * share));
  }
};

// Causal attention of the chunks of one step, one layer, one rank.
struct PrefillShape {
  double heads = 0;
  double kv_heads = 0;
  double head_dim = 0;
};
//   t = t0 + (4 H d (pairs + tokens T / 2) + ka 4 d 128 longest S) / (e P) * (1 + dk max(0, 128 / d - 1)) + ck tokens (2 H d + 2 K d) 2 /
//   BW
double prefill_attention(const spec::PrefillAttentionCost& cost, const Machine& machine, const PrefillShape& shape, double tokens,
                         double pairs, double longest);

// t0 + c sqrt(x) + x / bus, x = payload * 2 (n - 1) / n.
double all_reduce(const spec::AllReduceCost& cost, double payload);

}  // namespace marea::cost
