// Tools: tries, workers and their queues, retries after a back-off.
#include "sim/cluster/simulation.h"

namespace marea::cluster {

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
  if (sessions_[entry.session].generation != entry.generation) {
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
  push(now + call.tool.attempts[entry.attempt].time, EventKind::tool_end, {index});
}

// The worker goes to the next try in line that somebody still waits for.
void Simulation::hand_over_worker(std::uint32_t index, ToolId tool, Time now) {
  while (const auto waiting = tools_[tool.value].next()) {
    if (sessions_[waiting->session].generation != waiting->generation) continue;
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
  const bool gone = sessions_[done.session].generation != done.generation;  // the session ended while the tool ran on
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
  complete_step(done.session, done.vertex, now);
}

}  // namespace marea::cluster
