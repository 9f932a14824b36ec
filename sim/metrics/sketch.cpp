#include "sim/metrics/sketch.h"

#include <algorithm>
#include <cmath>

namespace marea::metrics {

// For values of bit width w >= 9 the top 8 bits (128 ... 255) number the buckets of the octave: bucket = 128 (w - 8) + top bits, which
// continues the exact buckets 0 ... 255 without a gap.
double Sketch::middle(std::uint32_t bucket) {
  if (bucket < 256) return bucket;
  const std::uint32_t shift = (bucket >> 7) - 1;
  const double lower = std::ldexp(static_cast<double>(bucket - (shift << 7)), static_cast<int>(shift));
  return lower + (std::ldexp(1.0, static_cast<int>(shift)) - 1) / 2;
}

void Sketch::grow(std::uint32_t index) { counts_.resize((index | 127U) + 1, 0); }

double Sketch::deviation() const {
  const double centre = mean();
  double squares = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const double distance = std::clamp(middle(static_cast<std::uint32_t>(i)), least(), most()) - centre;
    squares += static_cast<double>(counts_[i]) * distance * distance;
  }
  return std::sqrt(squares / static_cast<double>(count_));
}

double Sketch::quantile(double q) const {
  check(count_ > 0, "a quantile of nothing was asked for");
  // The small step down keeps 0.9 x 10 at rank 9 although 0.9 is not a binary fraction.
  const double wanted = std::ceil(q * static_cast<double>(count_) - 1e-9);
  const auto rank = std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, count_);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(middle(static_cast<std::uint32_t>(i)), least(), most());
  }
  return most();
}

void Sketch::merge(const Sketch& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size(), 0);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  least_ = std::min(least_, other.least_);
  most_ = std::max(most_, other.most_);
}

SketchData Sketch::data(std::string name, std::string label) const {
  SketchData data{std::move(name), std::move(label), {}, count_, sum(), 0, 0};
  if (count_ == 0) return data;
  data.least = least();
  data.most = most();
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0) data.buckets.emplace_back(static_cast<std::int32_t>(i), counts_[i]);
  return data;
}

Sketch Sketch::from(const SketchData& data) {
  Sketch sketch;
  for (const auto& [index, count] : data.buckets) {
    const auto bucket = static_cast<std::uint32_t>(index);
    if (bucket >= sketch.counts_.size()) sketch.grow(bucket);
    sketch.counts_[bucket] += count;
    sketch.count_ += count;
  }
  check(sketch.count_ == data.samples, "the buckets of a sketch do not sum to its samples");
  if (sketch.count_ == 0) return sketch;
  sketch.sum_ = static_cast<Int128>(data.sum);
  sketch.least_ = static_cast<std::int64_t>(data.least);
  sketch.most_ = static_cast<std::int64_t>(data.most);
  return sketch;
}

}  // namespace marea::metrics
