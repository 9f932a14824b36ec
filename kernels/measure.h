// How a time is measured, the same on every device: warm up, take samples until the median is known well enough, drop those taken while the
// device was throttled. The clock is handed in, so the rule can be tried on invented samples.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace marea::probe {

// One timed execution. Seconds of one launch; throttled: the device ran below its clock while it was taken, or was not ours alone.
struct Sample {
  double seconds = 0;
  bool throttled = false;
};

struct Rule {
  int warm_up = 2;           // samples thrown away first
  int fewest = 9;            // samples before the noise is judged; an interval of 95 % needs six
  int most = 400;            // samples after which it is over
  int most_throttled = 200;  // dropped samples after which it is over
  double noise = 0.01;       // good enough: relative half-width of the median's interval
  double seconds = 1;        // time after which it is over, as soon as there is one sample that counts
};

enum class Stop { quiet, samples, time, throttled };

struct Measurement {
  double median = 0;  // seconds
  double noise = 0;   // half-width of the interval of the median over the median; 1 where there are too few samples for an interval
  int samples = 0;    // that count
  int dropped = 0;    // throttled
  Stop stop = Stop::quiet;
};

// Samples until the rule is met. With Stop::throttled and no samples there is no median. The clock counts seconds.
Measurement measure(const std::function<Sample()>& sample, const Rule& rule, const std::function<double()>& clock);

// The median of some values, at least one: the middle one, or the mean of the two in the middle.
double median(std::span<const double> values);

// Relative half-width of the 95 % interval of the median, free of any assumption about the distribution: between the order statistics whose
// ranks are binomial quantiles. 1 for fewer than six values.
double median_noise(std::span<const double> values);

}  // namespace marea::probe
