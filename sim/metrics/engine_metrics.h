// What the engines did, step by step: gaps between tokens, tokens made, batch sizes, busy time. Clipped to the window; a step belongs to
// the instant at which it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"
#include "sim/metrics/sketch.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

class EngineMetrics {
 public:
  EngineMetrics(std::size_t classes, std::size_t replicas) : classes_(classes), busy_(replicas) {}

  void on(const cluster::StepsRun& run, const Window& window);
  void on(const cluster::LongGap& gap, const Window& window);
  // Any call, measured or not: its first token is counted when it falls inside the window.
  void on(const cluster::CallEnded& call, const Window& window);
  void on(const cluster::RunEnded& run) { evicted_blocks_ = run.evicted_blocks; }

  void report(Report& report, const std::vector<std::string>& classes, Duration window) const;

 private:
  struct Row {
    Sketch itl;
    std::int64_t first_tokens = 0;  // inside the window
    std::int64_t prompt = 0;        // of the calls with those

    std::int64_t tokens() const { return itl.count() + first_tokens; }
  };
  static void report_row(Report& report, const std::string& label, const Row& row, double seconds);

  std::vector<Row> classes_;
  std::vector<Duration> busy_;  // by replica
  std::int64_t steps_ = 0, sequences_ = 0, tokens_ = 0, prefill_tokens_ = 0;
  Duration step_time_{};
  std::int64_t evicted_blocks_ = 0;
};

}  // namespace marea::metrics
