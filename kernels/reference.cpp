// The references, written to be obvious rather than fast.
#include "kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace marea::probe {

void RelativeNorm::add(double measured, double expected) {
  difference_ += (measured - expected) * (measured - expected);
  expected_ += expected * expected;
}

double RelativeNorm::value() const {
  if (expected_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(difference_ / expected_);
}

double dot(std::span<const float> left, std::span<const float> right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += static_cast<double>(left[i]) * static_cast<double>(right[i]);
  return sum;
}

std::vector<double> attend(std::span<const float> query, const Seen& seen, const RowOf& key, const RowOf& value, std::size_t value_size) {
  std::vector<float> row(query.size());
  std::vector<double> scores;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t token = seen.first; token < seen.last; ++token) {
    key(token, row);
    scores.push_back(dot(query, row) * seen.scale);
    highest = std::max(highest, scores.back());
  }
  std::vector<double> out(value_size, 0.0);
  row.resize(value_size);
  double total = 0;
  for (std::int64_t token = seen.first; token < seen.last; ++token) {
    const double weight = std::exp(scores[static_cast<std::size_t>(token - seen.first)] - highest);
    value(token, row);
    total += weight;
    for (std::size_t i = 0; i < value_size; ++i) out[i] += weight * static_cast<double>(row[i]);
  }
  for (double& one : out) one /= total;
  return out;
}

std::vector<double> add_and_norm(std::span<const float> input, std::span<const float> residual, std::span<const float> gain,
                                 double epsilon) {
  std::vector<double> out(input.size());
  double squares = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    out[i] = static_cast<double>(input[i]) + static_cast<double>(residual[i]);
    squares += out[i] * out[i];
  }
  const double scale = 1 / std::sqrt(squares / static_cast<double>(input.size()) + epsilon);
  for (std::size_t i = 0; i < input.size(); ++i) out[i] *= scale * static_cast<double>(gain[i]);
  return out;
}

std::vector<double> rotate(std::span<const float> head, std::int64_t position, double base) {
  const std::size_t half = head.size() / 2;
  std::vector<double> out(head.size());
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
    out[i] = static_cast<double>(head[i]) * std::cos(angle) - static_cast<double>(head[i + half]) * std::sin(angle);
    out[i + half] = static_cast<double>(head[i + half]) * std::cos(angle) + static_cast<double>(head[i]) * std::sin(angle);
  }
  return out;
}

double gated(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t most, std::uint64_t seed) {
  std::set<std::int64_t> chosen;
  if (count <= most) {
    for (std::int64_t i = 0; i < count; ++i) chosen.insert(i);
  } else {
    std::mt19937_64 bits(seed);
    if (most >= 2) chosen = {0, count - 1};
    while (static_cast<std::int64_t>(chosen.size()) < most)
      chosen.insert(static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(count)));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace marea::probe
