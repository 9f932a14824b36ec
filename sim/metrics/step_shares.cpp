#include "sim/metrics/step_shares.h"

namespace marea::metrics {

void StepShares::on(const cluster::StepsRun& run, const Window& window) {
  if (costs_.empty()) return;
  std::int64_t& steps = steps_[run.replica.value];
  const auto count = static_cast<std::int64_t>(run.ends.size());
  for (std::int64_t step = (kPeriod - steps % kPeriod) % kPeriod; step < count; step += kPeriod) {
    if (!window.contains(run.ends[static_cast<std::size_t>(step)])) continue;
    cost::StepSums sums = run.sums;
    sums.decode_context += step * sums.decode_sequences;
    const cost::Breakdown parts = costs_[pools_[run.replica.value]].breakdown(sums);
    for (std::size_t i = 0; i < component_.size(); ++i) component_[i] += parts.component[i];
    for (std::size_t i = 0; i < status_.size(); ++i) status_[i] += parts.status[i];
    ++sampled_;
  }
  steps += count;
}

void StepShares::report(Report& report) const {
  Seconds total{};
  for (const Seconds part : component_) total += part;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    report.ratio("step_time_share", "component=" + std::string(name(static_cast<cost::Component>(i))), component_[i].count(), total.count(), sampled_);
  }
  for (std::size_t i = 0; i < status_.size(); ++i) {
    report.ratio("step_time_share", "status=" + std::string(name(static_cast<spec::Status>(i))), status_[i].count(), total.count(), sampled_);
  }
}

}  // namespace marea::metrics
