#include "sim/metrics/call_metrics.h"

namespace marea::metrics {

namespace {

std::int64_t between(Time from, Time to) { return (to - from).count(); }

}  // namespace

void CallMetrics::on(const cluster::CallEnded& call, bool good) {
  Row& row = rows_[call.traffic.value];
  ++row.started;
  row.good += good ? 1 : 0;
  row.preemptions += call.preemptions;
  if (call.scheduled != kNever) row.queue.add(between(call.queued, call.scheduled));
  if (call.first_token != kNever) {
    const std::int64_t ttft = between(call.issued, call.first_token);
    row.ttft.add(ttft);
    if (call.index == 0) row.ttft_first.add(ttft);
    if (call.known > 0) (2 * call.hit >= call.known ? row.warm : row.cold).add(ttft);
    if (follows_wait(call.after)) row.resume.add(between(call.issued, call.first_token));
    row.prefill.add(between(call.scheduled, call.first_token));
  }
  switch (call.end) {
    case cluster::CallEnd::completed: {
      ++row.completed;
      const std::int64_t decode = between(call.first_token, call.last_token);
      row.decode.add(decode);
      row.e2e.add(between(call.issued, call.last_token));
      if (call.generated > 1) {
        const std::int64_t gaps = call.generated - 1;
        row.tpot.add((decode + gaps / 2) / gaps);
      }
      break;
    }
    case cluster::CallEnd::refused:
      ++row.refused;
      break;
    case cluster::CallEnd::aborted:
      ++row.aborted;
      break;
    case cluster::CallEnd::cut:
      ++row.cut;
      break;
  }
}

void CallMetrics::Row::merge(const Row& other) {
  for (const auto sketch : {&Row::ttft_first, &Row::ttft, &Row::warm, &Row::cold, &Row::resume, &Row::tpot, &Row::e2e, &Row::queue,
                            &Row::prefill, &Row::decode})
    (this->*sketch).merge(other.*sketch);
  for (const auto count : {&Row::started, &Row::completed, &Row::refused, &Row::aborted, &Row::cut, &Row::good, &Row::preemptions})
    this->*count += other.*count;
}

void CallMetrics::report_row(Report& report, const std::string& label, const Row& row, double seconds) {
  report.distribution("ttft_first", label, row.ttft_first);
  report.distribution("ttft", label, row.ttft);
  report.distribution("turn_ttft_warm", label, row.warm);
  report.distribution("turn_ttft_cold", label, row.cold);
  report.distribution("resume", label, row.resume);
  report.distribution("tpot", label, row.tpot);
  report.distribution("e2e", label, row.e2e);
  report.distribution("queue_time", label, row.queue);
  report.distribution("prefill_time", label, row.prefill);
  report.distribution("decode_time", label, row.decode);
  report.ratio("call_goodput", label, static_cast<double>(row.good), seconds, row.started);
  report.ratio("call_attainment", label, static_cast<double>(row.good), static_cast<double>(row.started), row.started);
  report.ratio("request_throughput", label, static_cast<double>(row.completed), seconds, row.completed);
  const auto count = [&](std::string_view name, std::int64_t value) { report.value(name, label, static_cast<double>(value), row.started); };
  count("calls_started", row.started);
  count("calls_completed", row.completed);
  count("calls_refused", row.refused);
  count("calls_aborted", row.aborted);
  count("calls_cut", row.cut);
  count("call_preemptions", row.preemptions);
}

void CallMetrics::report(Report& report, const std::vector<std::string>& classes, Duration window) const {
  Row total;
  for (const Row& row : rows_) total.merge(row);
  const double seconds = to_seconds(window).count();
  report_row(report, "", total, seconds);
  for (std::size_t c = 0; c < rows_.size(); ++c) report_row(report, "class=" + classes[c], rows_[c], seconds);
}

}  // namespace marea::metrics
