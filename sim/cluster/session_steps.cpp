// Sessions: how they start, go from step to step of their program, wait, and end.
#include <utility>

#include "sim/cluster/pool.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

namespace {

// What KV that belongs to a thread in this phase is waiting for.
kv::OwnerState owner_state(Phase phase) {
  switch (phase) {
    case Phase::tool:
    case Phase::tool_queue:
    case Phase::backoff:
      return kv::OwnerState::tool;
    case Phase::person:
      return kv::OwnerState::person;
    case Phase::agents:
      return kv::OwnerState::agents;
    default:
      return kv::OwnerState::active;
  }
}

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
  if (generations_.size() <= slot.value) generations_.resize(slot.value + 1, 0);
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
  row.pending.assign(vertices, 0);
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    for (auto [edge, last] = out_edges(vertex, program); edge != last; ++edge) ++row.pending[target(*edge, program)];
  }
  row.critical_path =
      num_edges(program) == 0 && vertices == 1 && program[0].kind == traffic::StepKind::call ? Duration{} : traffic::critical_path(program);
  measured_open_ += row.measured;
  emit(SessionStarted{slot, traffic, row.session.index, now, row.critical_path});
  if (row.session.abandon_after) {
    push(now + *row.session.abandon_after, EventKind::wait_end, {slot.value, generations_[slot.value], UINT32_MAX - 1});
  }
  ThreadRow& main = row.threads[0];
  main.started = true;
  main.start = main.since = main.waited_until = now;
  main.owner = owners_.open(now);
  roots_.clear();
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    if (row.pending[vertex] == 0) roots_.push_back(vertex);
  }
  const std::uint32_t generation = generations_[slot.value];
  ++row.active;  // keeps the session from ending while its first steps start
  for (const Vertex root : roots_) {
    start_step(slot, root, now);
    if (generations_[slot.value] != generation) return;  // the session failed at once
  }
  if (--row.active == 0) end_session(slot, SessionEnd::completed, now);
}

void Simulation::start_step(SessionSlot slot, Vertex vertex, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Step& next = step(slot, vertex);
  ThreadRow& thread = row.threads[next.thread];
  if (!thread.started) {
    thread.started = true;
    thread.start = thread.since = thread.waited_until = now;
    thread.owner = owners_.open(now);
    const std::uint32_t parent = row.session.threads[next.thread].parent;
    thread.last_replica = row.threads[parent].last_replica;
  }
  ++row.active;
  switch (next.kind) {
    case traffic::StepKind::call:
      if (next.call.recorded && *next.call.recorded > now) {
        // The recorded time stands for whatever the session waited for before this call.
        set_phase(slot, next.thread, thread.after == After::tool ? Phase::tool : Phase::person, now);
        push(*next.call.recorded, EventKind::wait_end, {slot.value, generations_[slot.value], vertex});
      } else {
        issue_call(slot, vertex, now);
      }
      break;
    case traffic::StepKind::tool:
      set_phase(slot, next.thread, Phase::tool_queue, now);
      dispatch_tool({.session = slot,
                     .generation = generations_[slot.value],
                     .vertex = vertex,
                     .tool = next.tool.tool,
                     .traffic = row.traffic,
                     .queued = now});
      break;
    case traffic::StepKind::human:
      set_phase(slot, next.thread, Phase::person, now);
      push(now + next.human.time, EventKind::wait_end, {slot.value, generations_[slot.value], vertex});
      break;
    case traffic::StepKind::fork:
      complete_step(slot, vertex, now);
      break;
    case traffic::StepKind::join:
      thread.after = After::agents;
      thread.waited_until = now;
      complete_step(slot, vertex, now);
      break;
  }
}

void Simulation::complete_step(SessionSlot slot, Vertex vertex, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Program& program = row.session.program;
  const std::uint32_t thread = program[vertex].thread;
  const std::uint32_t generation = generations_[slot.value];
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
    if (generations_[slot.value] != generation) return;  // the session failed at once
  }
  if (--row.active == 0) {
    end_session(slot, SessionEnd::completed, now);
  } else if (row.threads[thread].started && row.threads[thread].phase == Phase::idle) {
    set_phase(slot, thread, Phase::agents, now);  // its next step is a join that others have yet to reach
  }
}

void Simulation::wait_ended(SessionSlot slot, Vertex vertex, Time now) {
  if (vertex == UINT32_MAX - 1) {
    end_session(slot, SessionEnd::abandoned, now);
    return;
  }
  SessionRow& row = sessions_[slot];
  const traffic::Step& ended = step(slot, vertex);
  book(slot, ended.thread, now);
  ThreadRow& thread = row.threads[ended.thread];
  if (ended.kind == traffic::StepKind::call) {  // its recorded time has come
    if (thread.after == After::call) thread.after = After::person;
    thread.waited_until = now;
    issue_call(slot, vertex, now);
    return;
  }
  thread.after = After::person;
  thread.waited_until = now;
  complete_step(slot, vertex, now);
}

// Puts a try in front of its tool at the time it was queued for.
void Simulation::dispatch_tool(const ToolTry& entry) {
  std::uint32_t index = static_cast<std::uint32_t>(tries_.size());
  if (free_tries_.empty()) {
    tries_.push_back(entry);
  } else {
    index = free_tries_.back();
    free_tries_.pop_back();
    tries_[index] = entry;
  }
  push(entry.queued, EventKind::tool_dispatch, {index});
}

// A try asks for a worker: it runs at once or waits its turn.
void Simulation::ask_for_worker(std::uint32_t index, Time now) {
  const ToolTry& entry = tries_[index];
  if (generations_[entry.session.value] != entry.generation) {
    free_tries_.push_back(index);
    return;
  }
  if (tools_[entry.tool.value].acquire()) {
    run_tool(index, now);
    return;
  }
  set_phase(entry.session, step(entry.session, entry.vertex).thread, Phase::tool_queue, now);
  tools_[entry.tool.value].wait(entry);
  free_tries_.push_back(index);
}

void Simulation::run_tool(std::uint32_t index, Time now) {
  ToolTry& entry = tries_[index];
  const traffic::Step& call = step(entry.session, entry.vertex);
  set_phase(entry.session, call.thread, Phase::tool, now);
  entry.began = now;
  push(now + call.tool.attempts[entry.attempt].time, EventKind::wait_end, {index, 0, UINT32_MAX});
}

// The worker goes to the next try in line that somebody still waits for.
void Simulation::hand_over_worker(std::uint32_t index, ToolId tool, Time now) {
  while (const auto waiting = tools_[tool.value].next()) {
    if (generations_[waiting->session.value] != waiting->generation) continue;
    tries_[index] = *waiting;
    run_tool(index, now);
    return;
  }
  tools_[tool.value].release();
  free_tries_.push_back(index);
}

void Simulation::tool_ended(std::uint32_t index, Time now) {
  ToolTry done = tries_[index];
  hand_over_worker(index, done.tool, now);
  const bool gone = generations_[done.session.value] != done.generation;  // the session ended while the tool ran on
  const traffic::ToolStep* tool = gone ? nullptr : &step(done.session, done.vertex).tool;
  const bool failed = !gone && tool->attempts[done.attempt].fails;
  emit(ToolEnded{done.tool, done.traffic, done.began - done.queued, now - done.began, failed, now});
  if (gone) return;
  const std::uint32_t thread = step(done.session, done.vertex).thread;
  if (failed && done.attempt + 1 < tool->attempts.size()) {
    set_phase(done.session, thread, Phase::backoff, now);
    done.queued = now + tool->attempts[done.attempt].backoff_after;
    ++done.attempt;
    dispatch_tool(done);
    return;
  }
  if (failed && tool->fatal) {
    end_session(done.session, SessionEnd::failed, now);
    return;
  }
  book(done.session, thread, now);
  ThreadRow& row = sessions_[done.session].threads[thread];
  row.after = After::tool;
  row.waited_until = now;
  complete_step(done.session, done.vertex, now);
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
  ++generations_[slot.value];  // events under way no longer concern anybody
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
  std::int64_t planned = 0;
  if (num_vertices(row.session.program) == row.calls_issued) {
    planned = row.calls_issued;
  } else {
    for (auto [vertex, stop] = vertices(row.session.program); vertex != stop; ++vertex) {
      planned += row.session.program[*vertex].kind == traffic::StepKind::call;
    }
  }
  row.live = false;
  measured_open_ -= row.measured;
  emit(SessionEnded{slot, row.traffic, row.session.index, end, row.started, now, row.critical_path, planned, main.booked});
  const ClassId traffic = row.traffic;
  if (row.zombies == 0) sessions_.close(slot);
  if (end == SessionEnd::cut) return;
  classes_[traffic.value].load->ended(now);
  arm(traffic, now);
}

void Simulation::set_phase(SessionSlot slot, std::uint32_t thread, Phase phase, Time now) {
  ThreadRow& changed = sessions_[slot].threads[thread];
  if (changed.phase == phase) return;
  book(slot, thread, now);
  changed.phase = phase;
  owners_.set_state(changed.owner, owner_state(phase), now);
}

void Simulation::book(SessionSlot slot, std::uint32_t thread, Cause cause, Duration duration, Time at) {
  if (duration == Duration{}) return;
  SessionRow& row = sessions_[slot];
  ThreadRow& booked = row.threads[thread];
  const auto index = static_cast<std::size_t>(cause);
  booked.booked[index] += duration;
  if (booked.call) sessions_[booked.call].fact.booked[index] += duration;
  emit(TimeBooked{slot, row.traffic, thread, cause, duration, at, window_open_ && !window_closed_});
}

// Books everything up to `now` by what the thread has been doing.
void Simulation::book(SessionSlot slot, std::uint32_t thread, Time now) {
  ThreadRow& row = sessions_[slot].threads[thread];
  if (!row.started || row.since == now) return;
  const Duration spent = now - row.since;
  row.since = now;
  switch (row.phase) {
    case Phase::idle:
      check(spent == Duration{}, "time passed in no phase");
      break;
    case Phase::front_end:
      book(slot, thread, Cause::front_end, spent, now);
      break;
    case Phase::queued: {
      CallRow& call = sessions_[row.call];
      const QueueTotals totals = replicas_[call.fact.replica.value].queue_totals(now);
      for (std::size_t cause = 0; cause < totals.spent.size(); ++cause) {
        book(slot, thread, static_cast<Cause>(static_cast<std::size_t>(Cause::queue_slots) + cause),
             totals.spent[cause] - call.queue_at.spent[cause], now);
      }
      call.queue_at = totals;
      break;
    }
    case Phase::admitted:
      book(slot, thread, Cause::queue_boundary, spent, now);
      break;
    case Phase::prefill: {
      const CallRow& call = sessions_[row.call];
      const PrefillSplit split = split_prefill(spent, call.chunk, call.lost_mark);
      book(slot, thread, Cause::prefill_lost, split.lost, now);
      book(slot, thread, Cause::prefill_new, split.fresh, now);
      break;
    }
    case Phase::decode:
      book(slot, thread, Cause::decode, spent, now);
      break;
    case Phase::preempted:
      book(slot, thread, Cause::preempted, spent, now);
      break;
    case Phase::tool:
      book(slot, thread, Cause::tool, spent, now);
      break;
    case Phase::tool_queue:
      book(slot, thread, Cause::tool_queue, spent, now);
      break;
    case Phase::backoff:
      book(slot, thread, Cause::backoff, spent, now);
      break;
    case Phase::person:
      book(slot, thread, Cause::person, spent, now);
      break;
    case Phase::agents:
      book(slot, thread, Cause::agents, spent, now);
      break;
  }
}

}  // namespace marea::cluster
