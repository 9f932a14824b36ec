// Timing on cold caches, and noticing that somebody else had the processor meanwhile.
#include "kernels/host/kernel.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>

#ifdef __CLFLUSHOPT__
#include <immintrin.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

namespace marea::probe::host {

int threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

#ifdef __CLFLUSHOPT__

void flush(std::span<const std::byte> operand) {
  constexpr std::int64_t line = 64;
  const auto size = static_cast<std::int64_t>(operand.size());
#pragma omp parallel for
  for (std::int64_t at = 0; at < size; at += line) _mm_clflushopt(const_cast<std::byte*>(operand.data() + at));
  if (size > 0) _mm_clflushopt(const_cast<std::byte*>(operand.data() + size - 1));
  _mm_mfence();
}

#else

void flush(std::span<const std::byte>) {
  static std::vector<float> large(std::size_t{64} << 20);  // 256 MB: more than most last-level caches
  for (std::size_t i = 0; i < large.size(); i += 16) large[i] += 1;
}

#endif

void poison(std::vector<float>& out) { std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN()); }

namespace {

// How often a thread of ours had to leave a processor that it still wanted.
long evictions() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// A time slice is a few milliseconds: beside a longer kernel an eviction is a small part, beside a shorter one it is most of the time.
constexpr double kSpoilt = 0.03;

}  // namespace

Sample HostKernel::sample() {
  for (const std::span<const std::byte> operand : operands()) flush(operand);
  const long before = evictions();
  const auto begin = std::chrono::steady_clock::now();
  run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {seconds, seconds < kSpoilt && evictions() != before};
}

}  // namespace marea::probe::host
