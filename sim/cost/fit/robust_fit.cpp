// Levenberg-Marquardt of Eigen over transformed coefficients and residuals.
#include "sim/cost/fit/robust_fit.h"

#include <unsupported/Eigen/NonLinearOptimization>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/error.h"
#include "sim/base/random.h"

namespace marea::cost {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

// A bounded coefficient as a free number z: log(value + near_zero) lies between its ends as sin(z) does between -1 and 1.
double value_of(const Bounds& bounds, double z) {
  const double low = std::log(bounds.least + bounds.near_zero);
  const double high = std::log(bounds.most + bounds.near_zero);
  return std::clamp(std::exp(low + (high - low) * (std::sin(z) + 1) / 2) - bounds.near_zero, bounds.least, bounds.most);
}

double free_of(const Bounds& bounds, double value) {
  constexpr double kInside = 0.98;  // at an end the slope is 0 and the search would never leave it
  const double low = std::log(bounds.least + bounds.near_zero);
  const double high = std::log(bounds.most + bounds.near_zero);
  return std::asin(std::clamp(2 * (std::log(value + bounds.near_zero) - low) / (high - low) - 1, -kInside, kInside));
}

// Residuals whose squares add up to the soft absolute value: 2 f^2 (sqrt(1 + (r / f)^2) - 1).
struct Problem {
  std::span<const Bounds> bounds;
  const VectorXd& log_measured;
  const Predict& predict;
  double scale;

  std::vector<double> values(const VectorXd& z) const {
    std::vector<double> out(bounds.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(bounds[i], z[static_cast<Index>(i)]);
    return out;
  }
  int operator()(const VectorXd& z, VectorXd& residuals) const {
    std::vector<double> seconds(static_cast<std::size_t>(log_measured.size()));
    predict(values(z), seconds);
    for (Index i = 0; i < residuals.size(); ++i) {
      const double r = (std::log(seconds[static_cast<std::size_t>(i)]) - log_measured[i]) / scale;
      const double soft = std::sqrt(2 * r * r / (std::sqrt(1 + r * r) + 1));
      residuals[i] = r < 0 ? -soft : soft;
    }
    return 0;
  }
  // Forward differences; the steps are small beside the scale on which laws bend.
  int df(const VectorXd& z, Eigen::MatrixXd& slopes) const {
    constexpr double kStep = 1e-5;
    VectorXd here(log_measured.size());
    VectorXd there(log_measured.size());
    (*this)(z, here);
    for (Index j = 0; j < z.size(); ++j) {
      VectorXd moved = z;
      moved[j] += kStep;
      (*this)(moved, there);
      slopes.col(j) = (there - here) / kStep;
    }
    return 0;
  }
  int inputs() const { return static_cast<int>(bounds.size()); }
  int values() const { return static_cast<int>(log_measured.size()); }
};

}  // namespace

std::vector<double> robust_fit(std::span<const Bounds> bounds, std::span<const double> measured, const Predict& predict,
                               const FitOptions& options) {
  check(measured.size() >= bounds.size() && !bounds.empty(), "a fit of more coefficients than rows");
  VectorXd log_measured(static_cast<Index>(measured.size()));
  for (std::size_t i = 0; i < measured.size(); ++i) log_measured[static_cast<Index>(i)] = std::log(measured[i]);
  Problem problem{bounds, log_measured, predict, options.scale};
  double best = std::numeric_limits<double>::infinity();
  VectorXd best_z;
  for (int start = 0; start < options.starts; ++start) {
    VectorXd z(static_cast<Index>(bounds.size()));
    RandomStream draws(0, "starts of a fit", static_cast<std::uint64_t>(start));
    for (std::size_t i = 0; i < bounds.size(); ++i)
      z[static_cast<Index>(i)] = free_of(bounds[i], bounds[i].start) + (start == 0 ? 0 : draws.uniform() - 0.5);
    Eigen::LevenbergMarquardt<Problem> solver(problem);
    solver.parameters.maxfev = options.evaluations;
    solver.parameters.ftol = 1e-7;
    solver.parameters.xtol = 1e-7;
    solver.minimize(z);
    if (solver.fnorm < best) {
      best = solver.fnorm;
      best_z = z;
    }
  }
  check(best_z.size() > 0, "a law that gave no number");
  return problem.values(best_z);
}

}  // namespace marea::cost
