// Tools that agents call: how long they take, how they fail and how often they are tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/traffic/law.h"
#include "sim/traffic/session.h"

namespace marea::traffic {

struct ToolSpec {
  std::string name;
  Law time = Law::fixed(0, Measure::duration);
  double fails = 0;                 // chance that one try fails
  std::int64_t retries = 0;         // further tries after a failed one
  Duration backoff{};               // wait before the first retry
  double backoff_factor = 1;        // each later wait is longer by this factor
  std::optional<Duration> timeout;  // a try that takes longer fails at this time
  std::int64_t workers = 0;         // tries that run at once, in the whole cluster; 0: unlimited
  bool fatal = false;               // the session fails when the last try has
};

// {time: LAW, fails: 2 %, retries: 2, backoff: 1 s or {first: 1 s, factor: 2}, timeout: 1 min, workers: 64, fatal: true}; only time is
// required.
ToolSpec read_tool(const std::string& name, const Value& value);

// Draws the tries of one call until one succeeds or none is left.
void draw_attempts(const ToolSpec& tool, RandomStream& stream, std::vector<ToolAttempt>& attempts);

}  // namespace marea::traffic
