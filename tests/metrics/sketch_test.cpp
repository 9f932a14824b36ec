// The sketch keeps its promise of error, merges without loss, and survives the store.
#include "sim/metrics/sketch.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

using marea::metrics::Sketch;

namespace {

// Nearest rank on the values themselves.
std::int64_t exact_quantile(std::vector<std::int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size()) - 1e-9)));
  return values[rank - 1];
}

// Values of every magnitude, not only of the largest.
rc::Gen<std::vector<std::int64_t>> magnitudes() {
  return rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::map(
      rc::gen::pair(rc::gen::inRange<int>(0, 62), rc::gen::arbitrary<std::uint64_t>()), [](const std::pair<int, std::uint64_t>& drawn) {
        return static_cast<std::int64_t>((drawn.second | (1ULL << 63)) >> (63 - drawn.first));
      })));
}

Sketch of(const std::vector<std::int64_t>& values) {
  Sketch sketch;
  for (const std::int64_t value : values) sketch.add(value);
  return sketch;
}

}  // namespace

TEST_CASE("a quantile is the value of nearest rank within one part in 256, and exact below 256") {
  const bool holds = rc::check([] {
    const std::vector<std::int64_t> values = *magnitudes();
    const Sketch sketch = of(values);
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0}) {
      const auto exact = static_cast<double>(exact_quantile(values, q));
      const double error = std::abs(sketch.quantile(q) - exact);
      RC_ASSERT(error <= (exact < 256 ? 0 : exact / 256));
    }
  });
  CHECK(holds);
}

TEST_CASE("buckets are numbered in the order of the values without gaps") {
  CHECK(Sketch::bucket(0) == 0);
  for (std::uint64_t value = 1; value < 100000; ++value) {
    const std::uint32_t step = Sketch::bucket(value) - Sketch::bucket(value - 1);
    REQUIRE(step <= 1);
  }
  for (int bit = 9; bit < 63; ++bit) {
    const std::uint64_t power = 1ULL << bit;
    CHECK(Sketch::bucket(power) == Sketch::bucket(power - 1) + 1);
  }
}

TEST_CASE("count, sum, least and most are exact, weights count as that many values") {
  Sketch sketch;
  sketch.add(1'000'000'007, 3);
  sketch.add(5);
  CHECK(sketch.count() == 4);
  CHECK(sketch.sum() == 3'000'000'026.0);
  CHECK(sketch.least() == 5);
  CHECK(sketch.most() == 1'000'000'007);
  CHECK(sketch.quantile(0.25) == 5);
  CHECK(sketch.quantile(0.26) == doctest::Approx(1'000'000'007.0).epsilon(1.0 / 256));
}

TEST_CASE("the standard deviation of 2, 4, 4, 4, 5, 5, 7, 9 is 2") {
  CHECK(of({2, 4, 4, 4, 5, 5, 7, 9}).deviation() == doctest::Approx(2));
}

TEST_CASE("merged sketches are the sketch of all values, in any order") {
  const bool holds = rc::check([] {
    const std::vector<std::int64_t> a = *magnitudes(), b = *magnitudes();
    std::vector<std::int64_t> all = a;
    all.insert(all.end(), b.begin(), b.end());
    Sketch ab = of(a), ba = of(b);
    ab.merge(of(b));
    ba.merge(of(a));
    const auto wanted = of(all).data("x", "");
    for (const Sketch& merged : {ab, ba}) {
      const auto got = merged.data("x", "");
      RC_ASSERT(got.buckets == wanted.buckets);
      RC_ASSERT(got.samples == wanted.samples);
      RC_ASSERT(got.sum == wanted.sum);
      RC_ASSERT(got.least == wanted.least);
      RC_ASSERT(got.most == wanted.most);
    }
  });
  CHECK(holds);
}

TEST_CASE("a sketch comes back from its data") {
  const Sketch sketch = of({1, 300, 70'000, 5'000'000'000});
  const auto data = sketch.data("ttft", "class=coders");
  CHECK(data.name == "ttft");
  CHECK(data.label == "class=coders");
  const Sketch back = Sketch::from(data);
  CHECK(back.data("ttft", "class=coders").buckets == data.buckets);
  CHECK(back.sum() == sketch.sum());
  CHECK(back.quantile(0.5) == sketch.quantile(0.5));
  CHECK(Sketch::from(Sketch().data("none", "")).count() == 0);
}

TEST_CASE("data whose buckets do not sum to its samples is refused") {
  auto data = of({1, 2, 3}).data("ttft", "");
  ++data.samples;
  CHECK_THROWS_AS(Sketch::from(data), marea::InternalError);
}

TEST_CASE("a negative value and a quantile of nothing are refused") {
  Sketch sketch;
  CHECK_THROWS_AS(sketch.add(-1), marea::InternalError);
  CHECK_THROWS_AS(sketch.quantile(0.5), marea::InternalError);
}
