// The random streams: the published vectors of the generator, independence of streams, and the open interval. Bounds come from the normal
// law of the mean at five standard deviations, so a correct generator fails one in a million seeds; the seed is fixed.
#include "sim/base/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

using namespace marea;

namespace {

using Block = std::array<std::uint32_t, 4>;

// Pearson correlation of x[i] and y[i].
double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i], sy += y[i];
    sxx += x[i] * x[i], syy += y[i] * y[i], sxy += x[i] * y[i];
  }
  return (n * sxy - sx * sy) / std::sqrt((n * sxx - sx * sx) * (n * syy - sy * sy));
}

constexpr int kDraws = 200'000;

}  // namespace

TEST_CASE("the generator gives the vectors that Random123 publishes for philox4x32-10") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is a pure function of what it is for") {
  RandomStream first(42, "tool latency", 1, 17, 3);
  RandomStream other(42, "tool latency", 1, 17, 3);
  const RandomStream copy = first;
  for (int i = 0; i < 100; ++i) CHECK(first.bits() == other.bits());
  RandomStream replay = copy;
  RandomStream again(42, std::string("tool latency"), 1, 17, 3);
  for (int i = 0; i < 100; ++i) CHECK(replay.bits() == again.bits());
}

TEST_CASE("seed, purpose and every part of the entity matter, beyond 32 bits too") {
  std::set<std::uint64_t> first_draws;
  const std::uint64_t high = std::uint64_t{1} << 40;
  std::size_t count = 0;
  const auto add = [&](RandomStream stream) {
    first_draws.insert(stream.bits());
    ++count;
  };
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, high, ~std::uint64_t{0}})
    for (std::string_view purpose : {"a", "b", "tool latency"})
      for (std::uint64_t a : {std::uint64_t{0}, std::uint64_t{1}, high})
        for (std::uint64_t b : {std::uint64_t{0}, std::uint64_t{1}, high, high + 1})
          for (std::uint64_t c : {std::uint64_t{0}, std::uint64_t{1}, high}) add(RandomStream(seed, purpose, a, b, c));
  CHECK(first_draws.size() == count);
}

TEST_CASE("uniform draws have the mean and variance of the uniform law") {
  RandomStream stream(1, "mean");
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.uniform();
    sum += x;
    squares += (x - 0.5) * (x - 0.5);
  }
  // Var(U) = 1/12; Var((U-1/2)^2) = 1/80 - 1/144 = 1/180.
  CHECK(std::abs(sum / kDraws - 0.5) < 5 * std::sqrt(1.0 / 12 / kDraws));
  CHECK(std::abs(squares / kDraws - 1.0 / 12) < 5 * std::sqrt(1.0 / 180 / kDraws));
}

TEST_CASE("every bit is set half of the time") {
  RandomStream stream(1, "bits");
  std::array<int, 64> ones{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t bits = stream.bits();
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>((bits >> bit) & 1);
  }
  for (const int count : ones) CHECK(std::abs(count - kDraws / 2) < 5 * std::sqrt(kDraws) / 2);
}

TEST_CASE("neighbouring entities, purposes and seeds are uncorrelated") {
  const auto draws = [](auto make) {
    std::vector<double> out;
    for (std::uint64_t i = 0; i < kDraws; ++i) out.push_back(make(i).uniform());
    return out;
  };
  const auto base = draws([](std::uint64_t i) { return RandomStream(1, "x", 0, i, 0); });
  const double bound = 5 / std::sqrt(kDraws);  // the correlation of independent samples has standard deviation 1/sqrt(n)
  CHECK(std::abs(correlation(base, draws([](std::uint64_t i) { return RandomStream(1, "x", 0, i + 1, 0); }))) < bound);
  CHECK(std::abs(correlation(base, draws([](std::uint64_t i) { return RandomStream(1, "x", 1, i, 0); }))) < bound);
  CHECK(std::abs(correlation(base, draws([](std::uint64_t i) { return RandomStream(1, "x", 0, i, 1); }))) < bound);
  CHECK(std::abs(correlation(base, draws([](std::uint64_t i) { return RandomStream(1, "y", 0, i, 0); }))) < bound);
  CHECK(std::abs(correlation(base, draws([](std::uint64_t i) { return RandomStream(2, "x", 0, i, 0); }))) < bound);
  CHECK(std::abs(correlation(base, draws([](std::uint64_t i) { return RandomStream(i, "x", 0, 0, 0); }))) < bound);
}

TEST_CASE("the ends of the interval are never reached") {
  // The largest and the smallest draw there can be, by the formula of uniform().
  const auto value = [](std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; };
  CHECK(value(~std::uint64_t{0}) < 1);
  CHECK(value(0) > 0);
  RandomStream stream(3, "ends");
  bool inside = true;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.uniform();
    inside = inside && x > 0 && x < 1;
  }
  CHECK(inside);
}
