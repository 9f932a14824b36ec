// Takes the place of kernels/cuda/device.cuh in the emulated tests: the same functions on the block of tests/kernels/emulated/block.h. The
// layouts of fragments are written down from the PTX manual (mma.m16n8k16, ldmatrix), not from the kernels.
#pragma once

#include <Eigen/Core>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/kernels/emulated/block.h"

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};

// What CUDA calls threadIdx, blockIdx, blockDim and gridDim: a read asks the block that runs.
#define threadIdx (::marea::probe::emulated::Dimensions{::marea::probe::emulated::thread(), 0, 0})
#define blockIdx (::marea::probe::emulated::block())
#define blockDim (::marea::probe::emulated::Dimensions{::marea::probe::emulated::threads_of_block(), 1, 1})
#define gridDim (::marea::probe::emulated::grid())

inline float rsqrtf(float value) { return 1 / std::sqrt(value); }

namespace marea::probe::cuda {

using Bfloat = Eigen::bfloat16;
using Half = Eigen::half;
using Chunk = uint4;

// e4m3: sign, four bits of exponent with bias 7, three of mantissa; no infinity, all ones is NaN (OCP OFP8).
struct Fp8 {
  std::uint8_t bits;
};
inline float fp8_value(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9) : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

inline unsigned char* shared_memory() { return emulated::shared(); }
inline void sync_block() { emulated::wait_for_block(); }
inline void sync_warp() { emulated::wait_for_warp(); }
inline float exp2_fast(float value) { return std::exp2(value); }

inline float to_float(float value) { return value; }
inline float to_float(Bfloat value) { return static_cast<float>(value); }
inline float to_float(Half value) { return static_cast<float>(value); }
template <class Value>
Value from_float(float value) {
  return Value(value);
}

template <class Value>
std::uint32_t pack(float first, float second) {
  const std::array<Value, 2> both = {Value(first), Value(second)};
  return std::bit_cast<std::uint32_t>(both);
}

inline std::uint32_t fp8_pair_to_half(std::uint16_t two) {
  return pack<Half>(fp8_value(static_cast<std::uint8_t>(two)), fp8_value(static_cast<std::uint8_t>(two >> 8)));
}

inline float shuffle_xor(float value, int mask) {
  const emulated::Exchange& all = emulated::exchange({std::bit_cast<std::uint32_t>(value)});
  const auto other = (emulated::thread() % 32) ^ static_cast<unsigned>(mask);
  return std::bit_cast<float>(static_cast<std::uint32_t>(all.words[other][0]));
}

// The 16-bit value at a row and column of matrix `which` of an ldmatrix.
inline std::uint16_t matrix_value(const emulated::Exchange& rows, unsigned which, unsigned row, unsigned column) {
  std::uint16_t value;
  std::memcpy(&value, reinterpret_cast<const unsigned char*>(rows.words[which * 8 + row][0]) + 2 * column, 2);
  return value;
}

inline void load_matrices(std::uint32_t (&out)[4], const void* row) {
  const emulated::Exchange& rows = emulated::exchange({reinterpret_cast<std::uint64_t>(row)});
  const unsigned lane = emulated::thread() % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t first = matrix_value(rows, i, lane / 4, lane % 4 * 2), second = matrix_value(rows, i, lane / 4, lane % 4 * 2 + 1);
    out[i] = first | second << 16;
  }
  sync_warp();  // memory read here may be overwritten by a lane that is ahead
}
inline void load_matrices_transposed(std::uint32_t (&out)[4], const void* row) {
  const emulated::Exchange& rows = emulated::exchange({reinterpret_cast<std::uint64_t>(row)});
  const unsigned lane = emulated::thread() % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t first = matrix_value(rows, i, lane % 4 * 2, lane / 4), second = matrix_value(rows, i, lane % 4 * 2 + 1, lane / 4);
    out[i] = first | second << 16;
  }
  sync_warp();
}

template <class Value>
float half_of(std::uint64_t word, unsigned which) {
  return static_cast<float>(std::bit_cast<Value>(static_cast<std::uint16_t>(word >> 16 * which)));
}

template <class Value>
void multiply(float (&sums)[4], const std::uint32_t (&left)[4], std::uint32_t right0, std::uint32_t right1) {
  const emulated::Exchange& all = emulated::exchange({left[0], left[1], left[2], left[3], right0, right1});
  const unsigned lane = emulated::thread() % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    float sum = sums[i];
    for (unsigned k = 0; k < 16; ++k) {
      const float a = half_of<Value>(all.words[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], k % 2);
      const float b = half_of<Value>(all.words[column * 4 + k % 8 / 2][4 + k / 8], k % 2);
      sum += a * b;
    }
    sums[i] = sum;
  }
}

inline void copy_chunk(void* to, const void* from, bool wanted) { emulated::start_copy(to, from, wanted); }
inline void close_copies() { emulated::close_copies(); }
template <int groups>
void wait_for_all_but() {
  emulated::wait_for_all_but(groups);
}

}  // namespace marea::probe::cuda
