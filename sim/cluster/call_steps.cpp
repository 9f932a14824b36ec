// Model calls: issue, routing, what the engine decides about them step by step, and their end.
#include <algorithm>
#include <utility>

#include "sim/cluster/pool.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

namespace {

// Steps priced in advance at most. Longer plans save events, but more of them is thrown away when an arrival cuts the run.
constexpr std::int64_t kPlannedSteps = 96;
// Schedules without any sequence after which a replica with waiting calls is left alone until something reaches it.
constexpr int kEmptySchedules = 3;

}  // namespace

void Simulation::issue_call(SessionSlot slot, Vertex vertex, Time now) {
  SessionRow& row = sessions_[slot];
  const traffic::Step& call_step = step(slot, vertex);
  ThreadRow& thread = row.threads[call_step.thread];
  const std::string& wanted = row.session.threads.empty() ? std::string() : row.session.threads[call_step.thread].pool;
  const std::size_t pool_index = wanted.empty() ? classes_[row.traffic.value].pool : pool_named(wanted);
  Pool& pool = *pools_[pool_index];
  const CallSlot slot_of_call = sessions_.open_call();
  CallRow& call = sessions_[slot_of_call];
  call.session = slot;
  call.vertex = vertex;
  call.measured = inside(now);
  call.made_on = thread.kv_replica;
  call.pool = pool_index;
  call.lost_mark = call_step.call.known;
  CallEnded& fact = call.fact;
  fact = {.call = slot_of_call,
          .session = slot,
          .traffic = row.traffic,
          .session_index = row.session.index,
          .thread = call_step.thread,
          .index = row.calls_issued++,
          .after = thread.after,
          .prompt = call_step.call.prompt,
          .output = call_step.call.output,
          .known = call_step.call.known,
          .issued = now,
          .queued = kNever,
          .scheduled = kNever,
          .first_token = kNever,
          .last_token = kNever,
          .compaction = call_step.call.compaction};
  measured_open_ += call.measured;
  set_phase(slot, call_step.thread, Phase::front_end, now);
  thread.call = slot_of_call;
  if (fact.prompt + fact.output > pool.setup.engine.max_length) {
    end_call(slot_of_call, CallEnd::refused, now);
    sessions_.close_call(slot_of_call);
    end_session(slot, SessionEnd::failed, now);
    return;
  }
  emit(ContextGrew{slot, row.traffic, call_step.thread, call_step.call.content, row.session.shareable, now});
  const Duration front_end = pool.setup.host.front_end(call_step.call.prompt);
  if (front_end == Duration{}) {
    route(slot_of_call, now);
  } else {
    push(now + front_end, EventKind::routing, {slot_of_call.value, slot.value, sessions_[slot].generation});
  }
}

void Simulation::route(CallSlot slot, Time now) {
  CallRow& call = sessions_[slot];
  SessionRow& row = sessions_[call.session];
  Pool& pool = *pools_[call.pool];
  const traffic::CallStep& wanted = step(call.session, call.vertex).call;
  ThreadRow& thread = row.threads[call.fact.thread];
  const ThreadRow& home = pool.setup.sticky_agents ? row.threads[0] : thread;
  RoutedCall routed{wanted.content, wanted.prompt, std::nullopt};
  if (home.last_replica && stations_[home.last_replica.value].pool == call.pool) routed.previous = stations_[home.last_replica.value].index;
  RandomStream draws(seed_, "routing", row.traffic.value, row.session.index, call.vertex);
  const std::size_t chosen = pool.router->route(routed, pool.shown(), draws);
  check(chosen < pool.live.size(), "a router chose a replica that does not exist");
  Replica& replica = replicas_[pool.first + chosen];
  ++pool.live[chosen].requests;
  pool.live[chosen].tokens += wanted.prompt;
  thread.last_replica = thread.kv_replica = replica.id();
  call.fact.replica = replica.id();
  call.fact.queued = now;
  const serving::SchedulingKey key = pool.scheduler->key({.call = slot,
                                                          .arrival = arrivals_++,
                                                          .at = now,
                                                          .priority = row.session.priority,
                                                          .prompt = wanted.prompt,
                                                          .session_start = row.started,
                                                          .session_arrival = row.arrival});
  set_phase(call.session, call.fact.thread, Phase::queued, now);
  call.queue_at = replica.queue_totals(now);
  // The first call in the queue is noticed at the next boundary even if it has to wait there: from then on its cause of waiting is known.
  const bool matters = !replica.engine().head() || replica.engine().arrival_matters(key);
  replica.engine().add({.call = slot,
                        .content = wanted.content,
                        .prompt = wanted.prompt,
                        .output = wanted.output,
                        .shareable = row.session.shareable,
                        .owner = thread.owner,
                        .key = key});
  if (matters) wake(replica, now);
}

// Something reached the replica that its next schedule must see.
void Simulation::wake(Replica& replica, Time now) {
  Station& station = stations_[replica.id().value];
  if (station.scheduled) return;
  if (!replica.busy()) {
    station.scheduled = true;
    push(now, EventKind::scheduling, replica);
    return;
  }
  const Time before = replica.planned_end();
  const Time end = replica.cut(now);
  if (end == before) return;
  ++station.plan;
  push(end, EventKind::step_end, replica, station.plan);
}

void Simulation::schedule(Replica& replica, Time now) {
  Station& station = stations_[replica.id().value];
  station.scheduled = false;
  for (const CallSlot call : station.aborting) {
    replica.engine().abort(call, now);
    left_engine(station, call);
    retire(station, call);
  }
  station.aborting.clear();
  const bool was_busy = replica.busy();
  // Between steps an engine goes through empty ones as long as copies run: it learns of their ends at once.
  if (station.copies && !was_busy && replica.engine().in_flight() == 0 && station.copies->any_ended())
    cascade(replica, replica.engine().learn(now, station.copies->take_ended()), now);
  int empty = 0;
  while (true) {
    drop_empty(replica, now, empty);
    if (!replica.busy() && replica.engine().in_flight() > 0) start_on_device(replica, now);
    if (!replica.engine().can_schedule() || replica.engine().waits_for_transfers() || empty >= kEmptySchedules) break;
    decided(replica, replica.schedule(now), now);
  }
  if (station.copies) watch_standstill(replica, now);
  if (!replica.busy() || was_busy) return;
  const Time end = replica.plan(skip_ahead_ ? kPlannedSteps : 0);
  ++station.plan;
  push(end, EventKind::step_end, replica, station.plan);
}

// Takes note of what a schedule decided.
void Simulation::decided(Replica& replica, const serving::Batch& batch, Time now) {
  for (const serving::Admission& admission : batch.admitted) {
    CallRow& call = sessions_[admission.call];
    if (admission.resumed) {
      call.lost_mark = std::max(call.lost_mark, call.fact.first_token != kNever ? admission.known - 1 : call.computed);
      call.loss = LossCause::preemption;
    } else {
      call.fact.scheduled = now;
      call.fact.hit = admission.hit;
      call.fact.loaded = admission.loaded;
      call.loss = loss_of(call, replica);
      set_phase(call.session, call.fact.thread, Phase::admitted, now);
    }
    call.computed = admission.hit;
    call.prefilled = false;
  }
  if (batch.offload != nullptr) decided_copies(replica, batch, now);
  for (const CallSlot slot : batch.preempted) {
    CallRow& call = sessions_[slot];
    ++preemptions_;
    ++call.fact.preemptions;
    if (call.prefilled) {
      --replica.decoding()[call.fact.traffic.value];
      const std::vector<CallSlot>& returning = stations_[replica.id().value].returning;
      const bool silent = call.left_out && std::find(returning.begin(), returning.end(), slot) == returning.end();
      call.fact.last_token = silent ? call.left_out_since : now;
      if (silent) {
        call.left_out = false;
      } else if (replica.busy()) {
        stations_[replica.id().value].leaving.push_back(slot);  // the step on the device emits a token of it
      }
    }
    call.prefilled = false;
    set_phase(call.session, call.fact.thread, Phase::preempted, now);
  }
}

// Why the known tokens that a call did not find have to be computed again.
LossCause Simulation::loss_of(const CallRow& call, const Replica& replica) const {
  const std::int64_t block = pools_[call.pool]->setup.engine.block;
  const std::int64_t best = std::min(call.fact.known, call.fact.prompt - 1) / block * block;
  if (call.fact.hit >= best) return LossCause::partial_block;
  return call.made_on && call.made_on != replica.id() ? LossCause::other_replica : LossCause::eviction;
}

// Takes batches without a sequence out of the pipeline: they take no time, but the copies that they decided begin.
void Simulation::drop_empty(Replica& replica, Time now, int& dropped) {
  Station& station = stations_[replica.id().value];
  for (; replica.next_is_empty(); ++dropped) {
    if (!station.copies) {
      replica.drop_empty(now, {});
      continue;
    }
    start_copies(replica, now);
    start_stores(replica, replica.running(), now);
    cascade(replica, replica.drop_empty(now, station.copies->take_ended()), now);
  }
}

void Simulation::start_on_device(Replica& replica, Time now) {
  Duration held_up{};
  if (stations_[replica.id().value].copies) held_up = start_copies(replica, now) - now;
  if (held_up > Duration{}) emit(StepHeldUp{replica.id(), held_up, now});
  replica.start(now, held_up);
  for (const serving::Admission& admission : replica.running().admitted) {
    const CallRow& call = sessions_[admission.call];
    if (!call.zombie) set_phase(call.session, call.fact.thread, Phase::prefill, now);
  }
  for (const serving::Chunk& chunk : replica.running().chunks) {
    CallRow& call = sessions_[chunk.call];
    if (call.zombie) continue;
    book(call.session, call.fact.thread, now);
    call.chunk = chunk;
  }
  leave_out(replica, now);
}

// Calls that decode but are not in this step emit nothing with it; their gap ends with the next step that has them.
void Simulation::leave_out(Replica& replica, Time now) {
  std::vector<CallSlot>& waiting = stations_[replica.id().value].left_out;
  std::vector<CallSlot>& returning = stations_[replica.id().value].returning;
  const std::vector<CallSlot>& left_out = replica.running().left_out;
  if (waiting.empty() && left_out.empty()) return;
  const auto emits = [&](CallSlot slot) { return std::find(left_out.begin(), left_out.end(), slot) == left_out.end(); };
  for (const CallSlot slot : waiting) {
    if (sessions_[slot].left_out && !sessions_[slot].zombie && emits(slot)) returning.push_back(slot);
  }
  waiting.clear();
  for (const CallSlot slot : left_out) {
    CallRow& call = sessions_[slot];
    if (!call.prefilled || call.zombie) continue;
    if (!call.left_out) call.left_out_since = now;
    call.left_out = true;
    waiting.push_back(slot);
    replica.silence(call.fact.traffic);
  }
  for (const CallSlot slot : returning) replica.silence(sessions_[slot].fact.traffic);
}

// A step has left the device, and with it the run that was planned.
void Simulation::boundary(Replica& replica, Time now) {
  Station& station = stations_[replica.id().value];
  station.scheduled = true;  // whoever reaches the replica from here on is seen by the schedule of this boundary
  const Replica::Work& work = replica.running();
  emit(replica.finish());
  for (const serving::Chunk& chunk : work.chunks) {
    CallRow& call = sessions_[chunk.call];
    if (call.zombie) continue;
    book(call.session, call.fact.thread, now);
    call.computed = chunk.context + chunk.tokens;
    call.fact.lost[static_cast<std::size_t>(call.loss)] += lost_tokens(chunk, call.lost_mark);
  }
  bury(station);
  if (station.copies) start_stores(replica, work, now);
  const serving::Outcome& outcome =
      station.copies ? replica.engine().complete(now, station.copies->take_ended()) : replica.engine().complete(now);
  if (station.copies) cascade(replica, outcome, now);
  for (const CallSlot slot : station.leaving) {
    if (!sessions_[slot].zombie) sessions_[slot].fact.last_token = now;
  }
  station.leaving.clear();
  for (const CallSlot slot : station.returning) {
    CallRow& call = sessions_[slot];
    if (!call.left_out || call.zombie) continue;
    call.left_out = false;
    emit(LongGap{call.fact.traffic, now - call.left_out_since, now});
  }
  station.returning.clear();
  for (const CallSlot slot : outcome.first_tokens) emitted_first(replica, slot, now);
  for (const CallSlot slot : outcome.finished) finish_call(replica, slot, now);
  if (queue_.empty() || queue_.next_time() > now) {
    schedule(replica, now);  // nothing else happens at this instant: the event would be the next one
  } else {
    push(now, EventKind::scheduling, replica);
  }
}

void Simulation::emitted_first(Replica& replica, CallSlot slot, Time now) {
  CallRow& call = sessions_[slot];
  if (call.zombie) return;
  if (call.fact.first_token == kNever) {
    call.fact.first_token = now;
  } else {
    emit(LongGap{call.fact.traffic, now - call.fact.last_token, now});
  }
  call.fact.last_token = now;
  ThreadRow& thread = sessions_[call.session].threads[call.fact.thread];
  if (thread.phase == Phase::preempted) return;  // with this token still on its way
  call.prefilled = true;
  ++replica.decoding()[call.fact.traffic.value];
  set_phase(call.session, call.fact.thread, Phase::decode, now);
}

void Simulation::finish_call(Replica& replica, CallSlot slot, Time now) {
  CallRow& call = sessions_[slot];
  Station& station = stations_[replica.id().value];
  left_engine(station, slot);
  if (call.zombie) {  // it finished before the engine could be told
    std::erase(station.aborting, slot);
    retire(station, slot);
    return;
  }
  if (call.prefilled) --replica.decoding()[call.fact.traffic.value];
  call.fact.last_token = now;
  call.fact.generated = call.fact.output;
  const SessionSlot session = call.session;
  const Vertex vertex = call.vertex;
  end_call(slot, CallEnd::completed, now);
  sessions_.close_call(slot);
  complete_step(session, vertex, now);
}

// Books and reports the end of a call; the row stays until it is closed.
void Simulation::end_call(CallSlot slot, CallEnd end, Time now) {
  CallRow& call = sessions_[slot];
  ThreadRow& thread = sessions_[call.session].threads[call.fact.thread];
  book(call.session, call.fact.thread, now);
  thread.call = CallSlot{};
  thread.after = After::call;
  thread.phase = Phase::idle;
  call.fact.end = end;
  call.fact.at = now;
  measured_open_ -= call.measured;
  emit(call.fact);
}

void Simulation::abort_call(CallSlot slot, CallEnd end, Time now) {
  CallRow& call = sessions_[slot];
  const SessionSlot session = call.session;
  const bool in_engine = call.fact.queued != kNever;
  end_call(slot, end, now);
  if (!in_engine) {
    sessions_.close_call(slot);
    return;
  }
  Replica& replica = replicas_[call.fact.replica.value];
  if (call.prefilled) --replica.decoding()[call.fact.traffic.value];
  call.zombie = true;
  ++sessions_[session].zombies;
  if (end == CallEnd::cut) return;  // the run is over
  stations_[replica.id().value].aborting.push_back(slot);
  wake(replica, now);
}

// The router's view of the load loses a call.
void Simulation::left_engine(const Station& station, CallSlot slot) {
  ReplicaView& view = pools_[station.pool]->live[station.index];
  --view.requests;
  view.tokens -= sessions_[slot].fact.prompt;
}

std::size_t Simulation::pool_named(const std::string& name) const {
  for (std::size_t index = 0; index < pools_.size(); ++index) {
    if (pools_[index]->setup.name == name) return index;
  }
  check(false, "a sub-agent names a pool of replicas that does not exist");
  return 0;
}

// A call has left its engine, but batches in flight may still name it: for as many boundaries as there can be batches.
void Simulation::retire(Station& station, CallSlot slot) {
  constexpr int kBatches = 2;
  station.dead.emplace_back(slot, kBatches);
}

// Rows of aborted calls are closed once no batch in flight can name them.
void Simulation::bury(Station& station) {
  std::erase_if(station.dead, [this](std::pair<CallSlot, int>& entry) {
    if (--entry.second > 0) return false;
    const SessionSlot session = sessions_[entry.first].session;
    sessions_.close_call(entry.first);
    if (--sessions_[session].zombies == 0) sessions_.close(session);
    return true;
  });
}

}  // namespace marea::cluster
