// The laws that turn coefficients into seconds, each evaluated in this one place. All were chosen and fitted on measured kernel times; the
// comments of each give its form. One call is one kernel (or one group of kernels measured as one) on one rank.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

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
//   rows = (1 - al) m + al 128 ceil(m / 128)                          tiles of 128 rows, as far as the kernels cannot avoid them
//   full = 2 rows n (k + ka) / (e P) (1 + th m / (m + 16384))         all units busy; clocks sag in long products
//   first = s 2 128 128 (k + ka) S / (e P) min(1, m / 128)^be         one tile alone takes this long however few there are
//   compute = (full^r + first^r)^(1/r), more by un for m > 256 that is no multiple of 16
//   memory = (n k wb + m k ab + 2 m n) / (eb BW) sqrt(1 + (nh / n)^2) few columns are few units that ask for weights
//   t = t0 + (compute^q + memory^q)^(1/q) + ac 2 m k / BW             activations are quantised before the product
double gemm(const spec::GemmCost& cost, const Machine& machine, double m, double k, double n, double weight_bytes);

// Routed experts of one layer on the busiest rank, for `tokens` tokens of the whole group.
struct ExpertShape {
  double hidden = 0;
  double width = 0;         // per rank
  double rows = 0;          // pairs of a token and an expert on this rank
  double touched = 0;       // experts of this rank that any token chose
  double weight_bytes = 1;  // per weight
  bool spread = false;      // other ranks hold other experts
};
//   compute = ((2 (rows + touched mh) 3 h (f + fa) / (e P))^2 + (s 2 128 128 3 h S / (e P))^2)^(1/2)
//   t = t0 + (ts, where spread) + pe touched + ct T + (compute^q + (touched 3 h f wb / (eb BW))^q)^(1/q) + ac rows (2 h + 3 f) 2 / BW
double experts(const spec::ExpertsCost& cost, const Machine& machine, const ExpertShape& shape, double tokens);

// How likely a token chooses each of `count` experts: in proportion to i^-skew, scaled so that the expected number of choices is
// `per_token`; what would pass certainty goes to the others.
std::vector<double> choice_probabilities(std::size_t count, double per_token, double skew);
// The experts of the rank with the most choices when experts are dealt to `ranks` without regard to their popularity: a middling one of
// several keyed random deals. Requires that the ranks divide the experts.
std::vector<double> busiest_rank(const std::vector<double>& probabilities, std::size_t ranks);
// Expected number of experts that `tokens` tokens touch: the sum over experts of 1 - (1 - p)^tokens.
double touched_experts(std::span<const double> probabilities, double tokens);

// What decode attention reads and multiplies, one layer on one rank: queries of `heads` heads over `kv_heads` sets of keys.
struct DecodeShape {
  double heads = 0;
  double kv_heads = 0;
  double width = 128;    // of a head
  double key_bytes = 0;  // of all KV heads, a token
  double key_flops = 0;  // of one query head, a key
};
// The law for one shape, reduced to what a step needs:
//   rate = cube norm of key_bytes / (eb BW) and key_flops (heads + R kv_heads) max(1, width / 128)^wd / (ec P)    seconds a key
//   read = rate (keys + T sequences),  blocks = (a (1 + lw (width / 128 - 1)) kv_heads + aq heads) sequences
//   t = t0 + tw width / 128 + (read^2 + blocks^2)^(1/2) + read ramp / (read + ramp)
// Blocks start while others read; the pipeline of a long read takes `ramp` to fill, a short one reaches half the rate.
struct DecodeLaw {
  double floor = 0;
  double rate = 0;    // seconds a key
  double wasted = 0;  // seconds of reading in vain, a sequence
  double block = 0;   // seconds of starting blocks, a sequence
  double ramp = 0;
  // Seconds apart from the floor, for sequences that read so many keys together.
  double at(double sequences, double keys) const {
    const double read = rate * keys + wasted * sequences;
    const double blocks = block * sequences;
    const double seconds = std::sqrt(read * read + blocks * blocks);
    return ramp > 0 ? seconds + read * ramp / (read + ramp) : seconds;
  }
};
DecodeLaw decode_law(const spec::DecodeAttentionCost& cost, const Machine& machine, const DecodeShape& shape);

// Latent attention over chosen keys, one layer on one rank. Every query, of a decode or of a prompt, is priced alike: it gathers its own
// keys for all heads. Its index scores every key before it, and the highest are chosen.
struct SparseShape {
  double heads = 0;
  double key_bytes = 0;
  double key_flops = 0;    // of one query head, a key
  double index_heads = 0;  // of a layer that owns an index
  double index_dim = 0;
  double index_bytes = 0;  // of an entry
};
//   key = cube norm of key_bytes / (eb BW) and key_flops max(heads, H0) / (e P)
//   query = key T + (tq + th heads) / S
//   index_key = 2 ih id / (ei P8) + index_bytes / (im BW) + ix 4 / BW,   index_query = iq ih / S
// Seconds apart from the floors: queries x query + keys read x key, and queries x index_query + keys scored x index_key.
struct SparseLaw {
  double floor = 0;
  double key = 0;
  double query = 0;
  double index_floor = 0;
  double index_key = 0;
  double index_query = 0;
  double attend(double queries, double keys) const { return query * queries + key * keys; }
  double choose(double queries, double keys) const { return index_query * queries + index_key * keys; }
};
// `machine` multiplies in 16 bits, `index_peak` is the FLOP/s of 8 bits.
SparseLaw sparse_law(const spec::SparseAttentionCost& cost, const Machine& machine, double index_peak, const SparseShape& shape);

// The part of a step that grows with the contexts of its decodes, over all layers: those that read every key, those that read a limited
// number, and the scan of an index.
struct DecodeGrowth {
  DecodeLaw law;
  double layers = 0;
  DecodeLaw limited;
  double limited_layers = 0;
  double scan = 0;  // seconds a key, all layers

  double at(double sequences, double keys, double limited_keys) const {
    if (sequences <= 0) return 0;
    const double seconds = scan * keys + layers * law.at(sequences, keys);
    return limited_layers > 0 ? seconds + limited_layers * limited.at(sequences, limited_keys) : seconds;
  }
};

// Causal attention of the chunks of one step, one layer, one rank.
struct PrefillShape {
  double heads = 0;
  double kv_heads = 0;
  double head_dim = 0;
};
struct PrefillWork {
  double sequences = 0;
  double tokens = 0;
  double pairs = 0;       // of a query and a key it sees
  double longest = 0;     // context of the longest row
  bool windowed = false;  // the pairs are limited by a window
};
//   work = 4 H d (pairs + (tokens + sr sequences) T / 2 + wT tokens, with a window) / (e P)
//   row = ka 4 d 128 longest S / (e P)
//   t = t0 + (work^2 + row^2)^(1/2) (1 + dk (128 / d - 1)) + ck tokens 2 K d 2 / BW + ct tokens
double prefill_attention(const spec::PrefillAttentionCost& cost, const Machine& machine, const PrefillShape& shape,
                         const PrefillWork& work);

// t0 + c sqrt(x) + x / bus, x = payload * 2 (n - 1) / n.
double all_reduce(const spec::AllReduceCost& cost, double payload);

}  // namespace marea::cost
