// The state of the cluster over time, sampled at a stated period and summed per pool, and throughput per period.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"

namespace marea::metrics {

class SeriesRecorder {
 public:
  // `pool_of`: pool of each replica. A period of 0 records nothing.
  SeriesRecorder(std::vector<std::string> pools, std::vector<std::size_t> pool_of, Duration period);

  // `kv_demand` is its value at the time of the sample.
  void on(const cluster::ReplicaSampled& sample, double kv_demand);
  void on(const cluster::StepsRun& run);
  void on(const cluster::CallEnded& call);

  // `end`: of the run; a period that it cuts short is left out of the throughput.
  void report(Report& report, Time end);

 private:
  struct Sums {
    std::int64_t running = 0, waiting = 0, blocks = 0, referenced = 0, cached = 0;
  };
  struct PoolSeries {
    std::vector<SeriesPoint> running, waiting, usage, cached;
  };
  void close_instant();  // turns the sums of one sampling instant into points
  std::int64_t& bin(std::vector<std::int64_t>& bins, Time at);
  std::vector<SeriesPoint> rates(const std::vector<std::int64_t>& bins, Time end) const;

  std::vector<std::string> pools_;
  std::vector<std::size_t> pool_of_;
  Duration period_;
  std::vector<Sums> sums_;  // of the current instant, by pool
  bool open_ = false;
  Time instant_;
  std::vector<PoolSeries> points_;
  std::vector<SeriesPoint> demand_;
  std::vector<std::int64_t> tokens_, calls_;  // by period; an event at its end belongs to it
};

}  // namespace marea::metrics
