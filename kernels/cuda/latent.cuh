// Decode attention over latents (multi-head latent attention, DeepSeek-V2, with the key projection absorbed into the queries): all query
// heads against one row of 512 latents and 64 rotary values a token, the latents being the values too. A block takes some heads and a split
// of the context; two warps share 16 rows, each scoring half of a tile's tokens and summing half of the latents.
#pragma once

#include "kernels/cuda/decode.cuh"

namespace marea::probe::cuda {

constexpr int kLatent = 512;
constexpr int kLatentRow = 576;    // with the rotary part
constexpr int kLatentTokens = 32;  // of a tile: two pages

struct LatentArguments {
  const Bfloat* queries;  // [sequence][head][576]
  const Bfloat* cache;    // [page][token of page][576]
  const int* table;       // [sequence][page of sequence]
  Bfloat* outputs;        // [sequence][head][512]
  Partial partial;        // as in decode
  int tokens, pages;
  int heads;
  float scale;  // of scores, times log2(e)
};

template <int rows>
constexpr int latent_shared_bytes() {
  const int weights = rows * 128;  // a row of weights takes 64 bytes and is kept 128 apart, see Tile
  return (rows + 2 * kLatentTokens) * kLatentRow * 2 + weights + 2 * rows * 4;
}

template <int rows>
struct LatentBlock {
  static constexpr int threads = rows / 16 * 2 * 32;
  static constexpr int tile_bytes = kLatentTokens * kLatentRow * 2;

  const LatentArguments& arguments;
  int sequence, head, lane, first_row, half;  // half: which of the two warps of these 16 rows
  Tile<kLatentRow> queries;
  unsigned char* tiles;
  Tile<64> weights;
  float* peaks;  // [half][row]
  float outputs[kLatent / 16][4];
  RowPair mine;

  __device__ LatentBlock(const LatentArguments& given, int the_sequence, int the_head)
      : arguments(given),
        sequence(the_sequence),
        head(the_head),
        lane(threadIdx.x % 32),
        first_row(threadIdx.x / 64 * 16),
        half(threadIdx.x / 32 % 2) {
    queries.bytes = shared_memory();
    tiles = queries.bytes + rows * kLatentRow * 2;
    weights.bytes = tiles + 2 * tile_bytes;
    peaks = reinterpret_cast<float*>(weights.bytes + rows * 128);
#pragma unroll
    for (int i = 0; i < kLatent / 16; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) outputs[i][j] = 0;
  }

  __device__ __forceinline__ Tile<kLatentRow> tile_of(int count) const { return {tiles + count % 2 * tile_bytes}; }

  __device__ __forceinline__ void fetch_queries() {
    for (int i = threadIdx.x; i < rows * (kLatentRow / 8); i += threads) {
      const int row = i / (kLatentRow / 8);
      const int chunk = i % (kLatentRow / 8);
      const bool wanted = head + row < arguments.heads;
      const std::int64_t at = static_cast<std::int64_t>(sequence) * arguments.heads + (wanted ? head + row : 0);
      copy_chunk(queries.chunk(row, chunk), arguments.queries + at * kLatentRow + chunk * 8, wanted);
    }
  }

  __device__ __forceinline__ void fetch(int tile, int end, int count) {
    if (tile < end) {
      const Tile<kLatentRow> to = tile_of(count);
      for (int i = threadIdx.x; i < kLatentTokens * (kLatentRow / 8); i += threads) {
        const int row = i / (kLatentRow / 8);
        const int chunk = i % (kLatentRow / 8);
        const int token = tile * kLatentTokens + row;
        const bool wanted = token < arguments.tokens;
        const int page = wanted ? arguments.table[sequence * arguments.pages + token / kPage] : 0;
        const std::int64_t at = static_cast<std::int64_t>(page) * kPage + token % kPage;
        copy_chunk(to.chunk(row, chunk), arguments.cache + at * kLatentRow + chunk * 8, wanted);
      }
    }
    close_copies();
  }

  // The scores of this warp's 16 tokens; both warps of the rows agree on the highest score, and write their weights where both can read
  // them.
  __device__ __forceinline__ void weigh(const Tile<kLatentRow>& keys, int tile, float (&shrink)[2]) {
    float scores[2][4] = {};
#pragma unroll 4
    for (int step = 0; step < kLatentRow / 16; ++step) {
      std::uint32_t left[4], right[4];
      queries.left(left, first_row, step, lane);
      keys.right_of_rows(right, half * 16, step, lane);
      multiply<Bfloat>(scores[0], left, right[0], right[1]);
      multiply<Bfloat>(scores[1], left, right[2], right[3]);
    }
    float peak[2] = {kNever, kNever};
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int token = tile * kLatentTokens + half * 16 + part * 8 + lane % 4 * 2 + i % 2;
        scores[part][i] = token < arguments.tokens ? scores[part][i] * arguments.scale : kNever;
        peak[i / 2] = fmaxf(peak[i / 2], scores[part][i]);
      }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      peak[i] = row_max(peak[i]);
      if (lane % 4 == 0) peaks[half * rows + first_row + lane / 4 + i * 8] = peak[i];
    }
    sync_block();
#pragma unroll
    for (int i = 0; i < 2; ++i) peak[i] = fmaxf(peak[i], peaks[(1 - half) * rows + first_row + lane / 4 + i * 8]);
    // The partner's peak counts as a score of ours that lies in no column.
    const float before[2] = {mine.highest[0], mine.highest[1]};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float now = fmaxf(before[i], peak[i]);
      shrink[i] = exp2_fast(before[i] - now);
      mine.highest[i] = now;
      float sum = 0;
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float first = scores[part][2 * i] <= kNever ? 0.0f : exp2_fast(scores[part][2 * i] - now);
        const float second = scores[part][2 * i + 1] <= kNever ? 0.0f : exp2_fast(scores[part][2 * i + 1] - now);
        sum += first + second;
        const int row = first_row + lane / 4 + i * 8;
        auto* to = reinterpret_cast<std::uint32_t*>(weights.chunk(row, half * 2 + part));
        to[lane % 4] = pack<Bfloat>(first, second);
      }
      mine.total[i] = mine.total[i] * shrink[i] + sum;
    }
    sync_block();
  }

  __device__ __forceinline__ void add_values(const Tile<kLatentRow>& values, const float (&shrink)[2]) {
#pragma unroll
    for (int i = 0; i < kLatent / 16; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) outputs[i][j] *= shrink[j / 2];
#pragma unroll
    for (int step = 0; step < kLatentTokens / 16; ++step) {
      std::uint32_t left[4];
      weights.left(left, first_row, step, lane);
#pragma unroll
      for (int pair = 0; pair < kLatent / 32; ++pair) {
        std::uint32_t right[4];
        values.right(right, step * 16, half * (kLatent / 32) + pair, lane);
        multiply<Bfloat>(outputs[2 * pair], left, right[0], right[1]);
        multiply<Bfloat>(outputs[2 * pair + 1], left, right[2], right[3]);
      }
    }
  }

  __device__ void run(int first, int end) {
    fetch_queries();
    fetch(first, end, 0);
    int count = 0;
    for (int tile = first; tile < end; ++tile, ++count) {
      wait_for_all_but<0>();
      sync_block();  // the tile is here, the one before is used up
      fetch(tile + 1, end, count + 1);
      float shrink[2];
      weigh(tile_of(count), tile, shrink);
      add_values(tile_of(count), shrink);
    }
    wait_for_all_but<0>();
    write();
  }

  __device__ void write() {
    sync_block();  // the last weights are used up: the peaks' place serves for totals
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float total = row_sum(mine.total[i]);
      if (lane % 4 == 0) peaks[half * rows + first_row + lane / 4 + i * 8] = total;
    }
    sync_block();
    const int splits = arguments.partial.splits;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first_row + lane / 4 + i * 8;
      if (head + row >= arguments.heads) continue;
      const float total = peaks[row] + peaks[rows + row];
      const float factor = total > 0 ? 1 / total : 0.0f;
      const std::int64_t out_row = static_cast<std::int64_t>(sequence) * arguments.heads + head + row;
      const std::int64_t place = out_row * splits + blockIdx.x;
      const int column = half * (kLatent / 2) + lane % 4 * 2;
      if (splits > 1 && half == 0 && lane % 4 == 0)
        arguments.partial.logarithms[place] = total > 0 ? mine.highest[i] + log2f(total) : kNever;
#pragma unroll
      for (int part = 0; part < kLatent / 16; ++part) {
        const float one = outputs[part][2 * i] * factor, two = outputs[part][2 * i + 1] * factor;
        if (splits == 1) {
          *reinterpret_cast<std::uint32_t*>(arguments.outputs + out_row * kLatent + column + part * 8) = pack<Bfloat>(one, two);
        } else {
          float* values = arguments.partial.values + place * kLatent + column + part * 8;
          values[0] = one;
          values[1] = two;
        }
      }
    }
  }
};

// Grid: splits, groups of `rows` heads, sequences.
template <int rows>
__global__ void __launch_bounds__(rows / 16 * 64) decode_latent(LatentArguments arguments) {
  const int tiles = (arguments.tokens + kLatentTokens - 1) / kLatentTokens;
  const int share = (tiles + gridDim.x - 1) / gridDim.x;
  const int first = blockIdx.x * share;
  LatentBlock<rows> block(arguments, blockIdx.z, blockIdx.y * rows);
  block.run(first, first + share < tiles ? first + share : tiles);
}

}  // namespace marea::probe::cuda
