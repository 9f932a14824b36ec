// Where the time of sessions goes: every change of what a thread does books what it did before.
#include "sim/base/error.h"
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
    case Phase::loading:
      book(slot, thread, Cause::kv_load, spent, now);
      break;
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

void Simulation::book_all(Time now) {
  for (std::uint32_t slot = 0; slot < sessions_.slots(); ++slot) {
    SessionRow& row = sessions_[SessionSlot{slot}];
    if (!row.live) continue;
    for (std::uint32_t thread = 0; thread < row.threads.size(); ++thread) book(SessionSlot{slot}, thread, now);
  }
}

}  // namespace marea::cluster
