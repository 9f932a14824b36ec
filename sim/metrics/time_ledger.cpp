#include "sim/metrics/time_ledger.h"

#include <numeric>

namespace marea::metrics {

namespace {

constexpr auto kAgents = static_cast<std::size_t>(cluster::Cause::agents);

Ledger ledger_of(std::string ledger_name, const std::vector<std::array<std::int64_t, cluster::kCauses>>& sums,
                 const std::vector<std::string>& classes, const char* suffix) {
  Ledger ledger{std::move(ledger_name), "ns", 0, {}};
  for (std::size_t c = 0; c < sums.size(); ++c)
    for (std::size_t cause = 0; cause < sums[c].size(); ++cause) {
      if (sums[c][cause] == 0) continue;
      ledger.total += sums[c][cause];
      ledger.rows.push_back(
          {"class=" + classes[c] + suffix, std::string(cluster::name(static_cast<cluster::Cause>(cause))), sums[c][cause]});
    }
  return ledger;
}

}  // namespace

TimeLedger::Agent& TimeLedger::agent(SessionSlot session, std::uint32_t thread) {
  if (session.value >= live_.size()) live_.resize(session.value + 1);
  std::vector<Agent>& agents = live_[session.value];
  if (thread > agents.size()) agents.resize(thread);
  return agents[thread - 1];
}

void TimeLedger::on(const cluster::TimeBooked& booked) {
  if (!booked.measured) return;
  const auto cause = static_cast<std::size_t>(booked.cause);
  if (booked.thread == 0) {
    main_[booked.traffic.value][cause] += booked.duration.count();
  } else {
    agents_[booked.traffic.value][cause] += booked.duration.count();
    agent(booked.session, booked.thread).own[cause] += booked.duration.count();
  }
}

void TimeLedger::on(const cluster::ThreadEnded& thread) {
  if (!thread.last) return;
  const Agent child = agent(thread.session, thread.thread);
  Sums& parent = thread.parent == 0 ? joins_[thread.traffic.value] : agent(thread.session, thread.parent).joined;
  // A wait that its own last children account for is replaced by them; the rest of it (a child cut by the end of the run) stays a wait.
  const std::int64_t joined = std::accumulate(child.joined.begin(), child.joined.end(), std::int64_t{0});
  const bool replaced = joined > 0 && joined <= child.own[kAgents];
  for (std::size_t cause = 0; cause < parent.size(); ++cause) parent[cause] += child.own[cause] + (replaced ? child.joined[cause] : 0);
  if (replaced) parent[kAgents] -= joined;
}

void TimeLedger::on(const cluster::SessionEnded& session) {
  if (session.session.value < live_.size()) live_[session.session.value].clear();
}

std::int64_t TimeLedger::total() const {
  std::int64_t total = 0;
  for (const Sums& sums : main_) total = std::accumulate(sums.begin(), sums.end(), total);
  return total;
}

void TimeLedger::report(Report& report, const std::vector<std::string>& classes) const {
  report.ledger(ledger_of("time", main_, classes, ""));
  Ledger agents = ledger_of("agent time", agents_, classes, "/agents");
  if (agents.rows.empty()) return;
  report.ledger(std::move(agents));
  report.ledger(ledger_of("agents wait", joins_, classes, ""));
}

}  // namespace marea::metrics
