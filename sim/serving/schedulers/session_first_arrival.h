// The session that started first is served first: a session's later calls keep the place of its first (program-level first come, first
// served).
#pragma once

#include "sim/base/section.h"
#include "sim/serving/scheduler.h"

namespace marea::serving::schedulers {

class SessionFirstArrival final : public Scheduler {
 public:
  static constexpr std::string_view name = "session-first-arrival";
  static constexpr std::string_view summary = "calls of the session that started first, first";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  SessionFirstArrival(const Params&, const Future&) {}

  bool keyed() const override { return true; }
  SchedulingKey key(const CallView& call) const override {
    return {
        .first = since_start(call.session_start).count(), .second = static_cast<std::int64_t>(call.session_arrival), .tie = call.arrival};
  }
};

}  // namespace marea::serving::schedulers
