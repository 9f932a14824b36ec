// The auditor: rides in every run and holds the simulation to its own books. Whatever it finds is a defect of marea, so it throws
// InternalError with what, where and when.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/int128.h"
#include "sim/cluster/facts.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

// Laws: the clock never goes back; the steps of a replica do not overlap; the times of a call are in order; bookings of a call, a sub-agent
// and a session sum to their lives; what was booked inside the window is the part of all lives inside it; memory bookings of a replica sum
// to pool x window; every call and session that began ended exactly once; every emitted token but a call's first closed one gap; a cache
// gives no more than was known or shared.
class Audit {
 public:
  // `pool_tokens` of each replica.
  Audit(std::size_t classes, std::vector<std::int64_t> pool_tokens);

  void on(const cluster::RunStarted& run);
  void on(const cluster::SessionStarted& session);
  void on(const cluster::SessionEnded& session, const Window& window);
  void on(const cluster::TimeBooked& booked);
  void on(const cluster::ThreadEnded& thread);
  void on(const cluster::ContextGrew& context);
  void on(const cluster::CallEnded& call);
  void on(const cluster::StepsRun& run);
  void on(const cluster::LongGap& gap);
  void on(const cluster::ToolEnded& tool);
  void on(const cluster::ReplicaSampled& sample);
  void on(const cluster::MemoryBooked& booked);
  void on(const cluster::WindowClosed& closed);
  // The last word: everything has ended and every sum agrees. `time_ledger`: total of the time ledger.
  void on(const cluster::RunEnded& run, const Window& window, std::int64_t time_ledger);

 private:
  struct Session {
    bool live = false;
    std::uint64_t index = 0;
    ClassId traffic;
    Time started;
    std::int64_t shareable = 0;
    bool agents_seen = false;
    std::int64_t issued = 0;  // calls that the front end took
    std::int64_t ended = 0;   // of those
    std::int64_t completed = 0;
    Duration agents{};  // booked by sub-agents, less the lives of those that ended
    std::array<Duration, cluster::kCauses> booked{};
  };
  struct Replica {
    std::int64_t pool_tokens = 0;
    Time busy_until;
    Uint128 memory = 0;
  };
  struct Tokens {
    std::int64_t after_first = 0;  // emitted by completed calls beyond their first token
    std::int64_t gaps = 0;
    std::int64_t unfinished = 0;  // calls that were aborted or cut: an engine may emit for them after their end
  };

  void clock(Time at, const char* where);
  void require(bool holds, const char* law, const Session& session) const {
    if (!holds) [[unlikely]]
      fail(law, session);
  }
  void require(bool holds, const char* law, const cluster::CallEnded& call) const {
    if (!holds) [[unlikely]]
      fail(law, call);
  }
  [[noreturn]] void fail(const char* law, const Session& session) const;
  [[noreturn]] void fail(const char* law, const cluster::CallEnded& call) const;
  Session& session(SessionSlot slot, const char* where);
  void check_times(const cluster::CallEnded& call) const;
  void check_tokens(const cluster::CallEnded& call, const Session& owner) const;

  Time now_ = kStart;
  std::vector<Session> sessions_;  // by slot
  std::vector<Replica> replicas_;
  std::vector<Tokens> tokens_;  // by class
  std::int64_t live_ = 0;
  std::int64_t preemptions_ = 0;
  Int128 life_in_window_ = 0;
  bool closed_ = false;
};

}  // namespace marea::metrics
