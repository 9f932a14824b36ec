#include "sim/metrics/cache_metrics.h"

#include <numeric>

namespace marea::metrics {

void CacheMetrics::on(const cluster::CallEnded& call) {
  if (call.scheduled == kNever) return;
  Row& row = rows_[call.traffic.value];
  ++row.calls;
  row.prompt += call.prompt;
  row.hit += call.hit;
  row.known += call.known;
  for (std::size_t cause = 0; cause < row.lost.size(); ++cause) row.lost[cause] += call.lost[cause];
}

std::int64_t CacheMetrics::Row::all_lost() const { return std::accumulate(lost.begin(), lost.end(), std::int64_t{0}); }

void CacheMetrics::report_row(Report& report, const std::string& label, const Row& row) {
  const auto prompt = static_cast<double>(row.prompt);
  report.ratio("prefix_hit_rate", label, static_cast<double>(row.hit), prompt, row.calls);
  report.ratio("hit_rate_ceiling", label, static_cast<double>(row.known), prompt, row.calls);
  report.ratio("lost_token_share", label, static_cast<double>(row.all_lost()), prompt, row.calls);
}

void CacheMetrics::report(Report& report, const std::vector<std::string>& classes) const {
  Row total;
  for (const Row& row : rows_) {
    total.calls += row.calls;
    total.prompt += row.prompt;
    total.hit += row.hit;
    total.known += row.known;
    for (std::size_t cause = 0; cause < total.lost.size(); ++cause) total.lost[cause] += row.lost[cause];
  }
  report_row(report, "", total);
  for (std::size_t c = 0; c < rows_.size(); ++c) report_row(report, "class=" + classes[c], rows_[c]);
  report.value("recompute_tokens", "", static_cast<double>(total.all_lost()), total.calls);
  for (std::size_t cause = 0; cause < total.lost.size(); ++cause)
    report.value("recompute_tokens", "cause=" + std::string(cluster::name(static_cast<cluster::LossCause>(cause))),
                 static_cast<double>(total.lost[cause]), total.calls);
}

}  // namespace marea::metrics
