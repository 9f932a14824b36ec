// Robust non-linear least squares for laws of kernel times: coefficients between bounds, relative errors, few outliers in charge of
// nothing. Deterministic: the same rows give the same coefficients on every run.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace marea::cost {

// Bounds of one coefficient and where the search starts. The search runs on log(value + near_zero), so a coefficient that may vanish needs
// near_zero > 0: below it, it counts as nothing.
struct Bounds {
  double start = 1;
  double least = 1e-3;
  double most = 1e3;
  double near_zero = 0;
};

struct FitOptions {
  double scale = 0.03;   // errors up to this count by their square, larger ones by their size
  int starts = 2;        // the second and later ones move every start coefficient by a keyed random draw
  int evaluations = 60;  // of the law and its slopes, for each start
};

// Predicts the seconds of rows [0, count) for given coefficients.
using Predict = std::function<void(std::span<const double> coefficients, std::span<double> seconds)>;

// The coefficients that minimise the sum over rows of the soft absolute value (sqrt form) of log(predicted / measured). Requires at least
// as many rows as coefficients, and positive times.
std::vector<double> robust_fit(std::span<const Bounds> bounds, std::span<const double> measured, const Predict& predict,
                               const FitOptions& options);

}  // namespace marea::cost
