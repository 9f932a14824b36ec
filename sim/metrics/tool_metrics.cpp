#include "sim/metrics/tool_metrics.h"

namespace marea::metrics {

void ToolMetrics::on(const cluster::ToolEnded& tool, const Window& window) {
  Row& row = rows_[tool.tool.value];
  row.busy += window.overlap(tool.at - tool.ran, tool.at);
  if (!window.contains(tool.at)) return;
  row.queued.add(tool.queued.count());
  row.ran.add(tool.ran.count());
  row.failed += tool.failed ? 1 : 0;
}

void ToolMetrics::report_row(Report& report, const std::string& label, const Row& row) {
  const std::int64_t tries = row.ran.count();
  report.distribution("tool_queue_time", label, row.queued);
  report.distribution("tool_run_time", label, row.ran);
  report.value("tool_tries", label, static_cast<double>(tries), tries);
  report.ratio("tool_failure_rate", label, static_cast<double>(row.failed), static_cast<double>(tries), tries);
}

void ToolMetrics::report(Report& report, Duration window) const {
  if (tools_.empty()) return;
  Row total;
  for (const Row& row : rows_) {
    total.queued.merge(row.queued);
    total.ran.merge(row.ran);
    total.failed += row.failed;
  }
  report_row(report, "", total);
  for (std::size_t t = 0; t < tools_.size(); ++t) {
    const std::string label = "tool=" + tools_[t].name;
    report_row(report, label, rows_[t]);
    if (tools_[t].workers > 0)
      report.ratio("tool_utilisation", label, to_seconds(rows_[t].busy).count(),
                   static_cast<double>(tools_[t].workers) * to_seconds(window).count(), rows_[t].ran.count());
  }
}

}  // namespace marea::metrics
