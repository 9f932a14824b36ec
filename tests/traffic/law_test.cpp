// Distributions: their quantiles are those that were written down.
#include "sim/traffic/law.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/traffic/tool.h"
#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;

namespace {

Law law(std::string_view text, Measure measure = Measure::tokens) { return Law::read(test::Yaml(text).value(), measure); }
constexpr double kScore90 = 1.2815515655446004;  // normal score of 0.9
constexpr double kScore99 = 2.3263478740408408;

}  // namespace

TEST_CASE("a bare value is a fixed one") {
  CHECK(law("250 tok").count(0.1) == 250);
  CHECK(law("{fixed: 2 s}", Measure::duration).duration(0.9) == std::chrono::seconds(2));
  CHECK(law("7", Measure::count).is_fixed());
}

TEST_CASE("a lognormal has the p50 and p90 it was given") {
  const Law l = law("{lognormal: {p50: 8000 tok, p90: 30000 tok}}");
  CHECK(l.count(0.5) == 8000);
  CHECK(l.count(0.9) == 30000);
  CHECK(law("{lognormal: {p50: 8000 tok, p90: 30000 tok, max: 9000 tok}}").count(0.9) == 9000);
}

TEST_CASE("a lognormal given by its mean has that mean") {
  const Law l = law("{lognormal: {mean: 1000 tok, sigma: 0.5}}");
  double sum = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(l.count((i + 0.5) / n));
  CHECK(sum / n == doctest::Approx(1000).epsilon(0.001));
}

TEST_CASE("a table of quantiles is met at its points, is straight between them in logarithm over normal score, and goes on to its max") {
  const Law l = law("{quantiles: {p50: 1 s, p90: 10 s, max: 1 h}}", Measure::duration);
  CHECK(l.duration(0.5) == std::chrono::seconds(1));
  CHECK(to_seconds(l.duration(0.9)).count() == doctest::Approx(10).epsilon(1e-9));
  // Slope: ln 10 per 1.28155 scores. At p99: 10^(2.32635 / 1.28155).
  CHECK(to_seconds(l.duration(0.99)).count() == doctest::Approx(std::pow(10, kScore99 / kScore90)).epsilon(1e-9));
  CHECK(to_seconds(l.duration(0.1)).count() == doctest::Approx(0.1).epsilon(1e-9));
  CHECK(l.duration(1 - 1e-12) == std::chrono::hours(1));
  const Law bent = law("{quantiles: {p50: 1 s, p90: 10 s, p99: 20 s, max: 1 h, min: 500 ms}}", Measure::duration);
  CHECK(to_seconds(bent.duration(0.99)).count() == doctest::Approx(20).epsilon(1e-9));
  CHECK(bent.duration(0.001) == std::chrono::milliseconds(500));
}

TEST_CASE("whole numbers of a uniform range are equally likely, its ends included") {
  const Law l = law("{uniform: [1, 4]}", Measure::count);
  std::vector<int> seen(5);
  for (int i = 0; i < 4000; ++i) ++seen[static_cast<std::size_t>(l.count((i + 0.5) / 4000))];
  for (std::size_t k = 1; k <= 4; ++k) CHECK(seen[k] == 1000);
}

TEST_CASE("exponential, gamma and empirical laws have their means") {
  const auto mean = [](const Law& l) {
    double sum = 0;
    const int n = 200000;
    for (int i = 0; i < n; ++i) sum += to_seconds(l.duration((i + 0.5) / n)).count();
    return sum / n;
  };
  CHECK(mean(law("{exponential: {mean: 40 s}}", Measure::duration)) == doctest::Approx(40).epsilon(0.001));
  CHECK(mean(law("{gamma: {mean: 40 s, cv: 2}}", Measure::duration)) == doctest::Approx(40).epsilon(0.002));
  CHECK(mean(law("{empirical: [1 s, 2 s, 6 s]}", Measure::duration)) == doctest::Approx(3).epsilon(0.001));
}

TEST_CASE("counts are at least 1 and absurd draws are refused") {
  CHECK(law("{exponential: {mean: 1 tok}}").count(0.01) == 1);
  CHECK(test::error_of([] { law("{lognormal: {p50: 1 tok, sigma: 10}}").count(1 - 1e-12); }).find("add a `max`") != std::string::npos);
}

TEST_CASE("a tool is tried until a try succeeds or none is left, and a time-out is a failure at that time") {
  const auto tool = read_tool("t", test::Yaml("{time: 10 s, timeout: 4 s, retries: 2, backoff: {first: 1 s, factor: 3}}").value());
  RandomStream stream(1, "test");
  std::vector<ToolAttempt> attempts;
  draw_attempts(tool, stream, attempts);
  REQUIRE(attempts.size() == 3);
  for (const ToolAttempt& attempt : attempts) CHECK((attempt.fails && attempt.time == std::chrono::seconds(4)));
  CHECK(attempts[0].backoff_after == std::chrono::seconds(1));
  CHECK(attempts[1].backoff_after == std::chrono::seconds(3));
  CHECK(attempts[2].backoff_after == Duration{});
}

TEST_CASE("a share of the tries of a tool fails") {
  const auto tool = read_tool("t", test::Yaml("{time: 10 s, fails: 20 %}").value());
  std::vector<ToolAttempt> attempts;
  int failed = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    RandomStream stream(1, "test", i);
    draw_attempts(tool, stream, attempts);
    failed += attempts[0].fails;
  }
  CHECK(std::abs(failed - 2000) < 5 * 40);  // standard deviation: sqrt(10000 x 0.2 x 0.8) = 40
}
