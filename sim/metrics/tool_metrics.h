// How tools kept sessions waiting: their queue, their run time, failures and how busy their workers were.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"
#include "sim/metrics/sketch.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

struct ObservedTool {
  std::string name;
  std::int64_t workers = 0;  // 0: as many as are asked for
};

class ToolMetrics {
 public:
  explicit ToolMetrics(std::vector<ObservedTool> tools) : tools_(std::move(tools)), rows_(tools_.size()) {}

  void on(const cluster::ToolEnded& tool, const Window& window);
  void report(Report& report, Duration window) const;

 private:
  struct Row {
    Sketch queued, ran;
    std::int64_t failed = 0;
    Duration busy{};  // inside the window
  };
  static void report_row(Report& report, const std::string& label, const Row& row);

  std::vector<ObservedTool> tools_;
  std::vector<Row> rows_;
};

}  // namespace marea::metrics
