// Priority of the traffic class, then time of arrival: vLLM's `priority` policy.
#pragma once

#include "sim/base/section.h"
#include "sim/serving/scheduler.h"

namespace marea::serving::schedulers {

class Priority final : public Scheduler {
 public:
  static constexpr std::string_view name = "priority";
  static constexpr std::string_view summary = "the traffic class's priority (smaller is more urgent), then time of arrival";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  Priority(const Params&, const Future&) {}

  bool keyed() const override { return true; }
  SchedulingKey key(const CallView& call) const override {
    return {.first = call.priority, .second = since_start(call.at).count(), .tie = call.arrival};
  }
};

}  // namespace marea::serving::schedulers
