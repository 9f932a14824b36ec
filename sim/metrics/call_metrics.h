// How long model calls took and how many of them served their purpose, per traffic class and in total, over the calls issued inside the
// window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"
#include "sim/metrics/sketch.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

class CallMetrics {
 public:
  explicit CallMetrics(std::size_t classes) : rows_(classes) {}

  // `good`: within every target. Requires call.issued inside the window.
  void on(const cluster::CallEnded& call, bool good);

  // `classes` are the names, in the order of ClassId.
  void report(Report& report, const std::vector<std::string>& classes, Duration window) const;

 private:
  struct Row {
    Sketch ttft_first, ttft, warm, cold, resume, tpot, e2e, queue, prefill, decode;
    std::int64_t started = 0, completed = 0, refused = 0, aborted = 0, cut = 0, good = 0, preemptions = 0;

    void merge(const Row& other);
  };
  static void report_row(Report& report, const std::string& label, const Row& row, double seconds);

  std::vector<Row> rows_;
};

}  // namespace marea::metrics
