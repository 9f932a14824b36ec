// Causal prefill attention over a paged KV cache with a cached context, in the manner of FlashAttention-2 (Dao 2023): a block takes 128
// queries of one head, four warps of 32 rows; keys and values come in tiles of 64, the keys of the next tile while values are multiplied
// and the other way round. Keys and values may differ in size, as in latent attention, which expands its latents for prefill.
#pragma once

#include "kernels/cuda/decode.cuh"

namespace marea::probe::cuda {

struct PrefillArguments {
  const Bfloat* queries;  // [sequence][token][head][key size]
  const Bfloat* keys;     // [page][token of page][KV head][key size]
  const Bfloat* values;   // [page][token of page][KV head][value size]
  const int* table;       // [sequence][page of sequence]
  Bfloat* outputs;        // [sequence][token][head][value size]
  int fresh;              // queries of a sequence
  int tokens;             // keys of a sequence: cached ones, then the fresh ones
  int pages;              // of a sequence in the table
  int heads, kv_heads;
  int window;   // keys that a query sees, itself among them; 0: all
  float scale;  // of scores, times log2(e)
};

constexpr int kPrefillWarps = 4;
constexpr int kPrefillRows = 128;
constexpr int kPrefillKeys = 64;

template <int key_size, int value_size>
constexpr int prefill_shared_bytes() {
  return (kPrefillRows * key_size + kPrefillKeys * (key_size + value_size)) * 2;
}

template <int key_size, int value_size>
struct PrefillBlock {
  const PrefillArguments& arguments;
  int sequence, head, kv_head, query;  // the first query of the block
  int lane, warp;
  Tile<key_size> queries, keys;
  Tile<value_size> values;
  float outputs[2][value_size / 8][4];
  RowPair rows[2];

  __device__ PrefillBlock(const PrefillArguments& given, int the_sequence, int the_head, int the_query)
      : arguments(given),
        sequence(the_sequence),
        head(the_head),
        kv_head(the_head / (given.heads / given.kv_heads)),
        query(the_query),
        lane(threadIdx.x % 32),
        warp(threadIdx.x / 32) {
    queries.bytes = shared_memory();
    keys.bytes = queries.bytes + kPrefillRows * key_size * 2;
    values.bytes = keys.bytes + kPrefillKeys * key_size * 2;
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int i = 0; i < value_size / 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) outputs[part][i][j] = 0;
  }

  __device__ __forceinline__ void fetch_queries() {
    for (int i = threadIdx.x; i < kPrefillRows * (key_size / 8); i += kPrefillWarps * 32) {
      const int row = i / (key_size / 8);
      const int chunk = i % (key_size / 8);
      const bool wanted = query + row < arguments.fresh;
      const std::int64_t token = static_cast<std::int64_t>(sequence) * arguments.fresh + (wanted ? query + row : 0);
      copy_chunk(queries.chunk(row, chunk), arguments.queries + (token * arguments.heads + head) * key_size + chunk * 8, wanted);
    }
  }

  // The keys or values of tokens first to first + 63.
  template <int size>
  __device__ __forceinline__ void fetch(const Tile<size>& tile, const Bfloat* cache, int first) {
#pragma unroll
    for (int i = threadIdx.x; i < kPrefillKeys * (size / 8); i += kPrefillWarps * 32) {
      const int row = i / (size / 8);
      const int chunk = i % (size / 8);
      const int token = first + row;
      const bool wanted = token < arguments.tokens;
      const int page = wanted ? arguments.table[sequence * arguments.pages + token / kPage] : 0;
      const std::int64_t place = (static_cast<std::int64_t>(page) * kPage + token % kPage) * arguments.kv_heads + kv_head;
      copy_chunk(tile.chunk(row, chunk), cache + place * size + chunk * 8, wanted);
    }
  }

  __device__ __forceinline__ void score(float (&scores)[2][kPrefillKeys / 8][4]) const {
#pragma unroll
    for (int step = 0; step < key_size / 16; ++step) {
      std::uint32_t left[2][4];
      queries.left(left[0], warp * 32, step, lane);
      queries.left(left[1], warp * 32 + 16, step, lane);
#pragma unroll
      for (int pair = 0; pair < kPrefillKeys / 16; ++pair) {
        std::uint32_t right[4];
        keys.right_of_rows(right, pair * 16, step, lane);
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          multiply<Bfloat>(scores[part][2 * pair], left[part], right[0], right[1]);
          multiply<Bfloat>(scores[part][2 * pair + 1], left[part], right[2], right[3]);
        }
      }
    }
  }

  // Scales the scores of tokens first to first + 63; hides what a query must not see. Tiles that all queries see whole skip the
  // comparisons.
  __device__ __forceinline__ void mask(float (&scores)[2][kPrefillKeys / 8][4], int first, bool whole) const {
    const int cached = arguments.tokens - arguments.fresh;
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int tile = 0; tile < kPrefillKeys / 8; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int last = cached + query + warp * 32 + part * 16 + lane / 4 + i / 2 * 8;  // the newest key that the row sees
          const int token = first + tile * 8 + lane % 4 * 2 + i % 2;
          const bool seen = whole || (token <= last && (arguments.window == 0 || token > last - arguments.window));
          scores[part][tile][i] = seen ? scores[part][tile][i] * arguments.scale : kNever;
        }
  }

  __device__ __forceinline__ void add_values(const float (&weights)[2][kPrefillKeys / 8][4], const float (&shrink)[2][2]) {
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int i = 0; i < value_size / 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) outputs[part][i][j] *= shrink[part][j / 2];
#pragma unroll
    for (int step = 0; step < kPrefillKeys / 16; ++step) {
      std::uint32_t left[2][4];
      weights_left<Bfloat>(left[0], weights[0][2 * step], weights[0][2 * step + 1]);
      weights_left<Bfloat>(left[1], weights[1][2 * step], weights[1][2 * step + 1]);
#pragma unroll
      for (int pair = 0; pair < value_size / 16; ++pair) {
        std::uint32_t right[4];
        values.right(right, step * 16, pair, lane);
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          multiply<Bfloat>(outputs[part][2 * pair], left[part], right[0], right[1]);
          multiply<Bfloat>(outputs[part][2 * pair + 1], left[part], right[2], right[3]);
        }
      }
    }
  }

  // Tiles from the newest keys, which need masks, to the oldest.
  __device__ void run() {
    const int cached = arguments.tokens - arguments.fresh;
    const int rows_here = query + kPrefillRows < arguments.fresh ? kPrefillRows : arguments.fresh - query;
    const int end = cached + query + rows_here;
    const int oldest = arguments.window > 0 && cached + query + 1 > arguments.window ? cached + query + 1 - arguments.window : 0;
    const int last_tile = (end - 1) / kPrefillKeys;
    const int first_tile = oldest / kPrefillKeys;
    fetch_queries();
    fetch(keys, arguments.keys, last_tile * kPrefillKeys);
    close_copies();
    for (int tile = last_tile; tile >= first_tile; --tile) {
      const int first = tile * kPrefillKeys;
      wait_for_all_but<0>();
      sync_block();  // the keys are here, the values of the tile before are used up
      fetch(values, arguments.values, first);
      close_copies();
      float scores[2][kPrefillKeys / 8][4] = {};
      score(scores);
      const bool whole = first + kPrefillKeys <= cached + query + 1 && (arguments.window == 0 || first > end - 1 - arguments.window);
      mask(scores, first, whole);
      float shrink[2][2];
      soften(scores[0], rows[0], shrink[0]);
      soften(scores[1], rows[1], shrink[1]);
      wait_for_all_but<0>();
      sync_block();  // the values are here, the keys are used up
      if (tile > first_tile) fetch(keys, arguments.keys, first - kPrefillKeys);
      close_copies();
      add_values(scores, shrink);
    }
    write();
  }

  __device__ void write() {
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = query + warp * 32 + part * 16 + lane / 4 + half * 8;
        const float total = row_sum(rows[part].total[half]);
        if (row >= arguments.fresh) continue;
        const float factor = 1 / total;
        const std::int64_t token = static_cast<std::int64_t>(sequence) * arguments.fresh + row;
        Bfloat* out = arguments.outputs + (token * arguments.heads + head) * value_size + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < value_size / 8; ++i)
          *reinterpret_cast<std::uint32_t*>(out + i * 8) =
              pack<Bfloat>(outputs[part][i][2 * half] * factor, outputs[part][i][2 * half + 1] * factor);
      }
  }
};

// Grid: heads, sequences, tiles of 128 queries, the longest first; 128 threads.
template <int key_size, int value_size>
__global__ void __launch_bounds__(kPrefillWarps * 32) prefill(PrefillArguments arguments) {
  const int query = (gridDim.z - 1 - blockIdx.z) * kPrefillRows;
  PrefillBlock<key_size, value_size> block(arguments, blockIdx.y, blockIdx.x, query);
  block.run();
}

}  // namespace marea::probe::cuda
