#include "sim/metrics/engine_metrics.h"

#include <algorithm>
#include <span>

namespace marea::metrics {

void EngineMetrics::on(const cluster::StepsRun& run, const Window& window) {
  if (run.ends.empty()) return;
  busy_[run.replica.value] += window.overlap(run.start, run.ends.back());
  std::span<const Time> ends = run.ends;
  Time previous = run.start;
  if (!window.contains(ends.front()) || !window.contains(ends.back())) {
    const auto first = std::lower_bound(ends.begin(), ends.end(), window.start);
    const auto past = std::lower_bound(first, ends.end(), window.end);
    if (first == past) return;
    if (first != ends.begin()) previous = *(first - 1);
    ends = {first, past};
  }
  const auto steps = static_cast<std::int64_t>(ends.size());
  steps_ += steps;
  step_time_ += ends.back() - previous;
  sequences_ += steps * (run.sums.decode_sequences + run.sums.prefill_sequences);
  tokens_ += steps * run.sums.tokens;
  prefill_tokens_ += steps * run.sums.prefill_tokens;
  for (std::size_t c = 0; c < run.gaps_by_class.size(); ++c) {
    const std::int64_t gaps = run.gaps_by_class[c];
    if (gaps == 0) continue;
    Sketch& itl = classes_[c].itl;
    Time before = previous;
    for (const Time end : ends) {
      itl.add((end - before).count(), gaps);
      before = end;
    }
  }
}

void EngineMetrics::on(const cluster::LongGap& gap, const Window& window) {
  if (window.contains(gap.at)) classes_[gap.traffic.value].itl.add(gap.gap.count());
}

void EngineMetrics::on(const cluster::CallEnded& call, const Window& window) {
  if (!window.contains(call.first_token)) return;
  Row& row = classes_[call.traffic.value];
  ++row.first_tokens;
  row.prompt += call.prompt;
}

void EngineMetrics::report_row(Report& report, const std::string& label, const Row& row, double seconds) {
  report.distribution("itl", label, row.itl);
  report.ratio("output_token_throughput", label, static_cast<double>(row.tokens()), seconds, row.tokens());
  report.ratio("prompt_token_throughput", label, static_cast<double>(row.prompt), seconds, row.first_tokens);
}

void EngineMetrics::report(Report& report, const std::vector<std::string>& classes, Duration window) const {
  const double seconds = to_seconds(window).count();
  Row total;
  for (const Row& row : classes_) {
    total.itl.merge(row.itl);
    total.first_tokens += row.first_tokens;
    total.prompt += row.prompt;
  }
  report_row(report, "", total, seconds);
  for (std::size_t c = 0; c < classes_.size(); ++c) report_row(report, "class=" + classes[c], classes_[c], seconds);

  const auto steps = static_cast<double>(steps_);
  report.value("evicted_blocks", "", static_cast<double>(evicted_blocks_), 1);
  report.value("engine_steps", "", steps, steps_);
  report.ratio("step_time", "", to_seconds(step_time_).count(), steps, steps_);
  report.ratio("batch_size", "", static_cast<double>(sequences_), steps, steps_);
  report.ratio("step_tokens", "", static_cast<double>(tokens_), steps, steps_);
  report.ratio("prefill_token_throughput", "", static_cast<double>(prefill_tokens_), seconds, steps_);
  Duration all{};
  for (const Duration busy : busy_) all += busy;
  report.ratio("busy_share", "", to_seconds(all).count(), seconds * static_cast<double>(busy_.size()), steps_);
  for (std::size_t r = 0; r < busy_.size(); ++r)
    report.ratio("busy_share", "replica=" + std::to_string(r), to_seconds(busy_[r]).count(), seconds, 1);
}

}  // namespace marea::metrics
