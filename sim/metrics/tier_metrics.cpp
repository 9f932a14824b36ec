#include "sim/metrics/tier_metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace marea::metrics {

TierMetrics::TierMetrics(std::vector<ObservedTiers> replicas) : replicas_(std::move(replicas)) {
  for (const ObservedTiers& tiers : replicas_)
    for (const std::string& name : tiers.names) row(name);
}

TierMetrics::Row& TierMetrics::row(const std::string& name) {
  const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const Row& one) { return one.name == name; });
  if (at != rows_.end()) return *at;
  rows_.push_back({name});
  return rows_.back();
}

void TierMetrics::on(const cluster::CopyEnded& copy, const Window& window) {
  if (!window.contains(copy.at)) return;
  const ObservedTiers& tiers = replicas_[copy.replica.value];
  Row& moved = row(tiers.names[copy.tier]);
  (copy.load ? moved.read : moved.written) += copy.blocks * tiers.bytes_per_block;
  ++(copy.load ? moved.reads : moved.writes);
}

void TierMetrics::on(const cluster::StepHeldUp& step, const Window& window) {
  if (!window.contains(step.at)) return;
  held_up_ += step.wait;
  ++held_up_steps_;
}

void TierMetrics::on(const cluster::Standstill& standstill) {
  ++standstills_;
  standing_ = std::max(standing_, standstill.calls);
  first_standstill_ = std::min(first_standstill_, standstill.at);
}

void TierMetrics::on(const cluster::PreemptionAvalanche& avalanche) {
  ++avalanches_;
  avalanche_calls_ += avalanche.calls;
  largest_avalanche_ = std::max(largest_avalanche_, avalanche.calls);
}

void TierMetrics::on(const cluster::CallEnded& call) {
  if (call.scheduled == kNever) return;
  ++calls_;
  prompt_ += call.prompt;
  loaded_ += call.loaded;
}

void TierMetrics::report(Report& report, Duration window) const {
  if (std::all_of(replicas_.begin(), replicas_.end(), [](const ObservedTiers& tiers) { return tiers.names.empty(); })) return;
  report.ratio("tier_hit_rate", "", static_cast<double>(loaded_), static_cast<double>(prompt_), calls_);
  for (const Row& moved : rows_) {
    const std::string label = "tier=" + moved.name;
    report.value("tier_written_bytes", label, static_cast<double>(moved.written), moved.writes);
    report.value("tier_read_bytes", label, static_cast<double>(moved.read), moved.reads);
  }
  report.ratio("copy_stall_share", "", to_seconds(held_up_).count(), to_seconds(window).count() * static_cast<double>(replicas_.size()),
               held_up_steps_);
  report.value("standstills", "", static_cast<double>(standstills_), standstills_);
  report.value("preemption_avalanches", "", static_cast<double>(avalanches_), avalanches_);
}

std::vector<std::string> TierMetrics::warnings() const {
  std::vector<std::string> texts;
  if (standstills_ > 0)
    texts.push_back(fmt::format(
        "a replica stood still {} times, with up to {} calls waiting, first at {:.0f} s: calls whose context was loaded hold KV "
        "blocks behind one that needs "
        "more than are free, and nothing resolves that, as in vLLM; more HBM, shorter contexts or no tiers would",
        standstills_, standing_, to_seconds(since_start(first_standstill_)).count()));
  if (avalanches_ > 0)
    texts.push_back(
        fmt::format("{} schedules preempted several calls at once, {} in all, up to {}: with tiers and two batches in flight the blocks of "
                    "a preempted call come back "
                    "one step late, as in vLLM; serving.async: false or a watermark avoids it",
                    avalanches_, avalanche_calls_, largest_avalanche_));
  return texts;
}

}  // namespace marea::metrics
