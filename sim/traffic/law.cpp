// Quantile functions of the distributions, and how they are written in YAML.
#include "sim/traffic/law.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <charconv>
#include <cmath>

#include "sim/base/quantity.h"

namespace marea::traffic {
namespace {

const std::vector<std::string> kNames{"fixed", "uniform", "exponential", "lognormal", "gamma", "quantiles", "empirical"};
constexpr double kMostDuration = 100.0 * 365 * 86400 * 1e9;  // 100 years in ns

double normal_score(double u) { return boost::math::quantile(boost::math::normal_distribution<double>(), u); }

// The probability that a key such as p50 or p99.9 names; nothing when it is not of that form.
std::optional<double> probability(const std::string& key) {
  double percent = 0;
  if (key.size() < 2 || key[0] != 'p') return std::nullopt;
  const auto [end, error] = std::from_chars(key.data() + 1, key.data() + key.size(), percent, std::chars_format::fixed);
  if (error != std::errc{} || end != key.data() + key.size() || !(percent > 0 && percent < 100)) return std::nullopt;
  return percent / 100;
}

}  // namespace

namespace laws {

double Uniform::quantile(double u) const { return whole ? std::min(to, from + std::floor(u * (to - from + 1))) : from + u * (to - from); }
double Exponential::quantile(double u) const { return -mean * std::log1p(-u); }
double Lognormal::quantile(double u) const { return std::exp(mu + sigma * normal_score(u)); }
double Gamma::quantile(double u) const { return boost::math::quantile(boost::math::gamma_distribution<double>(shape, scale), u); }
double Quantiles::quantile(double u) const {
  const double score = normal_score(u);
  const auto above = std::upper_bound(scores.begin(), scores.end(), score) - scores.begin();
  const auto right = std::clamp<std::ptrdiff_t>(above, 1, static_cast<std::ptrdiff_t>(scores.size()) - 1);
  const auto i = static_cast<std::size_t>(right);
  const double slope = (logs[i] - logs[i - 1]) / (scores[i] - scores[i - 1]);
  return std::exp(logs[i - 1] + slope * (score - scores[i - 1]));
}
double Empirical::quantile(double u) const {
  const auto i = static_cast<std::size_t>(u * static_cast<double>(values.size()));
  return values[std::min(i, values.size() - 1)];
}

}  // namespace laws

Law Law::fixed(double value, Measure measure) {
  Law law;
  law.measure_ = measure;
  law.least_ = measure == Measure::duration ? 0 : 1;
  law.law_ = laws::Fixed{value};
  return law;
}

double Law::draw(double u) const {
  const double value = std::visit([u](const auto& law) { return law.quantile(u); }, law_);
  return std::clamp(value, least_, std::max(least_, most_));
}

std::int64_t Law::count(double u) const {
  const double value = std::round(draw(u));
  if (!(value <= static_cast<double>(kMostTokens))) too_large(value);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(value));
}

Duration Law::duration(double u) const {
  const double value = draw(u);
  if (!(value <= kMostDuration)) too_large(value);
  return Duration{static_cast<Duration::rep>(std::round(value))};
}

void Law::too_large(double value) const {
  throw ConfigError(mark_, path_,
                    measure_ == Measure::duration
                        ? fmt::format("a draw of {:.3g} s is beyond 100 years; add a `max` to the distribution", value * 1e-9)
                        : fmt::format("a draw of {:.3g} is beyond {}; add a `max` to the distribution", value, kMostTokens));
}

double Law::one(const Value& value) const {
  switch (measure_) {
    case Measure::tokens: {
      const Tokens tokens = value.tokens(Tokens{1});
      if (tokens.value > kMostTokens) value.fail(fmt::format("at most {} tokens are accepted", kMostTokens));
      return static_cast<double>(tokens.value);
    }
    case Measure::count:
      return value.number(0, static_cast<double>(kMostTokens));
    case Measure::duration:
      break;
  }
  const Duration duration = value.duration();
  if (static_cast<double>(duration.count()) > kMostDuration) value.fail("at most 100 years are accepted");
  return static_cast<double>(duration.count());
}

Law Law::read(const Value& value, Measure measure) {
  Law law;
  law.measure_ = measure;
  law.mark_ = value.mark();
  law.path_ = value.path();
  law.least_ = measure == Measure::duration ? 0 : 1;
  if (!value.is_map()) {
    law.read_named("fixed", value);
    return law;
  }
  Section section(value);
  const auto named = section.rest();
  if (named.size() != 1) value.fail("exactly one distribution is expected: " + fmt::format("{}", fmt::join(kNames, ", ")));
  const auto& [name, inner] = named.front();
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    const std::string near = nearest(name, kNames);
    inner.fail(near.empty() ? fmt::format("unknown distribution `{}`; known: {}", name, fmt::join(kNames, ", "))
                            : fmt::format("unknown distribution `{}`; did you mean `{}`?", name, near));
  }
  law.read_named(name, inner);
  return law;
}

void Law::read_named(const std::string& name, const Value& value) {
  if (name == "fixed") {
    law_ = laws::Fixed{measure_ == Measure::count ? static_cast<double>(value.integer(1, kMostTokens)) : one(value)};
    return;
  }
  if (name == "uniform" || name == "empirical") {
    std::vector<double> values;
    for (const Value& item : value.items()) {
      values.push_back(measure_ == Measure::count ? static_cast<double>(item.integer(1, kMostTokens)) : one(item));
    }
    if (name == "uniform") {
      if (values.size() != 2 || values[0] > values[1]) value.fail("two values are expected, the smaller first: [A, B]");
      law_ = laws::Uniform{values[0], values[1], measure_ != Measure::duration};
    } else {
      if (values.empty()) value.fail("at least one value is expected");
      std::sort(values.begin(), values.end());
      law_ = laws::Empirical{std::move(values)};
    }
    return;
  }
  Section section(value);
  const auto positive = [&](std::string_view key) {
    const Value given = section.required(key);
    const double x = one(given);
    if (x <= 0) given.fail("must be above 0");
    return x;
  };
  const auto most = section.optional("max");
  if (most) most_ = one(*most);
  if (name == "exponential") {
    law_ = laws::Exponential{positive("mean")};
  } else if (name == "gamma") {
    const double mean = positive("mean");
    const double cv = section.required("cv").number(0.01, 100);
    law_ = laws::Gamma{1 / (cv * cv), mean * cv * cv};
  } else if (name == "lognormal") {
    const bool by_mean = section.has("mean");
    const double middle = positive(by_mean ? "mean" : "p50");
    double sigma = 0;
    if (by_mean || section.has("sigma")) {
      sigma = section.required("sigma").number(0, 10);
    } else {
      const Value p90 = section.required("p90");
      const double high = one(p90);
      if (high < middle) p90.fail("p90 must not be below p50");
      sigma = std::log(high / middle) / normal_score(0.9);
    }
    law_ = laws::Lognormal{std::log(middle) - (by_mean ? sigma * sigma / 2 : 0), sigma};
  } else {
    if (!most) section.required("max");
    if (const auto least = section.optional("min")) least_ = std::max(least_, one(*least));
    laws::Quantiles table;
    std::vector<std::pair<double, double>> rows;
    for (const auto& [key, given] : section.rest()) {
      const auto p = probability(key);
      if (!p) given.fail(fmt::format("`{}` is not a percentile; p50, p99 or p99.9 are, beside min and max", key));
      const double x = one(given);
      if (x <= 0) given.fail("must be above 0: the logarithm is interpolated");
      rows.emplace_back(*p, x);
    }
    std::sort(rows.begin(), rows.end());
    if (rows.size() < 2) value.fail("at least two percentiles are expected, such as p50 and p90");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0 && rows[i].first == rows[i - 1].first) value.fail(fmt::format("p{:g} is given twice", rows[i].first * 100));
      if (i > 0 && rows[i].second < rows[i - 1].second) value.fail(fmt::format("p{:g} is below a lower percentile", rows[i].first * 100));
      table.scores.push_back(normal_score(rows[i].first));
      table.logs.push_back(std::log(rows[i].second));
    }
    if (most_ < rows.back().second) most->fail("max must not be below the highest percentile");
    law_ = std::move(table);
  }
  if (most && most_ < least_) most->fail("max must not be below the least value");
  section.close();
}

}  // namespace marea::traffic
