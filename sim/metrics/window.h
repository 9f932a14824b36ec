// The measuring window, and the targets a service is held to: what decides which calls and sessions count, and which of them count as good.
#pragma once

#include <algorithm>
#include <optional>

#include "sim/base/time.h"
#include "sim/cluster/facts.h"
#include "sim/spec/deployment.h"

namespace marea::metrics {

// Half-open: what happens at `end` is outside. `end` is kNever while it is not known (a finite trace in lanes, or a run to its last
// session).
struct Window {
  Time start = kStart;
  Time end = kNever;

  bool contains(Time time) const { return start <= time && time < end; }
  // The part of [from, to] that lies inside.
  Duration overlap(Time from, Time to) const { return std::max(Duration{}, std::min(to, end) - std::max(from, start)); }
  // Requires a known end.
  Duration length() const {
    check(end != kNever && end >= start, "the measuring window has no end");
    return end - start;
  }
};

inline bool follows_wait(cluster::After after) {
  return after == cluster::After::tool || after == cluster::After::person || after == cluster::After::agents;
}

// Whether a call was completed within every target. A call of one output token has no tpot and a call that follows no wait has no resume
// latency: both meet those targets, as does every completed call one that is not set.
inline bool met(const spec::Targets& targets, const cluster::CallEnded& call) {
  if (call.end != cluster::CallEnd::completed) return false;
  if (targets.ttft && call.first_token - call.issued > *targets.ttft) return false;
  if (targets.tpot && call.generated > 1 && call.last_token - call.first_token > *targets.tpot * (call.generated - 1)) return false;
  return !(targets.resume && follows_wait(call.after) && call.first_token - call.issued > *targets.resume);
}

}  // namespace marea::metrics
