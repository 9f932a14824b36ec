#include "sim/metrics/step_shares.h"

namespace marea::metrics {

void StepShares::on(const cluster::StepsRun& run, const Window& window) {
  if (costs_.empty()) return;
  Row& row = rows_[run.replica.value];
  const auto count = static_cast<std::int64_t>(run.ends.size());
  for (std::int64_t step = (kPeriod - row.steps % kPeriod) % kPeriod; step < count; step += kPeriod) {
    if (!window.contains(run.ends[static_cast<std::size_t>(step)])) continue;
    cost::StepSums sums = run.sums;
    sums.decode_context += step * sums.decode_sequences;
    const cost::Breakdown parts = costs_[pools_[run.replica.value]].breakdown(sums);
    for (std::size_t i = 0; i < row.component.size(); ++i) row.component[i] += parts.component[i];
    for (std::size_t i = 0; i < row.status.size(); ++i) row.status[i] += parts.status[i];
    const std::array<bool, cost::kBeyond> beyond = costs_[pools_[run.replica.value]].beyond(sums);
    for (std::size_t i = 0; i < beyond.size(); ++i) row.beyond[i] += beyond[i];
    ++row.sampled;
  }
  row.steps += count;
}

void StepShares::report(Report& report) const {
  Row all;
  Seconds total{};
  for (const Row& row : rows_) {
    all.sampled += row.sampled;
    for (std::size_t i = 0; i < row.component.size(); ++i) all.component[i] += row.component[i];
    for (std::size_t i = 0; i < row.status.size(); ++i) all.status[i] += row.status[i];
    for (std::size_t i = 0; i < row.beyond.size(); ++i) all.beyond[i] += row.beyond[i];
  }
  for (const Seconds part : all.component) total += part;
  for (std::size_t i = 0; i < all.component.size(); ++i) {
    const std::string label = "component=" + std::string(name(static_cast<cost::Component>(i)));
    report.ratio("step_time_share", label, all.component[i].count(), total.count(), all.sampled);
  }
  for (std::size_t i = 0; i < all.status.size(); ++i) {
    const std::string label = "status=" + std::string(name(static_cast<spec::Status>(i)));
    report.ratio("step_time_share", label, all.status[i].count(), total.count(), all.sampled);
  }
  for (std::size_t i = 0; i < all.beyond.size(); ++i) {
    const std::string label = "reason=" + std::string(name(static_cast<cost::Beyond>(i)));
    report.ratio("steps_beyond_fit_share", label, static_cast<double>(all.beyond[i]), static_cast<double>(all.sampled), all.sampled);
  }
}

}  // namespace marea::metrics
