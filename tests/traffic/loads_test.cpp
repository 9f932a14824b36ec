// Load modes: who starts when, whatever the sessions are.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "tests/support/shared.h"
#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;
using test::load_of;
using namespace std::chrono_literals;

TEST_CASE("an open Poisson load of single calls has the rate, the variance and the contents it was asked for") {
  const auto load = load_of("{name: a, arrivals: {process: poisson, rate: 20 /s}, program: {prompt: 1024 tok, output: 256 tok}}");
  CHECK(load->mode() == "open poisson 20 /s");
  Session session;
  const int sessions = 100000;
  double last = 0, sum = 0, squares = 0;
  for (int i = 0; i < sessions; ++i) {
    const double now = to_seconds(since_start(*load->next_start())).count();
    sum += now - last;
    squares += (now - last) * (now - last);
    last = now;
    load->take(session);
    REQUIRE(session.index == static_cast<std::uint64_t>(i));
    const CallStep& call = session.program[0].call;
    REQUIRE(call.prompt == 1024);
    REQUIRE(call.output == 256);
    REQUIRE(kv::length(call.content) == 1280);
    REQUIRE(call.content.size() == 1);
    REQUIRE(session.shareable == 0);
  }
  // Mean of n exponential gaps of mean 1/20: standard error 1 / (20 sqrt n); of the variance: sqrt(8 / n) relatively. Five of them.
  const double mean = sum / sessions, variance = squares / sessions - mean * mean;
  CHECK(std::abs(mean * 20 - 1) < 5 / std::sqrt(sessions));
  CHECK(std::abs(variance * 400 - 1) < 5 * std::sqrt(8.0 / sessions));
}
