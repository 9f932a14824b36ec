// The critical path of a program.
#include "sim/traffic/session.h"

#include <algorithm>

namespace marea::traffic {
namespace {

Duration wait_of(const Step& step) {
  if (step.kind == StepKind::human) return step.human.time;
  Duration total{};
  if (step.kind == StepKind::tool) {
    for (const ToolAttempt& attempt : step.tool.attempts) total += attempt.time + attempt.backoff_after;
  }
  return total;
}

bool ends_session(const Step& step) {
  return step.kind == StepKind::tool && step.tool.fatal && !step.tool.attempts.empty() && step.tool.attempts.back().fails;
}

}  // namespace

Duration critical_path(const Program& program) {
  std::vector<Duration> start(boost::num_vertices(program));
  Duration longest{};
  Duration failure = Duration::max();
  for (std::size_t v = 0; v < start.size(); ++v) {  // edges point forward, so the order of vertices is topological
    const Duration end = start[v] + wait_of(program[v]);
    longest = std::max(longest, end);
    if (ends_session(program[v])) failure = std::min(failure, end);
    for (auto [edge, last] = boost::out_edges(v, program); edge != last; ++edge) {
      Duration& next = start[boost::target(*edge, program)];
      next = std::max(next, end);
    }
  }
  return std::min(longest, failure);
}

}  // namespace marea::traffic
