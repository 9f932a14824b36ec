// Copies of KV between a replica's device, its host pool and the tiers below: when they begin, what they hold up, and their ends.
#include <algorithm>

#include "sim/cluster/pool.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

// The loads that begin with the batch that is next for the device. Returns when the batch may begin: behind the copies that it must wait
// for, and behind those that batches without a sequence before it had to wait for.
Time Simulation::start_copies(Replica& replica, Time now) {
  Station& station = stations_[replica.id().value];
  const Replica::Work& work = replica.running();
  station.held_until = station.copies->last_end(work.flush, std::max(now, station.held_until));
  for (const serving::Transfer& load : work.loads)
    await_copy(replica, station.copies->submit(load, station.held_until),
               {load.number, false, load.call, {replica.id(), 0, true, load.blocks, now, now}});
  return station.held_until;
}

// Takes note of what a schedule decided about tiers.
void Simulation::decided_copies(Replica& replica, const serving::Batch& batch, Time now) {
  Station& station = stations_[replica.id().value];
  const serving::VllmV1Params& engine = pools_[station.pool]->setup.engine;
  for (const serving::Transfer& load : batch.offload->loads) {
    CallRow& call = sessions_[load.call];
    if (call.zombie) continue;
    call.load = load.number + 1;
    set_phase(call.session, call.fact.thread, Phase::loading, now);
  }
  for (const serving::LowerTransfer& promotion : batch.offload->promotions)
    await_copy(replica, station.copies->submit(promotion, now),
               {promotion.number,
                true,
                promotion.call,
                {replica.id(), promotion.tier + 1, true, promotion.blocks * engine.offload.factor, now, now}});
  if (engine.async && batch.preempted.size() > 1)
    emit(PreemptionAvalanche{replica.id(), now, static_cast<std::int64_t>(batch.preempted.size())});
}

// The batch has left the device: what it computed goes down.
void Simulation::start_stores(Replica& replica, const Replica::Work& work, Time now) {
  Station& station = stations_[replica.id().value];
  for (const serving::Transfer& store : work.stores)
    await_copy(replica, station.copies->submit(store, now),
               {store.number, false, store.call, {replica.id(), 0, false, store.blocks, now, now}});
}

// What has come down goes on to the tiers below.
void Simulation::cascade(Replica& replica, const serving::Outcome& outcome, Time now) {
  Station& station = stations_[replica.id().value];
  const std::int64_t factor = pools_[station.pool]->setup.engine.offload.factor;
  for (const serving::LowerTransfer& store : outcome.cascades)
    await_copy(replica, station.copies->submit(store, now),
               {store.number, true, store.call, {replica.id(), store.tier + 1, false, store.blocks * factor, now, now}});
}

void Simulation::await_copy(Replica& replica, Time end, const CopyUnderWay& copy) {
  Station& station = stations_[replica.id().value];
  std::uint32_t index;
  if (station.free_copying.empty()) {
    index = static_cast<std::uint32_t>(station.copying.size());
    station.copying.emplace_back();
  } else {
    index = station.free_copying.back();
    station.free_copying.pop_back();
  }
  station.copying[index] = copy;
  queue_.push(end, static_cast<std::uint8_t>(EventKind::copy_end), {replica.id().value, index});
}

void Simulation::copy_ended(std::uint32_t number, std::uint32_t index, Time now) {
  Station& station = stations_[number];
  Replica& replica = replicas_[number];
  CopyUnderWay& copy = station.copying[index];
  copy.fact.at = now;
  emit(copy.fact);
  if (copy.lower)
    replica.engine().ended_below(copy.number);
  else
    station.copies->ended(copy.number);
  if (copy.fact.load && !copy.lower) back_in_queue(copy, replica, now);
  station.free_copying.push_back(index);
  if (!replica.busy() || replica.engine().transfer_matters()) wake(replica, now);
}

// What a call waited for has come up: from here on it waits as those in the queue do.
void Simulation::back_in_queue(const CopyUnderWay& load, const Replica& replica, Time now) {
  CallRow& call = sessions_[load.call];
  if (call.load != load.number + 1 || call.zombie) return;
  call.load = 0;
  set_phase(call.session, call.fact.thread, Phase::queued, now);
  call.queue_at = replica.queue_totals(now);
}

// Calls that wait though nothing is under way that could let them in.
void Simulation::watch_standstill(Replica& replica, Time now) {
  Station& station = stations_[replica.id().value];
  const serving::VllmV1& engine = replica.engine();
  const bool stands = !replica.busy() && engine.waits_for_transfers() && engine.transfers() == 0 && engine.head();
  if (stands && !station.standing_still) emit(Standstill{replica.id(), now, engine.load().waiting});
  station.standing_still = stands;
}

}  // namespace marea::cluster
