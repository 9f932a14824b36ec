// First come, first served: vLLM's default. Preempted calls go back to the very front.
#pragma once

#include "sim/base/section.h"
#include "sim/serving/scheduler.h"

namespace marea::serving::schedulers {

class Fcfs final : public Scheduler {
 public:
  static constexpr std::string_view name = "fcfs";
  static constexpr std::string_view summary = "first come, first served";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  Fcfs(const Params&, const Future&) {}

  bool keyed() const override { return false; }
  SchedulingKey key(const CallView& call) const override {
    return {.first = 0, .second = static_cast<std::int64_t>(call.arrival), .tie = call.arrival};
  }
};

}  // namespace marea::serving::schedulers
