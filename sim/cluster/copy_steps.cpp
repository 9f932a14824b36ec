// Copies of KV between a replica's device, its host pool and the tiers below: when they begin, what they hold up, and their ends.
#include <algorithm>

#include "sim/cluster/pool.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

// The copies that begin with the batch that is next for the device. Returns how long the batch has to wait for earlier ones.
Duration Simulation::start_copies(Replica& replica, Time now) {
  Station& station = stations_[replica.id().value];
  const Replica::Work& work = replica.running();
  const std::int64_t factor = pools_[station.pool]->setup.engine.offload.factor;
  const Time ready = station.copies->last_end(work.flush, now);
  if (ready > now) emit(StepHeldUp{replica.id(), ready - now, now});
  for (const serving::Transfer& load : work.loads)
    await_copy(replica, station.copies->submit(load, now), {load.number, false, {replica.id(), 0, true, load.blocks, now, now}});
  for (const serving::LowerTransfer& promotion : work.promotions)
    await_copy(replica, station.copies->submit(promotion, now),
               {promotion.number, true, {replica.id(), promotion.tier + 1, true, promotion.blocks * factor, now, now}});
  return ready - now;
}

// The batch has left the device: what it computed goes down.
void Simulation::start_stores(Replica& replica, const Replica::Work& work, Time now) {
  Station& station = stations_[replica.id().value];
  for (const serving::Transfer& store : work.stores)
    await_copy(replica, station.copies->submit(store, now), {store.number, false, {replica.id(), 0, false, store.blocks, now, now}});
}

// What has come down goes on to the tiers below.
void Simulation::cascade(Replica& replica, const serving::Outcome& outcome, Time now) {
  Station& station = stations_[replica.id().value];
  const std::int64_t factor = pools_[station.pool]->setup.engine.offload.factor;
  for (const serving::LowerTransfer& store : outcome.cascades)
    await_copy(replica, station.copies->submit(store, now),
               {store.number, true, {replica.id(), store.tier + 1, false, store.blocks * factor, now, now}});
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
  station.free_copying.push_back(index);
  if (!replica.busy() || replica.engine().transfer_matters()) wake(replica, now);
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
