// Coefficients of the laws that price a step, one struct a law, as a device file states them. The laws are evaluated in sim/cost/laws.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/time.h"
#include "sim/spec/fit_record.h"
#include "sim/spec/number.h"

namespace marea::spec {

// Dense matrix product with weights in one format ("tiled waves").
struct GemmCost {
  Format math = Format::bf16;     // whose FLOP/s apply: weight-only formats multiply in 16 bits
  Seconds floor{};                // t0
  double compute_efficiency = 1;  // e, of peak
  double memory_efficiency = 1;   // eb, of bandwidth
  double norm = 1;                // q: how sharply compute and memory take over from each other
  double row_tile = 0;            // al: share in which rows are rounded up to tiles of 128
  double wave = 0;                // s: time of the only wave of a small product, in tiles of 128 x 128
  double wave_norm = 1;           // r: how sharply that wave and full waves take over from each other
  double wave_rows = 0;           // be: with fewer rows than 128 that wave falls as (rows / 128)^be
  double depth_offset = 0;        // ka: added to k, filling and draining the pipeline
  double narrow = 0;              // nh: columns at which too few units ask for weights to reach 1 / sqrt(2) of the bandwidth
  double sustained = 0;           // th: loss of clock in long products, half of it reached at 16,384 rows
  double activation = 0;          // ac: passes over 16-bit activations before the product (their quantisation)
  double unaligned = 0;           // un: extra for more than 256 rows that are no multiple of 16
  FitRecord fit;
  Origin origin;
};

// Attention of decoding sequences over their cached KV, one layer.
struct DecodeAttentionCost {
  Seconds floor{};                // t0
  Seconds width_floor{};          // tw, more of it for each 128 of head width
  double memory_efficiency = 1;   // eb
  double compute_efficiency = 0;  // ec, of 16-bit peak; 0: compute never binds
  double query_rows = 0;          // R: rows multiplied beside the query heads of a KV head, filling up a tile
  double wide_head = 0;           // wd: multiplying heads wider than 128 costs (width / 128)^wd more
  Seconds per_head{};             // a, per sequence and KV head: starting and ending a block
  double head_width = 0;          // lw: share of `a` that grows with head width / 128
  Seconds per_query{};            // aq, per sequence and query head
  Seconds ramp{};                 // what a long read loses before all of it is in flight
  double tile_keys = 0;           // T: keys read in vain by every sequence
  FitRecord fit;
  Origin origin;
};

// Causal attention of prompt chunks, one layer.
struct PrefillAttentionCost {
  Seconds floor{};                // t0, per launch
  double compute_efficiency = 1;  // e, of 16-bit peak
  double row = 0;                 // ka: weight of the longest block row, the critical path of a small grid
  double tile_waste = 0;          // T: keys lost per query to tiles, doubled
  double sequence_rows = 0;       // sr: queries lost per chunk to tiles
  double narrow_head = 0;         // dk: of the time of heads of 128, the share that is alike for all widths
  double window_waste = 0;        // wT: keys lost per query at the edge of a window
  double traffic = 0;             // ck: passes over keys and values
  Seconds per_token{};            // ct: writing a token's keys and values
  FitRecord fit;
  Origin origin;
};

// Latent attention of queries that each read a choice of keys, one layer, and the index that makes the choice.
struct SparseAttentionCost {
  Seconds floor{};                // t0, per launch
  double compute_efficiency = 0;  // e, of 16-bit peak; 0: compute never binds
  double memory_efficiency = 0;   // eb, of bandwidth: keys are gathered for every query; 0: memory never binds
  double least_heads = 0;         // H0: query heads are padded up to this many
  double tile_keys = 0;           // T: keys read in vain by every query
  Seconds query{};                // tq, of one unit: starting a query's blocks
  Seconds head{};                 // th, of one unit, per query and head
  Seconds index_floor{};          // of the launches that choose keys
  double index_compute = 0;       // ei, of 8-bit peak; 0: compute never binds
  double index_memory = 0;        // im, of bandwidth, entries read for every query; 0: shared by so many queries that it does not count
  double index_traffic = 0;       // ix: passes over 4-byte scores, to choose the highest
  Seconds index_query{};          // iq, of one unit, per query and index head
  FitRecord fit;
  Origin origin;
};

// Routed experts of one layer with weights in one format.
struct ExpertsCost {
  Format math = Format::bf16;
  Seconds floor{};                // t0
  double compute_efficiency = 1;  // e
  double memory_efficiency = 1;   // eb
  double norm = 1;                // q
  double row_offset = 0;          // mh: rows added per touched expert
  double width_offset = 0;        // fa: columns added to the width
  double wave = 0;                // s: time of the only wave of a small product, in tiles of 128 x 128
  double traffic = 0;             // ac: passes over the activations of the rows
  Seconds spread_floor{};         // ts, more where ranks share out experts: those of other ranks are sorted out first
  Seconds per_expert{};           // pe, per touched expert
  Seconds per_token{};            // ct, per token of the group
  FitRecord fit;
  Origin origin;
};

// All-reduce over `ranks` devices: floor + root * sqrt(x) + x / bus, x = payload * 2 (ranks - 1) / ranks bytes.
struct AllReduceCost {
  std::int64_t ranks = 0;
  Seconds floor{};
  Seconds root{};  // per square root of a byte
  Bandwidth bus{};
  FitRecord fit;
  Origin origin;
};

// Norms, rotary embedding, activation, KV write: kernels of a layer that read and write activations.
struct SmallKernelCost {
  Seconds floor{};  // each
  double per_layer = 0;
  double memory_efficiency = 1;  // beyond 1 where activations stay in the last cache
  FitRecord fit;
  Origin origin;
};

// Sampling after the output head.
struct SamplerCost {
  Seconds floor{};
  Seconds per_row{};
  Origin origin;
};

// Everything above for one device. Formats without an entry run as weight-only (gemm, experts) or are refused (attention).
struct StepCosts {
  std::array<std::optional<GemmCost>, kFormats> gemm;
  std::array<std::optional<ExpertsCost>, kFormats> experts;
  std::array<std::optional<DecodeAttentionCost>, kFormats> decode_attention;  // by KV format
  std::array<std::optional<PrefillAttentionCost>, kFormats> prefill_attention;
  std::array<std::optional<DecodeAttentionCost>, kFormats> decode_latent;
  std::array<std::optional<PrefillAttentionCost>, kFormats> prefill_latent;
  std::array<std::optional<SparseAttentionCost>, kFormats> decode_sparse;  // absent: as the latent ones over fewer keys
  std::array<std::optional<SparseAttentionCost>, kFormats> prefill_sparse;
  std::vector<AllReduceCost> all_reduce;  // by ranks, rising
  SmallKernelCost small_kernels;
  SamplerCost sampler;
  double routing_skew = 0;  // alpha: expert i of n is chosen in proportion to i^-alpha
};

// Reads `costs` of a device.
StepCosts read_step_costs(const Value& value, const Sources& sources);

}  // namespace marea::spec
