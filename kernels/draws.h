// Random operands that need no storage: value number i of an array is a pure function of (seed, array, i), the same on host and device, so
// a reference can draw again whatever part of an operand it wants to see.
#pragma once

#include <Random123/philox.h>

#include <cstdint>
#include <span>

#ifdef __CUDACC__
#define MAREA_ANYWHERE __host__ __device__ __forceinline__
#else
#define MAREA_ANYWHERE inline
#endif

namespace marea::probe {

// The arrays of a kernel: each has draws of its own.
enum class Array : std::uint32_t { input, weight, query, key, value, residual, gain, gate, position, block_order };

// Four uniform draws in [-1, 1), multiples of 2^-23 and so exact in fp32: numbers 4 x quad to 4 x quad + 3 of an array.
struct FourDraws {
  float values[4];
};
MAREA_ANYWHERE FourDraws draw_four(std::uint64_t seed, Array array, std::uint64_t quad) {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(quad), static_cast<std::uint32_t>(quad >> 32), static_cast<std::uint32_t>(array), 0u}};
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type bits = r123::Philox4x32()(counter, key);
  FourDraws out;
  for (int i = 0; i < 4; ++i) out.values[i] = static_cast<float>(static_cast<std::int32_t>(bits[i]) >> 8) * 0x1p-23f;
  return out;
}

// Draws number `first` and following of an array into `out`; `first` and the size are multiples of four.
inline void draw_row(std::uint64_t seed, Array array, std::uint64_t first, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const FourDraws four = draw_four(seed, array, (first + i) / 4);
    for (std::size_t j = 0; j < 4; ++j) out[i + j] = four.values[j];
  }
}

// Scales of draws that make an attention tell right from wrong: with these, scores of uniform draws spread over a few units, so that the
// softmax is neither flat nor a maximum. Queries are draws times this; keys and values are plain draws.
inline constexpr float kQueryScale = 6;

}  // namespace marea::probe
