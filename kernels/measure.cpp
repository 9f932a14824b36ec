// The stopping rule, and the median's interval from order statistics.
#include "kernels/measure.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <stdexcept>
#include <vector>

namespace marea::probe {

double median(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("the median of nothing");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double median_noise(std::span<const double> values) {
  namespace math = boost::math;
  // The count of values below the true median is binomial with one half: the interval ends at the last ranks that leave out at most 2.5 %
  // at each side. Six values are the fewest of which the lowest and the highest do.
  using Outward = math::policies::policy<math::policies::discrete_quantile<math::policies::integer_round_down>>;
  if (values.size() < 6) return 1;
  const math::binomial_distribution<double, Outward> below(static_cast<double>(values.size()), 0.5);
  const auto cut = static_cast<std::size_t>(math::quantile(below, 0.025)) + 1;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted[cut - 1];
  const double high = sorted[sorted.size() - cut];
  return (high - low) / 2 / median(values);
}

Measurement measure(const std::function<Sample()>& sample, const Rule& rule, const std::function<double()>& clock) {
  const double begin = clock();
  Measurement out;
  std::vector<double> times;
  const auto expired = [&] { return clock() - begin >= rule.seconds; };
  for (int i = 0; i < rule.warm_up && !expired(); ++i) sample();
  for (;;) {
    const Sample one = sample();
    if (one.throttled)
      ++out.dropped;
    else
      times.push_back(one.seconds);
    const int count = static_cast<int>(times.size());
    const bool enough = count >= rule.fewest && median_noise(times) <= rule.noise;
    if (enough || count >= rule.most || (expired() && count > 0)) {
      out.stop = enough ? Stop::quiet : count >= rule.most ? Stop::samples : Stop::time;
      break;
    }
    if (out.dropped >= rule.most_throttled || (expired() && clock() - begin >= 3 * rule.seconds)) {
      out.stop = Stop::throttled;
      break;
    }
  }
  out.samples = static_cast<int>(times.size());
  if (!times.empty()) {
    out.median = median(times);
    out.noise = median_noise(times);
  }
  return out;
}

}  // namespace marea::probe
