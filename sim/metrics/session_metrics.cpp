#include "sim/metrics/session_metrics.h"

namespace marea::metrics {

using cluster::Cause;

void SessionMetrics::on(const cluster::SessionStarted& session, bool measured) {
  if (session.session.value >= live_.size()) live_.resize(session.session.value + 1);
  live_[session.session.value] = Live{0, 0, measured};
  if (measured) ++rows_[session.traffic.value].started;
}

void SessionMetrics::on(const cluster::CallEnded& call, bool good) {
  Live& live = live_[call.session.value];
  ++live.calls;
  live.good += good ? 1 : 0;
}

void SessionMetrics::on(const cluster::SessionEnded& session) {
  const Live& live = live_[session.session.value];
  if (!live.measured) return;
  Row& row = rows_[session.traffic.value];
  switch (session.end) {
    case cluster::SessionEnd::completed: {
      ++row.completed;
      const Duration life = session.at - session.started;
      const auto booked = [&](Cause cause) { return session.booked[static_cast<std::size_t>(cause)].count(); };
      row.completion.add(life.count());
      row.life += life.count();
      row.tools += booked(Cause::tool) + booked(Cause::tool_queue) + booked(Cause::backoff);
      row.critical += session.critical_path.count();
      // The small slack keeps 9 of 10 calls at 90 %, which is no binary fraction.
      if (static_cast<double>(live.good) >= attainment_ * static_cast<double>(live.calls) - 1e-9) ++row.good;
      break;
    }
    case cluster::SessionEnd::failed:
      ++row.failed;
      break;
    case cluster::SessionEnd::abandoned:
      ++row.abandoned;
      break;
    case cluster::SessionEnd::cut:
      ++row.cut;
      break;
  }
}

void SessionMetrics::Row::merge(const Row& other) {
  completion.merge(other.completion);
  for (const auto count : {&Row::started, &Row::completed, &Row::failed, &Row::abandoned, &Row::cut, &Row::good})
    this->*count += other.*count;
  for (const auto sum : {&Row::life, &Row::tools, &Row::critical}) this->*sum += other.*sum;
}

void SessionMetrics::report_row(Report& report, const std::string& label, const Row& row, double seconds) {
  const auto life = static_cast<double>(row.life);
  report.distribution("session_completion_time", label, row.completion);
  report.ratio("session_goodput", label, static_cast<double>(row.good), seconds, row.started);
  report.ratio("session_attainment", label, static_cast<double>(row.good), static_cast<double>(row.started), row.started);
  report.ratio("tool_wait_share", label, static_cast<double>(row.tools), life, row.completed);
  if (row.completed > 0) report.value("critical_path", label, static_cast<double>(row.critical) * 1e-9, row.completed);
  report.ratio("critical_path_share", label, static_cast<double>(row.critical), life, row.completed);
  const auto count = [&](std::string_view name, std::int64_t value) { report.value(name, label, static_cast<double>(value), row.started); };
  count("sessions_started", row.started);
  count("sessions_completed", row.completed);
  count("sessions_failed", row.failed);
  count("sessions_abandoned", row.abandoned);
  count("sessions_cut", row.cut);
  report.ratio("session_throughput", label, static_cast<double>(row.completed), seconds, row.completed);
}

void SessionMetrics::report(Report& report, const std::vector<std::string>& classes, Duration window) const {
  Row total;
  for (const Row& row : rows_) total.merge(row);
  const double seconds = to_seconds(window).count();
  report_row(report, "", total, seconds);
  for (std::size_t c = 0; c < rows_.size(); ++c) report_row(report, "class=" + classes[c], rows_[c], seconds);
}

}  // namespace marea::metrics
