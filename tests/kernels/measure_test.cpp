// The rule by which a time is measured, on invented samples and an invented clock.
#include "kernels/measure.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

using namespace marea::probe;

namespace {

// Time that passes only when a sample is taken.
struct Bench {
  double time = 0;
  int taken = 0;

  Measurement measure(const Rule& rule, const std::function<Sample(int)>& sample) {
    return marea::probe::measure(
        [&] {
          const Sample one = sample(taken++);
          time += one.seconds;
          return one;
        },
        rule, [&] { return time; });
  }
};

std::vector<double> one_to(int count) {
  std::vector<double> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

}  // namespace

TEST_CASE("the median is the middle value, or the mean of the two in the middle") {
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
  CHECK_THROWS_AS(median(std::vector<double>{}), std::invalid_argument);
}

TEST_CASE("the interval of the median ends at the ranks that tables of the sign test give for 95 %") {
  // Ranks of the 95 % interval: n = 6: 1 and 6; 10: 2 and 9; 20: 6 and 15; 25: 8 and 18 (Conover, Practical Nonparametric Statistics).
  CHECK(median_noise(one_to(5)) == 1);
  CHECK(median_noise(one_to(6)) == doctest::Approx((6 - 1) / 2.0 / 3.5));
  CHECK(median_noise(one_to(10)) == doctest::Approx((9 - 2) / 2.0 / 5.5));
  CHECK(median_noise(one_to(20)) == doctest::Approx((15 - 6) / 2.0 / 10.5));
  CHECK(median_noise(one_to(25)) == doctest::Approx((18 - 8) / 2.0 / 13));
}

TEST_CASE("equal samples are enough as soon as there are the fewest") {
  Bench bench;
  const Measurement found = bench.measure({.warm_up = 3, .fewest = 9}, [](int) { return Sample{0.001, false}; });
  CHECK(found.stop == Stop::quiet);
  CHECK(found.samples == 9);
  CHECK(bench.taken == 12);
  CHECK(found.median == 0.001);
  CHECK(found.noise == 0);
}

TEST_CASE("warm-up samples do not count") {
  Bench bench;
  const Measurement found = bench.measure({.warm_up = 2}, [](int i) { return Sample{i < 2 ? 0.5 : 0.001, false}; });
  CHECK(found.median == 0.001);
}

TEST_CASE("noisy samples are taken until the median is known to a hundredth") {
  Bench bench;
  std::mt19937_64 bits(7);
  std::lognormal_distribution<double> noisy(std::log(1e-5), 0.05);
  const Measurement found = bench.measure({.most = 10000, .noise = 0.01, .seconds = 1}, [&](int) { return Sample{noisy(bits), false}; });
  CHECK(found.stop == Stop::quiet);
  CHECK(found.noise <= 0.01);
  CHECK(found.samples > 40);  // with 40 samples the half-width is about 2 x 1.25 x 5 % / sqrt(40) = 2 %
  CHECK(found.median == doctest::Approx(1e-5).epsilon(0.02));
}

TEST_CASE("a sampler that never calms down ends with its samples or its time, and says how noisy it was") {
  Bench many, long_ones;
  const auto wild = [](double scale) { return [scale](int i) { return Sample{scale * (1 + i % 2), false}; }; };
  const Measurement counted = many.measure({.most = 50, .seconds = 1000}, wild(1e-3));
  CHECK(counted.stop == Stop::samples);
  CHECK(counted.samples == 50);
  CHECK(counted.noise > 0.3);
  const Measurement timed = long_ones.measure({.warm_up = 0, .seconds = 10}, wild(2));
  CHECK(timed.stop == Stop::time);
  CHECK(timed.samples == 4);  // 2 + 4 + 2 + 4 s: the first moment at or past 10 s
  CHECK(timed.noise == 1);    // too few for an interval
}

TEST_CASE("a kernel longer than its time is still measured once") {
  Bench bench;
  const Measurement found = bench.measure({.warm_up = 1, .seconds = 0.5}, [](int) { return Sample{3, false}; });
  CHECK(found.samples == 1);
  CHECK(found.median == 3);
  CHECK(bench.taken == 2);
}

TEST_CASE("throttled samples are dropped and counted") {
  Bench bench;
  const Measurement found = bench.measure({.warm_up = 0}, [](int i) { return i % 3 == 0 ? Sample{0.002, true} : Sample{0.001, false}; });
  CHECK(found.median == 0.001);
  CHECK(found.noise == 0);
  CHECK(found.samples == 9);
  CHECK(found.dropped == 5);  // numbers 0, 3, 6, 9, 12; the ninth that counts is number 13
}

TEST_CASE("a device that is always throttled gives no median") {
  Bench bench;
  const Measurement counted = bench.measure({.most_throttled = 30, .seconds = 1000}, [](int) { return Sample{0.001, true}; });
  CHECK(counted.stop == Stop::throttled);
  CHECK(counted.samples == 0);
  CHECK(counted.dropped == 30);
  Bench slow;
  const Measurement timed = slow.measure({.warm_up = 0, .seconds = 1}, [](int) { return Sample{1, true}; });
  CHECK(timed.stop == Stop::throttled);
  CHECK(timed.dropped == 3);  // three times the time it may take
}
