#include "sim/metrics/series.h"

namespace marea::metrics {

SeriesRecorder::SeriesRecorder(std::vector<std::string> pools, std::vector<std::size_t> pool_of, Duration period)
    : pools_(std::move(pools)), pool_of_(std::move(pool_of)), period_(period), sums_(pools_.size()), points_(pools_.size()) {}

void SeriesRecorder::close_instant() {
  if (!open_) return;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const Sums& sums = sums_[pool];
    PoolSeries& points = points_[pool];
    const auto share = [&](std::int64_t blocks) {
      return sums.blocks == 0 ? 0 : static_cast<double>(blocks) / static_cast<double>(sums.blocks);
    };
    points.running.push_back({instant_, static_cast<double>(sums.running)});
    points.waiting.push_back({instant_, static_cast<double>(sums.waiting)});
    points.usage.push_back({instant_, share(sums.referenced)});
    points.cached.push_back({instant_, share(sums.cached)});
    sums_[pool] = Sums{};
  }
  open_ = false;
}

void SeriesRecorder::on(const cluster::ReplicaSampled& sample, double kv_demand) {
  if (open_ && sample.at != instant_) close_instant();
  if (!open_) {
    open_ = true;
    instant_ = sample.at;
    demand_.push_back({sample.at, kv_demand});
  }
  Sums& sums = sums_[pool_of_[sample.replica.value]];
  sums.running += sample.running;
  sums.waiting += sample.waiting;
  sums.blocks += sample.pool_blocks;
  sums.referenced += sample.referenced_blocks;
  sums.cached += sample.cached_blocks;
}

// Period k is (k x period, (k + 1) x period].
std::int64_t& SeriesRecorder::bin(std::vector<std::int64_t>& bins, Time at) {
  const std::int64_t since = since_start(at).count();
  const auto index = static_cast<std::size_t>(since == 0 ? 0 : (since - 1) / period_.count());
  if (index >= bins.size()) bins.resize(index + 1, 0);
  return bins[index];
}

void SeriesRecorder::on(const cluster::StepsRun& run) {
  if (period_ == Duration{} || run.ends.empty() || run.sums.sampled == 0) return;
  std::size_t step = 0;
  while (step < run.ends.size()) {
    const std::int64_t since = since_start(run.ends[step]).count();
    const Time edge = kStart + Duration{since == 0 ? 0 : ((since - 1) / period_.count() + 1) * period_.count()};
    const std::size_t first = step;
    while (step < run.ends.size() && run.ends[step] <= edge) ++step;
    bin(tokens_, run.ends[first]) += static_cast<std::int64_t>(step - first) * run.sums.sampled;
  }
}

void SeriesRecorder::on(const cluster::CallEnded& call) {
  if (period_ == Duration{} || call.end != cluster::CallEnd::completed) return;
  ++bin(calls_, call.at);
}

std::vector<SeriesPoint> SeriesRecorder::rates(const std::vector<std::int64_t>& bins, Time end) const {
  std::vector<SeriesPoint> points;
  const std::int64_t whole = since_start(end) / period_;
  for (std::int64_t k = 0; k < whole; ++k) {
    const std::int64_t count = static_cast<std::size_t>(k) < bins.size() ? bins[static_cast<std::size_t>(k)] : 0;
    points.push_back({kStart + (k + 1) * period_, static_cast<double>(count) / to_seconds(period_).count()});
  }
  return points;
}

void SeriesRecorder::report(Report& report, Time end) {
  close_instant();
  if (period_ == Duration{}) return;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const std::string label = "pool=" + pools_[pool];
    report.series("running", label, std::move(points_[pool].running));
    report.series("waiting", label, std::move(points_[pool].waiting));
    report.series("kv_usage_series", label, std::move(points_[pool].usage));
    report.series("kv_cached_share_series", label, std::move(points_[pool].cached));
  }
  report.series("kv_demand_series", "", std::move(demand_));
  report.series("output_token_throughput_series", "", rates(tokens_, end));
  report.series("request_throughput_series", "", rates(calls_, end));
}

}  // namespace marea::metrics
