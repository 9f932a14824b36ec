// Decode attention over a paged KV cache: one new token a sequence, the query heads of a group against their KV head. Bound by memory: each
// warp streams pages of its own through a ring of shared memory and multiplies on the tensor cores; contexts are split over blocks.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace marea::probe::cuda {

constexpr int kPage = 16;  // tokens of a KV page

struct DecodeArguments {
  const Bfloat* queries;  // [sequence][head][size]
  const void* keys;       // [page][token of page][KV head][size]
  const void* values;
  const int* table;  // [sequence][page of sequence]
  Bfloat* outputs;   // [sequence][head][size]
  Partial partial;   // rows are sequence x heads + head; one split: outputs are written at once
  int tokens;        // keys of each sequence, the new one among them
  int pages;         // of a sequence in the table
  int heads, kv_heads;
  int first;    // the first key seen
  float scale;  // of scores, times log2(e)
};

// fp8 pages are widened to fp16 in shared memory, where everything then runs in fp16; otherwise in bf16.
template <class Kv>
struct DecodeTypes {
  using Value = Bfloat;
  static constexpr bool widened = false;
};
template <>
struct DecodeTypes<Fp8> {
  using Value = Half;
  static constexpr bool widened = true;
};

// One warp's work: its ring of pages, its fragments of 16 query heads.
template <class Kv, int size>
struct DecodeWarp {
  using Value = typename DecodeTypes<Kv>::Value;
  static constexpr bool widened = DecodeTypes<Kv>::widened;
  static constexpr int stages = 3;
  static constexpr int page_bytes = kPage * size * static_cast<int>(sizeof(Kv));
  static constexpr int wide_bytes = widened ? 2 * kPage * size * 2 : 0;  // keys and values in fp16
  static constexpr int bytes = stages * 2 * page_bytes + wide_bytes;
  static constexpr int row_chunks = size * static_cast<int>(sizeof(Kv)) / 16;

  const DecodeArguments& arguments;
  unsigned char* memory;
  int lane, sequence, kv_head;
  std::uint32_t queries[size / 16][4];
  float outputs[size / 8][4];
  RowPair rows;

  __device__ DecodeWarp(const DecodeArguments& given, unsigned char* mine, int the_lane, int the_sequence, int the_kv_head)
      : arguments(given), memory(mine), lane(the_lane), sequence(the_sequence), kv_head(the_kv_head) {
#pragma unroll
    for (int i = 0; i < size / 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) outputs[i][j] = 0;
    const int group = arguments.heads / arguments.kv_heads;
    const Bfloat* base = arguments.queries + (static_cast<std::int64_t>(sequence) * arguments.heads + kv_head * group) * size;
#pragma unroll
    for (int step = 0; step < size / 16; ++step)
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int row = lane / 4 + part % 2 * 8;
        const int column = step * 16 + part / 2 * 8 + lane % 4 * 2;
        const Bfloat* from = base + row * size + column;
        queries[step][part] = row < group ? pack<Value>(to_float(from[0]), to_float(from[1])) : 0u;
      }
  }

  __device__ __forceinline__ unsigned char* stage_of(int count) const { return memory + count % stages * 2 * page_bytes; }

  // Starts the copies of the keys and values of a page; nothing beyond the last page.
  __device__ __forceinline__ void fetch(int page, int end, int count) {
    if (page < end) {
      const int place = arguments.table[sequence * arguments.pages + page];
      unsigned char* stage = stage_of(count);
      const std::int64_t stride = static_cast<std::int64_t>(arguments.kv_heads) * row_chunks;
      const std::int64_t begin = static_cast<std::int64_t>(place) * kPage * stride + kv_head * row_chunks;
#pragma unroll
      for (int i = lane; i < kPage * row_chunks; i += 32) {
        const int row = i / row_chunks;
        const int chunk = i % row_chunks;
        const bool wanted = page * kPage + row < arguments.tokens;
        const int to = widened ? i : row * row_chunks + (chunk ^ (row & 7));
        copy_chunk(stage + to * 16, static_cast<const Chunk*>(arguments.keys) + begin + row * stride + chunk, wanted);
        copy_chunk(stage + page_bytes + to * 16, static_cast<const Chunk*>(arguments.values) + begin + row * stride + chunk, wanted);
      }
    }
    close_copies();
  }

  // Sixteen fp8 values become two chunks of fp16, keys first and then values.
  __device__ __forceinline__ void widen(const unsigned char* stage) {
    unsigned char* wide = memory + stages * 2 * page_bytes;
#pragma unroll
    for (int i = lane; i < 2 * kPage * row_chunks; i += 32) {
      const int row = i / row_chunks;  // of both, one after the other
      const Chunk narrow = *reinterpret_cast<const Chunk*>(stage + i * 16);
      const Tile<size> tile{wide};
      const auto two = [](std::uint32_t word) {
        return uint2{fp8_pair_to_half(static_cast<std::uint16_t>(word)), fp8_pair_to_half(static_cast<std::uint16_t>(word >> 16))};
      };
      const uint2 a = two(narrow.x), b = two(narrow.y), c = two(narrow.z), d = two(narrow.w);
      *reinterpret_cast<Chunk*>(tile.chunk(row, i % row_chunks * 2)) = Chunk{a.x, a.y, b.x, b.y};
      *reinterpret_cast<Chunk*>(tile.chunk(row, i % row_chunks * 2 + 1)) = Chunk{c.x, c.y, d.x, d.y};
    }
    sync_warp();
  }

  __device__ __forceinline__ void attend(int page, int count) {
    unsigned char* stage = stage_of(count);
    if constexpr (widened) widen(stage);
    unsigned char* wide = widened ? memory + stages * 2 * page_bytes : stage;
    const Tile<size> keys{wide}, values{wide + kPage * size * 2};
    float scores[2][4] = {};
#pragma unroll
    for (int step = 0; step < size / 16; ++step) {
      std::uint32_t right[4];
      keys.right_of_rows(right, 0, step, lane);
      multiply<Value>(scores[0], queries[step], right[0], right[1]);
      multiply<Value>(scores[1], queries[step], right[2], right[3]);
    }
#pragma unroll
    for (int tile = 0; tile < 2; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int token = page * kPage + tile * 8 + lane % 4 * 2 + i % 2;
        const bool seen = token >= arguments.first && token < arguments.tokens;
        scores[tile][i] = seen ? scores[tile][i] * arguments.scale : kNever;
      }
    float shrink[2];
    soften(scores, rows, shrink);
    std::uint32_t weights[4];
    weights_left<Value>(weights, scores[0], scores[1]);
#pragma unroll
    for (int pair = 0; pair < size / 16; ++pair) {
      std::uint32_t right[4];
      values.right(right, 0, pair, lane);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        outputs[2 * pair][i] *= shrink[i / 2];
        outputs[2 * pair + 1][i] *= shrink[i / 2];
      }
      multiply<Value>(outputs[2 * pair], weights, right[0], right[1]);
      multiply<Value>(outputs[2 * pair + 1], weights, right[2], right[3]);
    }
  }

  // Every page `first`, `first + step` ... below `end`.
  __device__ void stream(int first, int step, int end) {
#pragma unroll
    for (int ahead = 0; ahead < stages - 1; ++ahead) fetch(first + ahead * step, end, ahead);
    int count = 0;
    for (int page = first; page < end; page += step, ++count) {
      wait_for_all_but<stages - 2>();
      sync_warp();
      fetch(page + (stages - 1) * step, end, count + stages - 1);
      attend(page, count);
      sync_warp();
    }
    wait_for_all_but<0>();
  }
};

constexpr int kDecodeWarps = 4;

template <class Kv, int size>
constexpr int decode_shared_bytes() {
  const int merge = kDecodeWarps * 16 * (size + 2) * 4;
  const int rings = kDecodeWarps * DecodeWarp<Kv, size>::bytes;
  return rings > merge ? rings : merge;
}

// The warps' shares of 16 rows come together: [warp][row][size] sums, then [warp][row] highest scores and totals.
template <int size>
__device__ void merge_warps(const DecodeArguments& arguments, const float (&outputs)[size / 8][4], RowPair rows, int warp, int lane,
                            int sequence, int kv_head) {
  auto* sums = reinterpret_cast<float*>(shared_memory());
  float* highest = sums + kDecodeWarps * 16 * size;
  float* totals = highest + kDecodeWarps * 16;
  sync_block();  // the rings are no longer needed
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + half * 8;
    const float total = row_sum(rows.total[half]);
    if (lane % 4 == 0) {
      highest[warp * 16 + row] = rows.highest[half];
      totals[warp * 16 + row] = total;
    }
#pragma unroll
    for (int i = 0; i < size / 8; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) sums[(warp * 16 + row) * size + i * 8 + lane % 4 * 2 + j] = outputs[i][2 * half + j];
  }
  sync_block();
  const int group = arguments.heads / arguments.kv_heads;
  for (int i = threadIdx.x; i < group * size / 2; i += blockDim.x) {
    const int row = 2 * i / size;
    const int column = 2 * i % size;
    float peak = kNever, total = 0, first = 0, second = 0;
    for (int other = 0; other < kDecodeWarps; ++other) peak = fmaxf(peak, highest[other * 16 + row]);
    for (int other = 0; other < kDecodeWarps; ++other) {
      const float weight = exp2_fast(highest[other * 16 + row] - peak);
      total += weight * totals[other * 16 + row];
      first += weight * sums[(other * 16 + row) * size + column];
      second += weight * sums[(other * 16 + row) * size + column + 1];
    }
    const std::int64_t out_row = static_cast<std::int64_t>(sequence) * arguments.heads + kv_head * group + row;
    const int splits = arguments.partial.splits;
    if (splits == 1) {
      *reinterpret_cast<std::uint32_t*>(arguments.outputs + out_row * size + column) = pack<Bfloat>(first / total, second / total);
    } else {
      const std::int64_t place = out_row * splits + blockIdx.x;
      float* values = arguments.partial.values + place * size + column;
      values[0] = total > 0 ? first / total : 0.0f;
      values[1] = total > 0 ? second / total : 0.0f;
      if (column == 0) arguments.partial.logarithms[place] = total > 0 ? peak + log2f(total) : kNever;
    }
  }
}

// Grid: splits, KV heads, sequences; 128 threads. Groups of at most 16 query heads.
template <class Kv, int size>
__global__ void __launch_bounds__(kDecodeWarps * 32) decode(DecodeArguments arguments) {
  using Warp = DecodeWarp<Kv, size>;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int kv_head = blockIdx.y;
  const int sequence = blockIdx.z;
  const int first_page = arguments.first / kPage;
  const int end_page = (arguments.tokens + kPage - 1) / kPage;
  const int share = (end_page - first_page + gridDim.x - 1) / gridDim.x;
  const int first = first_page + blockIdx.x * share;
  const int end = first + share < end_page ? first + share : end_page;
  Warp work(arguments, shared_memory() + warp * Warp::bytes, lane, sequence, kv_head);
  work.stream(first + warp, kDecodeWarps, end);
  merge_warps<size>(arguments, work.outputs, work.rows, warp, lane, sequence, kv_head);
}

}  // namespace marea::probe::cuda
