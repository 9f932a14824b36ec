// What moved between tiers of KV, what it gave, and what it held up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

// The tiers of one replica, the host pool first.
struct ObservedTiers {
  std::vector<std::string> names;
  std::int64_t bytes_per_block = 0;  // of the engine, on all ranks
};

class TierMetrics {
 public:
  explicit TierMetrics(std::vector<ObservedTiers> replicas);

  void on(const cluster::CopyEnded& copy, const Window& window);
  void on(const cluster::StepHeldUp& step, const Window& window);
  void on(const cluster::Standstill& standstill);
  void on(const cluster::PreemptionAvalanche& avalanche);
  // Requires call.issued inside the window.
  void on(const cluster::CallEnded& call);
  void report(Report& report, Duration window) const;
  // Standstills and avalanches in words, with their cause and what helps.
  std::vector<std::string> warnings() const;

 private:
  struct Row {
    std::string name;
    std::int64_t written = 0, read = 0;  // bytes
    std::int64_t writes = 0, reads = 0;
  };
  Row& row(const std::string& name);

  std::vector<ObservedTiers> replicas_;
  std::vector<Row> rows_;
  std::int64_t prompt_ = 0, loaded_ = 0, calls_ = 0, held_up_steps_ = 0, standstills_ = 0, standing_ = 0;
  std::int64_t avalanches_ = 0, avalanche_calls_ = 0, largest_avalanche_ = 0;
  Duration held_up_{};
  Time first_standstill_ = kNever;
};

}  // namespace marea::metrics
