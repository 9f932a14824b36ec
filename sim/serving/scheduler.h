// Scheduler policies give each call its place in the order of service. The engine keeps the rules (budget, blocks, preemption); the policy
// has the taste.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sim/base/ids.h"
#include "sim/base/time.h"
#include "sim/serving/request.h"

namespace marea::serving {

// What a policy knows of a call when it reaches the engine.
struct CallView {
  CallSlot call;
  std::uint64_t arrival = 0;  // order of arrival at engines, unique
  Time at;
  std::int64_t priority = 0;  // smaller is more urgent
  std::int64_t prompt = 0;    // tokens
  Time session_start;
  std::uint64_t session_arrival = 0;  // order in which sessions started, unique
};

// What nobody can know: for policies that are bounds, and say so. Handed out when a policy is made, so that a reader of its constructor
// sees it.
class Future {
 public:
  virtual ~Future() = default;
  virtual std::int64_t output(CallSlot call) const = 0;  // tokens that the call will generate
};

// One instance per pool of replicas. A key is taken once, when the call arrives; it also orders the choice of victims when blocks run
// short.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // False: first come, first served, whatever the keys; the engine then needs no ordered queue.
  virtual bool keyed() const = 0;
  virtual SchedulingKey key(const CallView& call) const = 0;
};

// A choice of scheduler as read from its YAML line; makes a fresh instance for each pool.
using SchedulerRecipe = std::function<std::unique_ptr<Scheduler>(const Future& future)>;

}  // namespace marea::serving
