// Arrival processes by inversion: a unit-rate Poisson process mapped through the inverse of the integrated rate.
#include "sim/traffic/arrivals.h"

#include <fmt/format.h>

#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <numbers>

#include "sim/base/quantity.h"

namespace marea::traffic {
namespace {

constexpr double kLatest = 3e9;  // seconds: leaves room on the clock for what comes after an arrival
constexpr double kTurn = 2 * std::numbers::pi;

// Time at which the integrated rate reaches `expected`.
double invert(const arrivals::Piecewise& process, double expected) {
  double per_period = 0;
  if (process.period > 0) {
    for (std::size_t i = 0; i < process.parts.size(); ++i) {
      const double end = i + 1 < process.parts.size() ? process.parts[i + 1].from : process.period;
      per_period += (end - process.parts[i].from) * process.parts[i].rate;
    }
  }
  const double periods = per_period > 0 ? std::floor(expected / per_period) : 0;
  double left = expected - periods * per_period;
  for (std::size_t i = 0; i < process.parts.size(); ++i) {
    const auto& part = process.parts[i];
    const bool last = i + 1 == process.parts.size();
    const double end = !last ? process.parts[i + 1].from : process.period > 0 ? process.period : kLatest * 2;
    const double here = (end - part.from) * part.rate;
    if (left < here || (last && process.period > 0)) return periods * process.period + (part.rate > 0 ? part.from + left / part.rate : end);
    left -= here;
  }
  return kLatest * 2;
}

double invert(const arrivals::Diurnal& process, double expected) {
  const auto integral = [&](double t) {
    const double wave = std::sin(kTurn * (t - process.peak) / process.period) + std::sin(kTurn * process.peak / process.period);
    return process.mean * (t + process.swing * process.period / kTurn * wave);
  };
  // The wave is at most 2, so the answer lies within swing x period / pi of that of the mean rate; bisection needs no slope above 0.
  const double middle = expected / process.mean;
  double low = std::max(0.0, middle - process.period), high = middle + process.period;
  for (int i = 0; i < 80 && low < high; ++i) {
    const double t = (low + high) / 2;
    (integral(t) < expected ? low : high) = t;
  }
  return high;
}

double exponential(double u) { return -std::log(u); }

}  // namespace

std::optional<Time> Arrivals::next() {
  const double u = RandomStream(seed_, "arrival", traffic_, number_++).uniform();
  double at = 0;
  if (const auto* poisson = std::get_if<arrivals::Poisson>(&spec_.process)) {
    at = sum_ += exponential(u) / poisson->rate;
  } else if (const auto* gamma = std::get_if<arrivals::Gamma>(&spec_.process)) {
    const double variance = gamma->burstiness * gamma->burstiness;
    at = sum_ += boost::math::quantile(boost::math::gamma_distribution<double>(1 / variance, variance / gamma->rate), u);
  } else {
    sum_ += exponential(u);
    const auto* piecewise = std::get_if<arrivals::Piecewise>(&spec_.process);
    at = piecewise ? invert(*piecewise, sum_) : invert(std::get<arrivals::Diurnal>(spec_.process), sum_);
  }
  if (!(at < kLatest)) return std::nullopt;
  return kStart + to_clock(Seconds{at});
}

double ArrivalSpec::rate_at_start() const {
  if (const auto* poisson = std::get_if<arrivals::Poisson>(&process)) return poisson->rate;
  if (const auto* gamma = std::get_if<arrivals::Gamma>(&process)) return gamma->rate;
  if (const auto* piecewise = std::get_if<arrivals::Piecewise>(&process)) return piecewise->parts.front().rate;
  const auto& diurnal = std::get<arrivals::Diurnal>(process);
  return diurnal.mean * (1 + diurnal.swing * std::cos(kTurn * diurnal.peak / diurnal.period));
}

std::string ArrivalSpec::describe() const {
  if (const auto* poisson = std::get_if<arrivals::Poisson>(&process)) return "poisson " + show(Rate{poisson->rate});
  if (const auto* gamma = std::get_if<arrivals::Gamma>(&process))
    return fmt::format("gamma {}, burstiness {:g}", show(Rate{gamma->rate}), gamma->burstiness);
  if (const auto* piecewise = std::get_if<arrivals::Piecewise>(&process))
    return fmt::format("piecewise, {} rates", piecewise->parts.size());
  const auto& diurnal = std::get<arrivals::Diurnal>(process);
  return fmt::format("diurnal {}, swing {:g}", show(Rate{diurnal.mean}), diurnal.swing);
}

ArrivalSpec ArrivalSpec::read(const Value& value) {
  Section section(value);
  const auto positive_rate = [&](std::string_view key) {
    const Value given = section.required(key);
    const double rate = given.rate().value;
    if (!(rate > 1e-9)) given.fail("must be above 0 (at least one in 30 years): with no arrivals there is nothing to simulate");
    if (rate > 1e9) given.fail("must be at most 1e9 /s: the clock counts nanoseconds");
    return rate;
  };
  const auto seconds = [](const Value& given) { return to_seconds(given.duration()).count(); };
  ArrivalSpec spec;
  const std::string kind = section.required("process").one_of({"poisson", "gamma", "piecewise", "diurnal"}, "arrival process");
  if (kind == "poisson") {
    spec.process = arrivals::Poisson{positive_rate("rate")};
  } else if (kind == "gamma") {
    const double rate = positive_rate("rate");
    spec.process = arrivals::Gamma{rate, section.required("burstiness").number(0.01, 100)};
  } else if (kind == "piecewise") {
    arrivals::Piecewise process;
    const Value rates = section.required("rates");
    double total = 0;
    for (const Value& item : rates.items()) {
      Section part(item);
      const Value from = part.required("from");
      const Value rate = part.required("rate");
      process.parts.push_back({seconds(from), rate.rate().value});
      if (rate.rate().value > 1e9) rate.fail("must be at most 1e9 /s: the clock counts nanoseconds");
      part.close();
      const std::size_t n = process.parts.size();
      if (n == 1 && process.parts[0].from != 0) from.fail("the first rate must be from 0 s");
      if (n > 1 && process.parts[n - 1].from <= process.parts[n - 2].from) from.fail("must be later than the one before");
      total += process.parts.back().rate;
    }
    if (!(total > 1e-9)) rates.fail("at least one rate must be above 0");
    if (const auto period = section.optional("period")) {
      process.period = seconds(*period);
      if (process.period <= process.parts.back().from) period->fail("must be later than the last `from`");
    }
    spec.process = std::move(process);
  } else {
    arrivals::Diurnal process;
    process.mean = positive_rate("rate");
    process.swing = section.required("swing").fraction();
    if (const auto period = section.optional("period")) {
      process.period = seconds(*period);
      if (process.period <= 0) period->fail("must be above 0 s");
    }
    if (const auto peak = section.optional("peak")) process.peak = seconds(*peak);
    spec.process = process;
  }
  section.close();
  return spec;
}

}  // namespace marea::traffic
