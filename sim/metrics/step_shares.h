// What the engines' time went to, part by part of a step, and how far the coefficients behind it can be trusted.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/cost/step_cost.h"
#include "sim/metrics/report.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

// Takes every 64th step of each replica apart, counted from its first, so the result does not depend on how runs of steps are cut.
class StepShares {
 public:
  // Costs by pool, and the pool of each replica. Without costs nothing is taken apart.
  StepShares(std::vector<cost::StepCost> costs, std::vector<std::size_t> pools)
      : costs_(std::move(costs)), pools_(std::move(pools)), rows_(pools_.size()) {}

  void on(const cluster::StepsRun& run, const Window& window);
  void report(Report& report) const;

 private:
  static constexpr std::int64_t kPeriod = 64;

  std::vector<cost::StepCost> costs_;
  std::vector<std::size_t> pools_;
  struct Row {
    std::int64_t steps = 0;  // so far
    std::int64_t sampled = 0;
    std::array<Seconds, cost::kComponents> component{};
    std::array<Seconds, spec::kStatuses> status{};
    std::array<std::int64_t, cost::kBeyond> beyond{};  // steps outside what was fitted, by respect
  };
  std::vector<Row> rows_;  // by replica: sums of doubles must not depend on how the steps of several replicas interleave
};

}  // namespace marea::metrics
