// Sessions: how they start, go from step to step of their program, wait, and end.
#include <utility>

#include "sim/cluster/pool.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

namespace {

constexpr std::int64_t kMostInstantEnds = 1'000'000;

}  // namespace

traffic::Step& Simulation::step(SessionSlot slot, Vertex vertex) { return sessions_[slot].session.program[vertex]; }

// Puts the next start of a class into the queue, unless it is there already. A lane that becomes free may bring it forward.
void Simulation::arm(ClassId traffic, Time now) {
  traffic::Load& load = *classes_[traffic.value].load;
  NextStart& armed = next_starts_[traffic.value];
  if (const auto next = load.next_start()) {
    const Time at = std::max(*next, now);
    if (at >= armed.at) return;
    armed.at = at;
    push(at, EventKind::arrival, {traffic.value, ++armed.version});
  } else if (const auto dry = load.dry(); dry && !ran_dry_) {
    ran_dry_ = true;
    push(std::max(*dry, now), EventKind::window_edge, {kRanDry});
  }
}

void Simulation::start_due(ClassId traffic, std::uint32_t version, Time now) {
  if (next_starts_[traffic.value].version != version) return;
  next_starts_[traffic.value].at = kNever;
  const SessionSlot slot = sessions_.open();
  classes_[traffic.value].load->take(sessions_[slot].session);
  arm(traffic, now);
  begin_session(slot, traffic, now);
}

void Simulation::begin_session(SessionSlot slot, ClassId traffic, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Program& program = row.session.program;
  const auto vertices = static_cast<std::uint32_t>(num_vertices(program));
  row.traffic = traffic;
  row.live = true;
  row.measured = inside(now);
  row.started = now;
  row.arrival = session_arrivals_++;
  row.active = 0;
  row.calls_issued = 0;
  row.threads.assign(std::max<std::size_t>(1, row.session.threads.size()), ThreadRow{});
  row.calls_planned = 0;
  row.pending.assign(vertices, 0);
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    row.calls_planned += program[vertex].kind == traffic::StepKind::call;
    for (auto [edge, last] = out_edges(vertex, program); edge != last; ++edge) ++row.pending[target(*edge, program)];
  }
  row.critical_path = traffic::critical_path(program);
  measured_open_ += row.measured;
  emit(SessionStarted{slot, traffic, row.session.index, now, row.critical_path});
  if (row.session.abandon_after) {
    push(now + *row.session.abandon_after, EventKind::abandonment, {slot.value, row.generation});
  }
  ThreadRow& main = row.threads[0];
  main.started = true;
  main.start = main.since = now;
  main.owner = owners_.open(now);
  roots_.clear();
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    if (row.pending[vertex] == 0) roots_.push_back(vertex);
  }
  const std::uint32_t generation = sessions_[slot].generation;
  ++row.active;  // keeps the session from ending while its first steps start
  for (const Vertex root : roots_) {
    start_step(slot, root, now);
    if (sessions_[slot].generation != generation) return;  // the session failed at once
  }
  if (--row.active == 0) end_session(slot, SessionEnd::completed, now);
}

void Simulation::start_step(SessionSlot slot, Vertex vertex, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Step& next = step(slot, vertex);
  ThreadRow& thread = row.threads[next.thread];
  if (!thread.started) {
    thread.started = true;
    thread.start = thread.since = now;
    thread.owner = owners_.open(now);
    const std::uint32_t parent = row.session.threads[next.thread].parent;
    thread.kv_replica = row.threads[parent].kv_replica;
  }
  ++row.active;
  switch (next.kind) {
    case traffic::StepKind::call:
      if (next.call.recorded && *next.call.recorded > now) {
        // The recorded time stands for whatever the session waited for before this call.
        set_phase(slot, next.thread, thread.after == After::tool ? Phase::tool : Phase::person, now);
        push(*next.call.recorded, EventKind::wait_end, {slot.value, sessions_[slot].generation, vertex});
      } else {
        issue_call(slot, vertex, now);
      }
      break;
    case traffic::StepKind::tool:
      set_phase(slot, next.thread, Phase::tool_queue, now);
      dispatch_tool({.session = slot,
                     .generation = sessions_[slot].generation,
                     .vertex = vertex,
                     .tool = next.tool.tool,
                     .traffic = row.traffic,
                     .queued = now});
      break;
    case traffic::StepKind::human:
      set_phase(slot, next.thread, Phase::person, now);
      push(now + next.human.time, EventKind::wait_end, {slot.value, sessions_[slot].generation, vertex});
      break;
    case traffic::StepKind::fork:
      complete_step(slot, vertex, now);
      break;
    case traffic::StepKind::join:
      thread.after = After::agents;
      complete_step(slot, vertex, now);
      break;
  }
}

void Simulation::complete_step(SessionSlot slot, Vertex vertex, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Program& program = row.session.program;
  const std::uint32_t thread = program[vertex].thread;
  const std::uint32_t generation = sessions_[slot].generation;
  book(slot, thread, now);
  row.threads[thread].phase = Phase::idle;
  bool goes_on = false;     // the thread has a further step
  bool fires_join = false;  // it is the last that its parent waits for
  const auto [first, last] = out_edges(vertex, program);
  for (auto edge = first; edge != last; ++edge) {
    const Vertex next = static_cast<Vertex>(target(*edge, program));
    goes_on |= program[next].thread == thread;
    fires_join |= program[next].kind == traffic::StepKind::join && row.pending[next] == 1;
  }
  if (!goes_on && thread != 0) end_thread(slot, thread, fires_join, now);
  for (auto edge = first; edge != last; ++edge) {
    const Vertex next = static_cast<Vertex>(target(*edge, program));
    if (--row.pending[next] == 0) start_step(slot, next, now);
    if (sessions_[slot].generation != generation) return;  // the session failed at once
  }
  if (--row.active == 0) {
    end_session(slot, SessionEnd::completed, now);
  } else if (row.threads[thread].started && row.threads[thread].phase == Phase::idle) {
    set_phase(slot, thread, Phase::agents, now);  // its next step is a join that others have yet to reach
  }
}

void Simulation::wait_ended(SessionSlot slot, Vertex vertex, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Step& ended = step(slot, vertex);
  book(slot, ended.thread, now);
  ThreadRow& thread = row.threads[ended.thread];
  if (ended.kind == traffic::StepKind::call) {  // its recorded time has come
    if (thread.after == After::call) thread.after = After::person;
    issue_call(slot, vertex, now);
    return;
  }
  thread.after = After::person;
  complete_step(slot, vertex, now);
}

void Simulation::end_thread(SessionSlot slot, std::uint32_t thread, bool last, Time now) {
  SessionRow& row = sessions_[slot];
  book(slot, thread, now);
  ThreadRow& ended = row.threads[thread];
  owners_.close(ended.owner, now);
  ended.phase = Phase::idle;
  ended.started = false;
  emit(ThreadEnded{slot, row.traffic, thread, row.session.threads[thread].parent, ended.start, now, last, ended.booked});
}

void Simulation::end_session(SessionSlot slot, SessionEnd end, Time now) {
  SessionRow& row = sessions_[slot];
  ++sessions_[slot].generation;  // events under way no longer concern anybody
  for (std::uint32_t thread = 1; thread < row.threads.size(); ++thread) {
    ThreadRow& other = row.threads[thread];
    if (!other.started) continue;
    if (other.call) abort_call(other.call, end == SessionEnd::cut ? CallEnd::cut : CallEnd::aborted, now);
    end_thread(slot, thread, false, now);
  }
  ThreadRow& main = row.threads[0];
  if (main.call) abort_call(main.call, end == SessionEnd::cut ? CallEnd::cut : CallEnd::aborted, now);
  book(slot, 0, now);
  owners_.close(main.owner, now);
  row.live = false;
  measured_open_ -= row.measured;
  emit(SessionEnded{slot, row.traffic, row.session.index, end, row.started, now, row.critical_path, row.calls_planned, main.booked});
  const ClassId traffic = row.traffic;
  if (row.zombies == 0) sessions_.close(slot);
  if (end == SessionEnd::cut) return;
  instant_ends_ = row.started == now ? instant_ends_ + 1 : 0;
  if (instant_ends_ > kMostInstantEnds) {
    throw ConfigError(
        {}, "traffic." + classes_[traffic.value].name,
        "a million sessions in a row ended at the instant they began, so time stands still; all their calls are refused (longer than "
        "serving.max_length), or they are abandoned at once");
  }
  classes_[traffic.value].load->ended(now);
  arm(traffic, now);
}

}  // namespace marea::cluster
