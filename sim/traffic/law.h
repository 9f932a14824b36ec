// Distributions of lengths, counts and durations, each drawn by the inverse transform of one uniform number, so that the same uniform gives
// the same place in the distribution whatever its parameters are.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/section.h"
#include "sim/traffic/limits.h"

namespace marea::traffic {

enum class Measure { tokens, count, duration };

namespace laws {

struct Fixed {
  double value = 0;
  double quantile(double) const { return value; }
};

// Whole numbers from..to with equal chances for counts and tokens; continuous for durations.
struct Uniform {
  double from = 0, to = 0;
  bool whole = false;
  double quantile(double u) const;
};

struct Exponential {
  double mean = 0;
  double quantile(double u) const;
};

struct Lognormal {
  double mu = 0, sigma = 0;  // of the natural logarithm
  double quantile(double u) const;
};

struct Gamma {
  double shape = 1, scale = 1;
  double quantile(double u) const;
};

// Interpolates the logarithm of the value over the normal score of the probability; beyond the table the outer slopes go on.
struct Quantiles {
  std::vector<double> scores, logs;  // at least two, increasing
  double quantile(double u) const;
};

struct Empirical {
  std::vector<double> values;  // sorted
  double quantile(double u) const;
};

}  // namespace laws

class Law {
 public:
  // A bare value is `fixed`. Otherwise a map with one of
  //   fixed: X | uniform: [A, B] | exponential: {mean} | lognormal: {p50, p90} or {p50 or mean, sigma} | gamma: {mean, cv}
  //   | quantiles: {p50, p90, p99, max} (any pNN, at least two; max required, min optional) | empirical: [values]
  // The unbounded ones take a `max` too, to which longer draws are cut.
  // Tokens and counts are at least 1, durations at least 0.
  static Law read(const Value& value, Measure measure);
  static Law fixed(double value, Measure measure);

  // Tokens or a count: rounded to the nearest, at least 1. Throws ConfigError for a draw above 100 million (the law needs a `max`).
  std::int64_t count(double u) const;
  // Rounded to the clock. Throws ConfigError for a draw above 100 years.
  Duration duration(double u) const;
  bool is_fixed() const { return std::holds_alternative<laws::Fixed>(law_); }

 private:
  Law() = default;
  double draw(double u) const;
  void read_named(const std::string& name, const Value& value);
  double one(const Value& value) const;  // a single value in the measure's unit; nanoseconds for durations
  [[noreturn]] void too_large(double value) const;

  Measure measure_ = Measure::count;
  std::variant<laws::Fixed, laws::Uniform, laws::Exponential, laws::Lognormal, laws::Gamma, laws::Quantiles, laws::Empirical> law_;
  double least_ = 0;
  double most_ = 1e300;
  Mark mark_;
  std::string path_;
};

}  // namespace marea::traffic
