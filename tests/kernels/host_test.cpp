// The kernels of the host backend against their references, and the references against what a pencil says.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "kernels/backend.h"
#include "kernels/draws.h"
#include "kernels/host/kernel.h"
#include "kernels/reference.h"
#include "tests/kernels/support.h"

using namespace marea::probe;
using marea::probe::test::Folder;

TEST_CASE("the relative norm sees differences, and NaN stays NaN") {
  RelativeNorm norm;
  CHECK(std::isnan(norm.value()));
  norm.add(3, 3);
  norm.add(4.5, 4);
  CHECK(norm.value() == doctest::Approx(0.1));  // 0.5 / sqrt(9 + 16)
  norm.add(std::nan(""), 1);
  CHECK(std::isnan(norm.value()));
}

TEST_CASE("the reference attention weighs values by the softmax of the scores") {
  // Scores 0 and ln 3: weights 1/4 and 3/4.
  const RowOf key = [](std::int64_t token, std::span<float> out) { out[0] = token == 0 ? 0.0f : std::log(3.0f), out[1] = 0; };
  const RowOf value = [](std::int64_t token, std::span<float> out) { out[0] = token == 0 ? 8.0f : 4.0f; };
  const std::vector<float> query = {2, 5};
  CHECK(attend(query, {0, 2, 0.5}, key, value, 1)[0] == doctest::Approx(5));
  CHECK(attend(query, {1, 2, 0.5}, key, value, 1)[0] == doctest::Approx(4));  // sees the second key alone
}

TEST_CASE("the references of the small kernels") {
  const std::vector<float> input = {1, 2}, residual = {2, 2}, gain = {1, 10};
  const std::vector<double> normed = add_and_norm(input, residual, gain, 0);
  CHECK(normed[0] == doctest::Approx(3 / std::sqrt(12.5)));  // (3, 4), root mean square sqrt(25 / 2)
  CHECK(normed[1] == doctest::Approx(40 / std::sqrt(12.5)));
  const std::vector<float> head = {1, 0, 0, 2};
  const std::vector<double> turned = rotate(head, 3, 100);  // angles 3 and 3 / sqrt(100)
  CHECK(turned[0] == doctest::Approx(std::cos(3.0)));
  CHECK(turned[2] == doctest::Approx(std::sin(3.0)));
  CHECK(turned[1] == doctest::Approx(-2 * std::sin(0.3)));
  CHECK(turned[3] == doctest::Approx(2 * std::cos(0.3)));
  CHECK(gated(0, 7) == 0);
  CHECK(gated(std::log(3.0), 2) == doctest::Approx(2 * 0.75 * std::log(3.0)));
}

TEST_CASE("draws are a function of their place, spread over [-1, 1) and different for seeds and arrays") {
  std::vector<float> row(4096), part(4);
  draw_row(5, Array::key, 0, row);
  draw_row(5, Array::key, 128, part);
  CHECK(std::memcmp(part.data(), row.data() + 128, 16) == 0);
  double sum = 0, squares = 0;
  for (const float one : row) {
    CHECK_UNARY(one >= -1 && one < 1);
    sum += one;
    squares += one * one;
  }
  CHECK(std::abs(sum / 4096) < 4 * 0.577 / 64);  // four standard errors of a uniform mean
  CHECK(squares / 4096 == doctest::Approx(1.0 / 3).epsilon(0.06));
  std::vector<float> other(4096);
  draw_row(6, Array::key, 0, other);
  CHECK(other != row);
  draw_row(5, Array::value, 0, other);
  CHECK(other != row);
}

TEST_CASE("widening bf16 gives the value that Eigen reads") {
  std::vector<float> row(64), wide(64);
  draw_row(9, Array::input, 0, row);
  std::vector<host::Bfloat> narrow;
  for (const float one : row) narrow.push_back(host::Bfloat(one * 1e3f));
  host::widen(narrow.data(), 64, wide.data());
  for (std::size_t i = 0; i < 64; ++i) CHECK(wide[i] == static_cast<float>(narrow[i]));
}

TEST_CASE("every kernel of the host agrees with its reference on odd shapes, with any seed") {
  const Folder folder("host");
  const std::unique_ptr<Backend> backend = make_host_backend(folder.file("."));
  const std::vector<Case> cases = backend->check_cases();
  REQUIRE(cases.size() >= 20);
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0x123456789abcdef}})
    for (const Case& one : cases) {
      CAPTURE(describe(one));
      const std::unique_ptr<Kernel> kernel = backend->prepare(one, seed);
      kernel->poison();
      CHECK_FALSE(kernel->error() <= kernel->tolerance());  // before the run nothing can be right
      kernel->run();
      CHECK(kernel->error() <= kernel->tolerance());
      kernel->run();  // and again: a sample does not spoil the next
      CHECK(kernel->error() <= kernel->tolerance());
      CHECK(kernel->sample().seconds > 0);
    }
}

TEST_CASE("what the host has no kernel for is refused with its reason") {
  const std::unique_ptr<Backend> backend = make_host_backend(".");
  Case one{.operation = Operation::gemm, .format = "fp8"};
  one.m = 1, one.n = 4, one.k = 4;
  CHECK_THROWS_WITH_AS(backend->prepare(one, 1), "no dense layer in fp8 on the host", Unsupported);
  CHECK_THROWS_WITH_AS(backend->prepare({.operation = Operation::graph_launch}, 1), "the host has no kernel for graph_launch", Unsupported);
}

TEST_CASE("no case is listed twice, coarse or quick") {
  const std::unique_ptr<Backend> backend = make_host_backend(".");
  for (const bool quick : {false, true}) {
    const std::vector<Case> cases = backend->cases(quick);
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        CAPTURE(describe(cases[i]));
        CHECK_FALSE(cases[i] == cases[j]);
      }
  }
}
