// Whether whole sessions were served: how long they took, how much of that no GPU could shorten, and how many ended within their targets.
// Over the sessions that start inside the window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/int128.h"
#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"
#include "sim/metrics/sketch.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

class SessionMetrics {
 public:
  // `attainment`: share of a session's calls that must meet every target.
  SessionMetrics(std::size_t classes, double attainment) : attainment_(attainment), rows_(classes) {}

  void on(const cluster::SessionStarted& session, bool measured);
  void on(const cluster::CallEnded& call, bool good);
  void on(const cluster::SessionEnded& session);

  void report(Report& report, const std::vector<std::string>& classes, Duration window) const;

 private:
  struct Live {
    std::int64_t calls = 0;
    std::int64_t good = 0;
    bool measured = false;
  };
  struct Row {
    Sketch completion;
    std::int64_t started = 0, completed = 0, failed = 0, abandoned = 0, cut = 0, good = 0;
    Int128 life = 0, tools = 0, critical = 0;  // ns, of completed sessions

    void merge(const Row& other);
  };
  static void report_row(Report& report, const std::string& label, const Row& row, double seconds);

  double attainment_;
  std::vector<Live> live_;  // by session slot
  std::vector<Row> rows_;
};

}  // namespace marea::metrics
