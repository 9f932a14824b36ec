// The replicas that share one router, and what the router is shown of them.
#pragma once

#include <memory>
#include <vector>

#include "sim/cluster/replica.h"
#include "sim/cluster/router.h"
#include "sim/cluster/setup.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

struct Simulation::Pool final : public PrefixIndex {
  Pool(PoolSetup&& pool_setup, std::size_t first_replica, Simulation& owner)
      : setup(std::move(pool_setup)),
        first(first_replica),
        simulation(&owner),
        scheduler(setup.scheduler(owner)),
        router(setup.router(*this)) {
    setup.engine.keyed_order = scheduler->keyed();
    live.resize(static_cast<std::size_t>(setup.replicas));
    snapshot = live;
  }

  std::int64_t hit(const RoutedCall& call, std::size_t replica) override {
    Replica& asked = simulation->replicas_[first + replica];
    simulation->catch_up(asked, simulation->now_ - Duration{1});  // a boundary at this very instant schedules after the routing
    return asked.engine().lookup(call.content, call.prompt);
  }

  // What the router is allowed to see now.
  const std::vector<ReplicaView>& shown() const { return setup.view_age == Duration{} ? live : snapshot; }

  PoolSetup setup;
  std::size_t first;  // id of its first replica
  Simulation* simulation;
  std::unique_ptr<serving::Scheduler> scheduler;
  std::unique_ptr<Router> router;
  std::vector<ReplicaView> live;
  std::vector<ReplicaView> snapshot;
};

}  // namespace marea::cluster
