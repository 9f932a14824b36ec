// Writing coefficients, and the statistics of a fit.
#include "sim/cost/fit/law_fit.h"

#include <map>

#include "sim/base/decimal.h"
#include "sim/base/quantity.h"
#include "sim/base/random.h"

namespace marea::cost {

namespace {

// The decimal of four significant digits nearest to a value, as a text.
std::string four_digits(double value) {
  if (value == 0) return "0";
  const double digits = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  return shortest(digits >= 1 ? std::round(value * digits) / digits : std::round(value * digits) * std::round(1 / digits));
}

struct Scaled {
  double unit;
  int exponent;
  const char* name;
};

Scaled scale_of(Notation notation, double value) {
  switch (notation) {
    case Notation::duration:
      return value >= 1e-7 ? Scaled{1e6, -6, " us"} : Scaled{1e9, -9, " ns"};
    case Notation::bandwidth:
      return {1e-9, 9, " GB/s"};
    case Notation::number:
      break;
  }
  return {1, 0, ""};
}

}  // namespace

std::string written(Notation notation, double value) {
  const Scaled scaled = scale_of(notation, value);
  return four_digits(value * scaled.unit) + scaled.name;
}

double rounded(Notation notation, double value) {
  const Scaled scaled = scale_of(notation, value);
  const std::string text = four_digits(value * scaled.unit);
  const auto number = read_decimal(text);
  check(number.has_value(), "a coefficient that cannot be written");
  return nearest_double(Decimal{number->value.mantissa, number->value.exponent + scaled.exponent});
}

spec::ErrorQuantiles quantiles(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) { return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))]; };
  return {at(0.5), at(0.9), at(0.99)};
}

std::vector<std::size_t> deal_folds(const std::vector<std::uint64_t>& shape, std::size_t& shapes) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> order;  // by a random key, then by the shape itself
  const auto key = [](std::uint64_t one) { return std::pair{RandomStream(0, "folds of a fit", one).bits(), one}; };
  for (const std::uint64_t one : shape) order.emplace(key(one), 0);
  std::size_t next = 0;
  for (auto& [random, place] : order) place = next++;
  shapes = order.size();
  std::vector<std::size_t> fold;
  for (const std::uint64_t one : shape) fold.push_back(order.at(key(one)) % std::min(kFolds, shapes));
  return fold;
}

std::vector<std::size_t> thinned(std::vector<std::size_t> rows) {
  if (rows.size() <= kFitRows) return rows;
  std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
  for (const std::size_t row : rows) keyed.emplace_back(RandomStream(0, "rows of a fit", row).bits(), row);
  std::nth_element(keyed.begin(), keyed.begin() + static_cast<std::ptrdiff_t>(kFitRows), keyed.end());
  rows.clear();
  for (std::size_t i = 0; i < kFitRows; ++i) rows.push_back(keyed[i].second);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace marea::cost
