// The one way in which any law is fitted: coefficients rounded as they will be written, errors of the rounded ones, whole shapes held out.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/cost/fit/robust_fit.h"
#include "sim/spec/fit_record.h"

namespace marea::cost {

// How a coefficient is written in a file.
enum class Notation : std::uint8_t { number, duration, bandwidth };

// A coefficient by its key in a block of `costs`; bounds in seconds, bytes per second or as a plain number.
struct Coefficient {
  std::string_view key;
  Notation notation = Notation::number;
  Bounds bounds;
};

// Four significant digits as a file states them ("3.246 us"), and the number that reading them gives.
std::string written(Notation notation, double value);
double rounded(Notation notation, double value);

// One measured case of a law. Cases with the same `shape` are held out together.
template <class Case>
struct Sample {
  Case work;
  double seconds = 0;
  std::uint64_t shape = 0;
};

// A law as the fit sees it. The first `basic` coefficients are those that a small table is fitted with; the others are then `neutral`.
template <class Case>
struct Law {
  std::vector<Coefficient> coefficients;
  std::size_t basic = 0;
  std::vector<double> neutral;
  // Makes a function from a case to seconds, for given coefficients.
  std::function<std::function<double(const Case&)>(std::span<const double>)> with;
};

struct Fitted {
  std::vector<double> values;
  bool basic = false;
  spec::FitRecord record;  // without ranges
};

inline constexpr std::size_t kFolds = 5;
inline constexpr std::size_t kFitRows = 4000;  // of a larger table a keyed choice is fitted; errors are of all rows
inline constexpr std::size_t kRowsPerCoefficient = 12;

spec::ErrorQuantiles quantiles(std::vector<double> errors);
// The fold of each row: shapes dealt in turn, in a keyed random order. `shapes` receives how many there are.
std::vector<std::size_t> deal_folds(const std::vector<std::uint64_t>& shape, std::size_t& shapes);
// At most kFitRows of the rows, a keyed random choice.
std::vector<std::size_t> thinned(std::vector<std::size_t> rows);

template <class Case>
std::vector<double> fit_rows(const Law<Case>& law, const std::vector<Sample<Case>>& samples, const std::vector<std::size_t>& rows,
                             std::size_t free, const std::vector<double>* start, const FitOptions& options) {
  std::vector<Bounds> bounds;
  for (std::size_t i = 0; i < free; ++i) {
    bounds.push_back(law.coefficients[i].bounds);
    if (start) bounds.back().start = std::clamp((*start)[i], bounds.back().least, bounds.back().most);
  }
  std::vector<double> measured;
  for (const std::size_t row : rows) measured.push_back(samples[row].seconds);
  const auto complete = [&](std::span<const double> values) {
    std::vector<double> all(values.begin(), values.end());
    all.insert(all.end(), law.neutral.begin() + static_cast<std::ptrdiff_t>(free), law.neutral.end());
    return all;
  };
  const Predict predict = [&](std::span<const double> values, std::span<double> seconds) {
    const auto at = law.with(complete(values));
    for (std::size_t i = 0; i < rows.size(); ++i) seconds[i] = at(samples[rows[i]].work);
  };
  std::vector<double> values = complete(robust_fit(bounds, measured, predict, options));
  constexpr double kNothing = 0.05;  // of what counts as nothing
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Bounds& limits = law.coefficients[i].bounds;
    values[i] = values[i] < kNothing * limits.near_zero ? limits.least : rounded(law.coefficients[i].notation, values[i]);
  }
  return values;
}

template <class Case>
void add_errors(const Law<Case>& law, const std::vector<Sample<Case>>& samples, const std::vector<double>& values,
                const std::vector<std::size_t>& rows, std::vector<double>& errors) {
  const auto at = law.with(values);
  for (const std::size_t row : rows) errors.push_back(std::abs(at(samples[row].work) / samples[row].seconds - 1));
}

// Fits a law and cross-validates it by whole shapes. Requires at least two rows for each basic coefficient and two shapes.
template <class Case>
Fitted fit_law(const Law<Case>& law, const std::vector<Sample<Case>>& samples) {
  std::vector<std::uint64_t> shape;
  for (const Sample<Case>& sample : samples) shape.push_back(sample.shape);
  std::size_t shapes = 0;
  const std::vector<std::size_t> fold_of = deal_folds(shape, shapes);
  check(shapes >= 2 && samples.size() >= 2 * law.basic, "a fit of too few rows");
  Fitted fitted;
  const std::size_t all = law.coefficients.size();
  fitted.basic = samples.size() < kRowsPerCoefficient * all || shapes < all;
  const std::size_t free = fitted.basic ? law.basic : all;
  std::vector<std::size_t> rows(samples.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  fitted.values = fit_rows(law, samples, thinned(rows), free, nullptr, {});
  std::vector<double> in_sample;
  add_errors(law, samples, fitted.values, rows, in_sample);
  std::vector<double> held_out;
  for (std::size_t fold = 0; fold < std::min(kFolds, shapes); ++fold) {
    std::vector<std::size_t> inside;
    std::vector<std::size_t> others;
    for (const std::size_t row : rows) (fold_of[row] == fold ? inside : others).push_back(row);
    if (others.size() < free) continue;
    FitOptions options;
    options.starts = 1;
    add_errors(law, samples, fit_rows(law, samples, thinned(others), free, &fitted.values, options), inside, held_out);
  }
  fitted.record.rows = static_cast<std::int64_t>(samples.size());
  fitted.record.shapes = static_cast<std::int64_t>(shapes);
  fitted.record.in_sample = quantiles(std::move(in_sample));
  fitted.record.held_out = quantiles(std::move(held_out));
  return fitted;
}

}  // namespace marea::cost
