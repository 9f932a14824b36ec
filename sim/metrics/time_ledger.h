// Where the time of sessions went inside the window: every nanosecond of every main thread under one cause, exactly, and the same for
// sub-agents in ledgers of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"

namespace marea::metrics {

class TimeLedger {
 public:
  explicit TimeLedger(std::size_t classes) : main_(classes), agents_(classes), joins_(classes) {}

  void on(const cluster::TimeBooked& booked);
  void on(const cluster::ThreadEnded& thread);
  void on(const cluster::SessionEnded& session);

  // Nanoseconds of all main threads inside the window.
  std::int64_t total() const;

  // Three ledgers in ns. "time": main threads, owner class=NAME. "agent time": sub-agent threads, owner class=NAME/agents. "agents wait":
  // what main threads waited for when they waited for sub-agents: the time of the child that ended last, its own waits for sub-agents
  // replaced in the same way.
  void report(Report& report, const std::vector<std::string>& classes) const;

 private:
  using Sums = std::array<std::int64_t, cluster::kCauses>;
  // A live sub-agent's measured time, and what its last children brought in place of its own waits for them.
  struct Agent {
    Sums own{};
    Sums joined{};
  };
  Agent& agent(SessionSlot session, std::uint32_t thread);

  std::vector<Sums> main_, agents_, joins_;  // by class
  std::vector<std::vector<Agent>> live_;     // by session slot and thread - 1; empty for sessions without sub-agents
};

}  // namespace marea::metrics
