// When the sessions of an open load arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/random.h"
#include "sim/base/section.h"
#include "sim/base/time.h"

namespace marea::traffic {

namespace arrivals {

// Independent exponential gaps.
struct Poisson {
  double rate = 0;  // /s, as all rates here
};

// Independent gamma gaps; burstiness is their coefficient of variation (1: Poisson).
struct Gamma {
  double rate = 0;
  double burstiness = 1;
};

// Poisson with a rate that is constant between instants. `period` repeats the pattern; 0: the last rate goes on.
struct Piecewise {
  struct Part {
    double from = 0;  // s
    double rate = 0;
  };
  std::vector<Part> parts;  // the first from 0
  double period = 0;        // s
};

// Poisson with rate mean x (1 + swing x cos(2 pi (t - peak) / period)).
struct Diurnal {
  double mean = 0;
  double swing = 0;  // 0..1
  double period = 86400;
  double peak = 0;
};

}  // namespace arrivals

struct ArrivalSpec {
  std::variant<arrivals::Poisson, arrivals::Gamma, arrivals::Piecewise, arrivals::Diurnal> process;

  // {process: poisson, rate} | {process: gamma, rate, burstiness} | {process: piecewise, rates: [{from, rate}, ...], period}
  // | {process: diurnal, rate, swing, period, peak}. `rate` of diurnal is the mean.
  static ArrivalSpec read(const Value& value);

  double rate_at_start() const;  // /s, at time 0
  std::string describe() const;  // "poisson 0.05 /s"
};

// The arrival times of one class, one after another. Each is a function of (seed, class, number), whatever else is drawn.
class Arrivals {
 public:
  Arrivals(ArrivalSpec spec, std::uint64_t seed, std::uint32_t traffic) : spec_(std::move(spec)), seed_(seed), traffic_(traffic) {}

  // The next arrival; nothing when none will come within the range of the clock (a rate that ends at 0).
  std::optional<Time> next();

 private:
  ArrivalSpec spec_;
  std::uint64_t seed_;
  std::uint32_t traffic_;
  std::uint64_t number_ = 0;
  double sum_ = 0;  // seconds, or expected arrivals so far where the rate varies
};

}  // namespace marea::traffic
