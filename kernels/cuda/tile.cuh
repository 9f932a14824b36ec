// Tiles of 16-bit values in shared memory, and what the attention kernels share: fragments for the tensor cores, and the running softmax of
// rows whose scores lie in a warp's fragments.
#pragma once

#include "kernels/cuda/device.cuh"

namespace marea::probe::cuda {

constexpr float kNever = -1e30f;  // the score of a key that is not seen; finite, so that differences are too

// Rows of `columns` 16-bit values, in chunks of eight. The chunks of a row are exchanged by the row's number, so that eight rows read at
// one column lie in different banks.
template <int columns>
struct Tile {
  static_assert(columns % 64 == 0);
  static constexpr int chunks = columns / 8;
  unsigned char* bytes;

  __device__ __forceinline__ unsigned char* chunk(int row, int chunk) const { return bytes + (row * chunks + (chunk ^ (row & 7))) * 16; }

  // The left operand: rows first to first + 15, columns 16 step to 16 step + 15.
  __device__ __forceinline__ void left(std::uint32_t (&out)[4], int first, int step, int lane) const {
    load_matrices(out, chunk(first + lane % 16, step * 2 + lane / 16));
  }
  // The right operand, transposed: the tile's rows are columns of it. Two operands: rows first to first + 7 in 0 and 1, the next eight in 2
  // and 3.
  __device__ __forceinline__ void right_of_rows(std::uint32_t (&out)[4], int first, int step, int lane) const {
    load_matrices(out, chunk(first + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
  }
  // The right operand as it lies. Two operands: columns 16 pair to 16 pair + 7 in 0 and 1, the next eight in 2 and 3.
  __device__ __forceinline__ void right(std::uint32_t (&out)[4], int first, int pair, int lane) const {
    load_matrices_transposed(out, chunk(first + lane / 8 % 2 * 8 + lane % 8, pair * 2 + lane / 16));
  }
};

// The largest, and the sum, over the four lanes that hold a row.
__device__ __forceinline__ float row_max(float value) {
  value = fmaxf(value, shuffle_xor(value, 1));
  return fmaxf(value, shuffle_xor(value, 2));
}
__device__ __forceinline__ float row_sum(float value) {
  value += shuffle_xor(value, 1);
  return value + shuffle_xor(value, 2);
}

// Highest score so far and sum of weights, of the rows g and g + 8 of a lane's fragment. Scores are in powers of two; `total` counts only
// the lane's own columns until the end.
struct RowPair {
  float highest[2] = {kNever, kNever};
  float total[2] = {0, 0};
};

// Scores [16 x 8 tiles] become weights; returns in `shrink` by how much what was summed before must shrink.
template <int tiles>
__device__ __forceinline__ void soften(float (&scores)[tiles][4], RowPair& rows, float (&shrink)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float peak = rows.highest[half];
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) peak = fmaxf(peak, fmaxf(scores[tile][2 * half], scores[tile][2 * half + 1]));
    peak = row_max(peak);
    shrink[half] = exp2_fast(rows.highest[half] - peak);
    rows.highest[half] = peak;
    float sum = 0;
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile][i] = scores[tile][i] <= kNever ? 0.0f : exp2_fast(scores[tile][i] - peak);
        sum += scores[tile][i];
      }
    rows.total[half] = rows.total[half] * shrink[half] + sum;
  }
}

// Two neighbouring 16 x 8 tiles of weights as the left operand of the product with values.
template <class Value>
__device__ __forceinline__ void weights_left(std::uint32_t (&out)[4], const float (&first)[4], const float (&second)[4]) {
  out[0] = pack<Value>(first[0], first[1]);
  out[1] = pack<Value>(first[2], first[3]);
  out[2] = pack<Value>(second[0], second[1]);
  out[3] = pack<Value>(second[2], second[3]);
}

// What a split of an attention leaves behind, for `combine`: its output and the logarithm (base 2) of its sum of weights; [row][split].
struct Partial {
  float* values;
  float* logarithms;
  int splits;
};

// Puts the splits of a row together. One block a row, one thread for each two values of it.
template <int columns>
__global__ void combine(Partial partial, Bfloat* outputs) {
  const int row = blockIdx.x;
  const float* logarithms = partial.logarithms + row * partial.splits;
  float peak = kNever;
  for (int split = 0; split < partial.splits; ++split) peak = fmaxf(peak, logarithms[split]);
  float total = 0;
  for (int split = 0; split < partial.splits; ++split) total += exp2_fast(logarithms[split] - peak);
  for (int column = 2 * threadIdx.x; column < columns; column += 2 * blockDim.x) {
    float first = 0, second = 0;
    for (int split = 0; split < partial.splits; ++split) {
      const float weight = exp2_fast(logarithms[split] - peak) / total;
      const float* values = partial.values + (static_cast<std::int64_t>(row) * partial.splits + split) * columns + column;
      first += weight * values[0];
      second += weight * values[1];
    }
    *reinterpret_cast<std::uint32_t*>(outputs + static_cast<std::int64_t>(row) * columns + column) = pack<Bfloat>(first, second);
  }
}

}  // namespace marea::probe::cuda
