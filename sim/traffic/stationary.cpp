// Length-biased choice of sessions and the cut at their age.
#include "sim/traffic/stationary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/random.h"
#include "sim/traffic/known.h"

namespace marea::traffic {
namespace {

constexpr Duration kPerToken{25'000'000};
constexpr std::uint64_t kDrawn = 1024;
constexpr Duration kLongest = std::chrono::hours(24 * 365 * 120);  // sums stop here, far inside the clock

Duration nominal(const Step& step) {
  Duration total{};
  switch (step.kind) {
    case StepKind::call:
      return kPerToken * step.call.output;
    case StepKind::human:
      return step.human.time;
    case StepKind::tool:
      for (const ToolAttempt& attempt : step.tool.attempts) total += attempt.time + attempt.backoff_after;
      return total;
    default:
      return total;
  }
}

// Nominal start of every step.
std::vector<Duration> nominal_starts(const Program& program) {
  std::vector<Duration> start(boost::num_vertices(program));
  for (std::size_t v = 0; v < start.size(); ++v) {
    const Duration end = std::min(start[v] + nominal(program[v]), kLongest);
    for (auto [edge, last] = boost::out_edges(v, program); edge != last; ++edge) {
      Duration& next = start[boost::target(*edge, program)];
      next = std::max(next, end);
    }
  }
  return start;
}

// Shortens a wait by what has passed of it: whole tries first.
void shorten(Step& step, Duration passed) {
  if (step.kind == StepKind::human) step.human.time -= passed;
  if (step.kind != StepKind::tool) return;
  auto& attempts = step.tool.attempts;
  while (attempts.size() > 1 && passed >= attempts.front().time + attempts.front().backoff_after) {
    passed -= attempts.front().time + attempts.front().backoff_after;
    attempts.erase(attempts.begin());
  }
  const Duration cut = std::min(passed, attempts.front().time);
  attempts.front().time -= cut;
  attempts.front().backoff_after -= std::min(passed - cut, attempts.front().backoff_after);
}

// Steps before `first` go; those kept are renumbered.
void drop_before(Program& program, std::size_t first) {
  auto& vertices = program.m_vertices;
  vertices.erase(vertices.begin(), vertices.begin() + static_cast<std::ptrdiff_t>(first));
  for (auto& vertex : vertices) {
    for (auto& edge : vertex.m_out_edges) edge.get_target() -= first;
  }
}

void recompute_known(Program& program, bool single_thread) {
  const std::size_t steps = boost::num_vertices(program);
  Precedence precedence;
  precedence.reset(steps, single_thread);
  std::vector<KnownCall> calls;
  for (std::size_t v = 0; v < steps; ++v) {
    if (program[v].kind == StepKind::call) {
      CallStep& call = program[v].call;
      const KnownCall known{call.content, call.prompt, call.prompt + call.output - 1, static_cast<std::uint32_t>(v)};
      call.known = known_tokens(calls, known, precedence);
      append_known(calls, known);
    }
    for (auto [edge, last] = boost::out_edges(v, program); edge != last; ++edge) precedence.add(v, boost::target(*edge, program));
  }
}

}  // namespace

Duration nominal_duration(const Program& program) {
  const std::vector<Duration> start = nominal_starts(program);
  Duration latest{};
  for (std::size_t v = 0; v < start.size(); ++v) latest = std::max(latest, std::min(start[v] + nominal(program[v]), kLongest));
  return latest;
}

void start_inside(Session& session, Duration age) {
  Program& program = session.program;
  const std::vector<Duration> start = nominal_starts(program);
  // The last step of the main thread that has begun: it covers the age. A fork covers all until its join has fired.
  std::size_t first = 0;
  for (std::size_t v = 0; v < start.size(); ++v) {
    if (program[v].thread == 0 && start[v] <= age) first = v;
  }
  const Duration passed = age - start[first];
  if (session.abandon_after) *session.abandon_after = std::max(*session.abandon_after - age, Duration{1});
  drop_before(program, first);
  shorten(program[0], passed);
  recompute_known(program, session.threads.size() == 1);
}

Stationary::Stationary(Source& source, std::uint64_t seed, std::uint32_t traffic) : seed_(seed), traffic_(traffic) {
  const std::uint64_t candidates = source.size().value_or(kDrawn);
  Session session;
  double sum = 0;
  for (std::uint64_t i = 0; i < candidates; ++i) {
    bodies_.push_back(source.size() ? i : kFirstInside + i);
    source.make(bodies_.back(), bodies_.back(), session);
    Duration duration = nominal_duration(session.program);
    if (session.abandon_after) duration = std::min(duration, *session.abandon_after);
    sum += to_seconds(duration).count();
    cumulative_.push_back(sum);
  }
  if (sum == 0) throw ConfigError({}, "run.start", "`stationary` needs sessions that take time, and those of this traffic end at once");
  mean_ = Seconds{sum / static_cast<double>(candidates)};
}

std::uint64_t Stationary::alive(double rate) const {
  // Arrivals of rate 1 counted up to the mean: exact, and cheap next to making the sessions.
  const double mean = std::min(rate * mean_.count(), 1e6);
  RandomStream stream(seed_, "sessions under way", traffic_);
  std::uint64_t count = 0;
  for (double at = -std::log(stream.uniform()); at < mean && count < 1'000'000; at -= std::log(stream.uniform())) ++count;
  return count;
}

void Stationary::make(Source& source, std::uint64_t number, Session& session) {
  RandomStream stream(seed_, "under way", traffic_, number);
  const double at = stream.uniform() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at) - cumulative_.begin();
  const std::size_t i = std::min(static_cast<std::size_t>(found), cumulative_.size() - 1);
  const double before = i == 0 ? 0 : cumulative_[i - 1];
  const double share = std::clamp((at - before) / (cumulative_[i] - before), 0.0, 1.0);  // uniform within the session: its age
  source.make(bodies_[i], kFirstInside + number, session);
  start_inside(session, to_clock(Seconds{share * (cumulative_[i] - before)}));
}

std::string Stationary::describe() const {
  return fmt::format(
      "sessions under way at the start, chosen by nominal duration (mean {:.4g} s: waits as drawn, 25 ms per output token) among {}",
      mean_.count(), bodies_.size());
}

}  // namespace marea::traffic
