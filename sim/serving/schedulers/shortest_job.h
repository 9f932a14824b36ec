// Shortest job first, by the tokens a call will take. A bound: nobody knows the length of an answer before it is given.
#pragma once

#include "sim/base/section.h"
#include "sim/serving/scheduler.h"

namespace marea::serving::schedulers {

class ShortestJob final : public Scheduler {
 public:
  static constexpr std::string_view name = "shortest-job";
  static constexpr std::string_view summary = "fewest prompt and output tokens first; a bound, because it needs the future";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  ShortestJob(const Params&, const Future& future) : future_(&future) {}

  bool keyed() const override { return true; }
  SchedulingKey key(const CallView& call) const override {
    return {.first = call.prompt + future_->output(call.call), .second = since_start(call.at).count(), .tie = call.arrival};
  }

 private:
  const Future* future_;
};

}  // namespace marea::serving::schedulers
