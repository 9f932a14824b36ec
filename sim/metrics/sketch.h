// A distribution of durations or counts that can be merged with others. Buckets are exact below 256 and then 128 to the octave, found by
// integer arithmetic, so that two machines always agree; percentiles come from merged buckets and are never averaged.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/int128.h"
#include "sim/metrics/results.h"

namespace marea::metrics {

// Holds values >= 0. count, sum, least and most are exact; a quantile is off by at most 1/256 of the value (a bucket is at most 1/128 of
// its lower edge wide and answers with its middle), and not at all below 256.
class Sketch {
 public:
  void add(std::int64_t value, std::int64_t weight = 1) {
    check(value >= 0, "a sketch was given a negative value");
    const std::uint32_t index = bucket(static_cast<std::uint64_t>(value));
    if (index >= counts_.size()) [[unlikely]]
      grow(index);
    counts_[index] += weight;
    count_ += weight;
    sum_ += static_cast<Int128>(value) * weight;
    if (value < least_) least_ = value;
    if (value > most_) most_ = value;
  }

  std::int64_t count() const { return count_; }
  double sum() const { return static_cast<double>(sum_); }
  // The following require count() > 0.
  double least() const { return static_cast<double>(least_); }
  double most() const { return static_cast<double>(most_); }
  double mean() const { return sum() / static_cast<double>(count_); }
  // Standard deviation of the population, from the middles of the buckets; the error is within 1/256 of the largest value.
  double deviation() const;
  // Nearest rank: the ceil(q x count)-th smallest value; q in [0, 1].
  double quantile(double q) const;

  void merge(const Sketch& other);

  SketchData data(std::string name, std::string label) const;
  // Inverse of data(). Throws InternalError when the buckets do not add up to the stated samples.
  static Sketch from(const SketchData& data);

  // The bucket of a value, and the middle of a bucket's values.
  static std::uint32_t bucket(std::uint64_t value) {
    if (value < 256) return static_cast<std::uint32_t>(value);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(value)) - 8;
    return (shift << 7) + static_cast<std::uint32_t>(value >> shift);
  }
  static double middle(std::uint32_t bucket);

 private:
  void grow(std::uint32_t index);

  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  Int128 sum_ = 0;
  std::int64_t least_ = INT64_MAX;
  std::int64_t most_ = 0;
};

}  // namespace marea::metrics
