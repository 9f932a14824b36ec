// Reading, writing and copying of main memory on all cores, and gathering and scattering of KV blocks.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "kernels/host/kernel.h"
#include "kernels/reference.h"

namespace marea::probe::host {

namespace {

constexpr float kWritten = 1.5f;

// Sums (read), fills (write) or copies. `bytes` are moved once: a copy reads and writes as many.
class Memory final : public HostKernel {
 public:
  Memory(const Case& one, std::uint64_t seed) : operation_(one.operation), seed_(seed) {
    const auto count = static_cast<std::size_t>(one.bytes.value() / 4);
    if (operation_ != Operation::memory_write) {
      from_.resize(count);
      fill(from_, seed, Array::input);
    }
    if (operation_ != Operation::memory_read) to_.resize(count);
  }

  void poison() override {
    host::poison(to_);
    sum_ = std::numeric_limits<double>::quiet_NaN();
  }

  void run() override {
    const auto pieces = static_cast<std::int64_t>(threads());
    const std::size_t count = std::max(from_.size(), to_.size());
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::size_t begin = count * static_cast<std::size_t>(piece) / static_cast<std::size_t>(pieces);
      const std::size_t end = count * static_cast<std::size_t>(piece + 1) / static_cast<std::size_t>(pieces);
      if (operation_ == Operation::memory_read)
        sum += sum_of(begin, end);
      else if (operation_ == Operation::memory_write)
        std::fill(to_.begin() + static_cast<std::ptrdiff_t>(begin), to_.begin() + static_cast<std::ptrdiff_t>(end), kWritten);
      else
        std::memcpy(to_.data() + begin, from_.data() + begin, (end - begin) * sizeof(float));
    }
    sum_ = sum;
  }

  double error() override {
    RelativeNorm norm;
    if (operation_ == Operation::memory_read) {
      double expected = 0;
      for (std::uint64_t quad = 0; quad < from_.size() / 4; ++quad)
        for (const float value : draw_four(seed_, Array::input, quad).values) expected += value;
      norm.add(sum_, expected);
      return norm.value();
    }
    for (const std::int64_t i : some_of(static_cast<std::int64_t>(to_.size()), 4096, seed_)) {
      const auto at = static_cast<std::size_t>(i);
      const float copied = draw_four(seed_, Array::input, at / 4).values[at % 4];
      norm.add(to_[at], operation_ == Operation::memory_write ? kWritten : copied);
    }
    return norm.value();
  }

  double tolerance() const override { return operation_ == Operation::memory_read ? 1e-2 : 0; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override { return {bytes_of(from_), bytes_of(to_)}; }

 private:
  // Runs of fp32 sums, added up in double: the sum of draws around zero cancels, and must still come out right.
  double sum_of(std::size_t begin, std::size_t end) const {
    double total = 0;
    const float* from = from_.data();
    for (std::size_t at = begin; at < end; at += 4096) {
      float part = 0;
      const std::size_t last = std::min(end, at + 4096);
#pragma omp simd reduction(+ : part)
      for (std::size_t i = at; i < last; ++i) part += from[i];
      total += part;
    }
    return total;
  }

  Operation operation_;
  std::uint64_t seed_;
  std::vector<float> from_, to_;
  double sum_ = 0;
};

// Blocks in random places of a pool twice as large, into a contiguous buffer (gather) or out of it (scatter).
class Blocks final : public HostKernel {
 public:
  Blocks(const Case& one, std::uint64_t seed) : gather_(one.operation == Operation::kv_gather), block_(one.block.value() / 4), seed_(seed) {
    const std::int64_t blocks = one.bytes.value() / one.block.value();
    std::vector<std::int64_t> places(static_cast<std::size_t>(2 * blocks));
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), std::mt19937_64(seed));
    places_.assign(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(blocks));
    pool_.resize(static_cast<std::size_t>(2 * blocks * block_));
    row_.resize(static_cast<std::size_t>(blocks * block_));
    fill(gather_ ? pool_ : row_, seed, Array::key);
  }

  void poison() override { host::poison(gather_ ? row_ : pool_); }

  void run() override {
    const auto blocks = static_cast<std::int64_t>(places_.size());
    const auto bytes = static_cast<std::size_t>(block_) * sizeof(float);
#pragma omp parallel for
    for (std::int64_t i = 0; i < blocks; ++i) {
      float* row = row_.data() + i * block_;
      float* place = pool_.data() + places_[static_cast<std::size_t>(i)] * block_;
      std::memcpy(gather_ ? row : place, gather_ ? place : row, bytes);
    }
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t i : some_of(static_cast<std::int64_t>(row_.size()), 4096, seed_)) {
      const std::int64_t place = places_[static_cast<std::size_t>(i / block_)] * block_ + i % block_;
      const auto source = static_cast<std::uint64_t>(gather_ ? place : i);
      norm.add(gather_ ? row_[static_cast<std::size_t>(i)] : pool_[static_cast<std::size_t>(place)],
               draw_four(seed_, Array::key, source / 4).values[source % 4]);
    }
    return norm.value();
  }

  double tolerance() const override { return 0; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override { return {bytes_of(pool_), bytes_of(row_)}; }

 private:
  bool gather_;
  std::int64_t block_;  // values
  std::uint64_t seed_;
  std::vector<std::int64_t> places_;
  std::vector<float> pool_, row_;
};

}  // namespace

std::unique_ptr<Kernel> make_memory(const Case& one, std::uint64_t seed) { return std::make_unique<Memory>(one, seed); }
std::unique_ptr<Kernel> make_blocks(const Case& one, std::uint64_t seed) { return std::make_unique<Blocks>(one, seed); }

}  // namespace marea::probe::host
