// Load modes: who starts when, whatever the sessions are.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;
using test::load_of;
using namespace std::chrono_literals;

namespace {

const std::string kCall = ", program: {prompt: 1024 tok, output: 256 tok}}";

double seconds(std::optional<Time> time) { return to_seconds(since_start(time.value())).count(); }

// Arrivals before `end` in each part of `width` seconds.
std::vector<double> arrivals_by_part(const std::string& process, double width, std::size_t parts) {
  const auto load = load_of("{name: a, arrivals: " + process + kCall);
  std::vector<double> counts(parts);
  Session session;
  while (load->next_start() && seconds(load->next_start()) < width * static_cast<double>(parts)) {
    counts[static_cast<std::size_t>(seconds(load->next_start()) / width)] += 1;
    load->take(session);
  }
  return counts;
}

bool within(double count, double expected) {
  CAPTURE(count);
  CAPTURE(expected);
  return std::abs(count - expected) < 5 * std::sqrt(expected) + 1e-9;  // five standard deviations of a Poisson count
}

}  // namespace

TEST_CASE("open Poisson and gamma arrivals have the rate and the burstiness they were asked for") {
  for (const double cv : {1.0, 0.5, 2.0}) {
    const auto load =
        load_of(cv == 1.0 ? "{name: a, arrivals: {process: poisson, rate: 20 /s}" + kCall
                          : "{name: a, arrivals: {process: gamma, rate: 20 /s, burstiness: " + std::to_string(cv) + "}" + kCall);
    Session session;
    const int sessions = 40000;
    double last = 0, sum = 0, squares = 0;
    for (int i = 0; i < sessions; ++i) {
      const double now = seconds(load->next_start());
      sum += now - last;
      squares += (now - last) * (now - last);
      last = now;
      load->take(session);
      REQUIRE(session.index == static_cast<std::uint64_t>(i));
      REQUIRE(session.program[0].call.prompt == 1024);
      REQUIRE(kv::length(session.program[0].call.content) == 1280);
    }
    const double mean = sum / sessions, variance = squares / sessions - mean * mean;
    CHECK(std::abs(mean * 20 - 1) < 5 * cv / std::sqrt(sessions));
    // Relative variance of the sample variance of a gamma law: (2 + 6 cv^2) / n.
    CHECK(std::abs(variance * 400 / (cv * cv) - 1) < 5 * std::sqrt((2 + 6 * cv * cv) / sessions));
  }
}

TEST_CASE("a piecewise rate is met part by part and repeats with its period") {
  const auto counts = arrivals_by_part(
      "{process: piecewise, rates: [{from: 0 s, rate: 10 /s}, {from: 100 s, rate: 0 /s}, {from: 200 s, rate: 40 /s}], period: 300 s}", 100,
      6);
  CHECK(within(counts[0], 1000));
  CHECK(counts[1] == 0);
  CHECK(within(counts[2], 4000));
  CHECK(within(counts[3], 1000));
  CHECK(counts[4] == 0);
  CHECK(within(counts[5], 4000));
}

TEST_CASE("a rate that ends at zero ends the arrivals") {
  const auto load = load_of("{name: a, arrivals: {process: piecewise, rates: [{from: 0 s, rate: 1 /s}, {from: 5 s, rate: 0 /s}]}" + kCall);
  Session session;
  int count = 0;
  while (load->next_start()) {
    REQUIRE(seconds(load->next_start()) <= 5);
    load->take(session);
    REQUIRE(++count < 100);
  }
}

TEST_CASE("a diurnal rate swings about its mean") {
  // Quarters of a day about the peak at 6 h: the integral of 1 + 0.5 cos over a quarter about the peak is 1/4 + 0.5 sqrt(2) / (2 pi).
  const auto counts = arrivals_by_part("{process: diurnal, rate: 1 /s, swing: 0.5, peak: 6 h}", 43200, 2);
  const double half = 43200, extra = 0.5 * 86400 / 3.14159265358979;
  CHECK(within(counts[0], half + extra));
  CHECK(within(counts[1], half - extra));
}

TEST_CASE("lanes start evenly over the ramp, and again whenever a session has ended") {
  const auto load = load_of("{name: a, lanes: {count: 4, ramp: 40 s}" + kCall);
  Session session;
  CHECK(load->next_start() == kStart);
  load->take(session);
  CHECK(load->next_start() == kStart + 10s);
  load->ended(kStart + 3s);
  CHECK(load->next_start() == kStart + 3s);
  load->take(session);
  CHECK(session.index == 1);
  for (const auto start : {10s, 20s, 30s}) {
    CHECK(load->next_start() == kStart + start);
    load->take(session);
  }
  CHECK(!load->next_start());
  load->ended(kStart + 77s);
  CHECK(load->next_start() == kStart + 77s);
  CHECK(load->mode().starts_with("4 lanes"));
}

TEST_CASE("a limit of sessions ends every load") {
  const auto open = load_of("{name: a, sessions: 3, arrivals: {process: poisson, rate: 1 /s}" + kCall);
  Session session;
  for (int i = 0; i < 3; ++i) open->take(session);
  CHECK(!open->next_start());
  const auto lanes = load_of("{name: a, sessions: 3, lanes: {count: 2, ramp: 0 s}" + kCall);
  lanes->take(session);
  lanes->take(session);
  lanes->ended(kStart + 1s);
  lanes->ended(kStart + 2s);
  CHECK(!lanes->dry());
  lanes->take(session);
  CHECK(!lanes->next_start());
  CHECK(lanes->dry() == kStart + 2s);
}

TEST_CASE("a stationary load finds each session inside its life, with what is left of the wait that it is in") {
  // Each session is 25 ms of a call, 1000 s of a person and 25 ms of a call: nearly all are found waiting, with uniform remaining times.
  const std::string text =
      "{name: a, lanes: {count: 4000, ramp: 0 s}, program: {first_prompt: 5 tok, calls: 2, output: 1 tok, new_input: 3 tok, "
      "after_call: [{weight: 1, human: 1000 s}]}}";
  const auto load = load_of(text, "{}", 1, true);
  Session session;
  double left = 0;
  int waiting = 0;
  for (int i = 0; i < 4000; ++i) {
    REQUIRE(load->next_start() == kStart);
    load->take(session);
    const Step& first = session.program[0];
    if (first.kind != StepKind::human) continue;
    ++waiting;
    left += to_seconds(first.human.time).count();
    REQUIRE(num_vertices(session.program) == 2);
    REQUIRE(session.program[1].call.known == 0);
  }
  CHECK(waiting > 3980);
  CHECK(std::abs(left / waiting - 500) < 5 * 289 / std::sqrt(4000.0));  // uniform on [0, 1000): standard deviation 289
  CHECK(!load->next_start());
  load->ended(kStart + 1s);
  load->take(session);
  CHECK(session.index == 0);
  CHECK(num_vertices(session.program) == 3);
}

TEST_CASE("a stationary open load starts with as many sessions as rate times duration says") {
  const auto load = load_of(
      "{name: a, arrivals: {process: poisson, rate: 2 /s}, program: {first_prompt: 5 tok, calls: 2, output: 1 tok, new_input: 3 tok, "
      "after_call: [{weight: 1, human: 1000 s}]}}",
      "{}", 1, true);
  Session session;
  int inside = 0;
  while (load->next_start() == kStart) {
    load->take(session);
    ++inside;
  }
  CHECK(within(inside, 2 * 1000.05));
}

TEST_CASE("modes that do not fit are refused with what would") {
  const auto message = [](const std::string& text) { return test::error_of([&] { load_of(text); }); };
  const auto has = [](const std::string& text, std::string_view part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(message("{name: a, arrivals: recorded" + kCall), "needs a `trace`"));
  CHECK(has(message("{name: a, lanes: 1, arrivals: recorded" + kCall), "exactly one of `arrivals` and `lanes`"));
  CHECK(has(message("{name: a, lanes: 0" + kCall), "lanes"));
  CHECK(has(message("{name: a, arrivals: {process: poisson, rate: 0 /s}" + kCall), "must be above 0"));
  CHECK(has(message("{name: a, arrivals: {process: poison, rate: 1 /s}" + kCall), "poisson"));
  CHECK(has(message("{name: a, sharing: group, lanes: 1" + kCall), "add `group: NAME`"));
  CHECK(has(message("{name: a, lanes: 1, prority: 3" + kCall), "priority"));
  CHECK(has(message("{name: a, arrivals: recorded, trace: {format: weka, file: " MAREA_SOURCE_DIR "/tests/traffic/samples/weka.jsonl}}"),
            "records no times"));
}
