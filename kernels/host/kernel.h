// A kernel of the host backend: timed by the steady clock, on cold caches. And what these kernels share: rows in fp32 or bf16, parallel
// filling.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/draws.h"

namespace marea::probe::host {

using Float = float;
using Bfloat = Eigen::bfloat16;

class HostKernel : public Kernel {
 public:
  Sample sample() override;

 protected:
  // What must not lie in a cache when the clock starts.
  virtual std::vector<std::span<const std::byte>> operands() const = 0;
};

template <class Value>
std::span<const std::byte> bytes_of(const std::vector<Value>& values) {
  return std::as_bytes(std::span<const Value>(values));
}

// Writes the operand's lines back and out of every cache: by instruction where the processor has one, else by reading something larger.
void flush(std::span<const std::byte> operand);

// Draws times `scale`, rounded to the type, into all of `out`, on all threads. The size is a multiple of four.
template <class Value>
void fill(std::vector<Value>& out, std::uint64_t seed, Array array, float scale = 1) {
  const auto quads = static_cast<std::int64_t>(out.size() / 4);
#pragma omp parallel for
  for (std::int64_t quad = 0; quad < quads; ++quad) {
    const FourDraws four = draw_four(seed, array, static_cast<std::uint64_t>(quad));
    for (std::int64_t i = 0; i < 4; ++i) out[static_cast<std::size_t>(4 * quad + i)] = Value(four.values[i] * scale);
  }
}

// Copies a row, widening bf16 to fp32: the upper half of the bits. Eigen's own cast is several times slower.
inline void widen(const float* from, std::int64_t count, float* to) { std::copy(from, from + count, to); }
inline void widen(const Bfloat* from, std::int64_t count, float* to) {
  static_assert(sizeof(Bfloat) == sizeof(std::uint16_t));
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i, sizeof bits);
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    std::memcpy(to + i, &wide, sizeof wide);
  }
}

// Not a number, for outputs to be.
void poison(std::vector<float>& out);

int threads();

std::unique_ptr<Kernel> make_memory(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_dense(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_attention(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_small_kernels(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_blocks(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_file_read(const Case& one, std::uint64_t seed, const std::string& folder);

// How a file in this folder is read past the page cache: "O_DIRECT", or "posix_fadvise" where the file system has no direct reads.
std::string file_read_way(const std::string& folder);

}  // namespace marea::probe::host
