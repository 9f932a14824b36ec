// The replicas that share one router, and what the router is shown of them.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/cluster/replica.h"
#include "sim/cluster/router.h"
#include "sim/cluster/setup.h"
#include "sim/cluster/simulation.h"

namespace marea::cluster {

struct Simulation::Pool final : public PrefixIndex {
  Pool(PoolSetup&& pool_setup, std::size_t first_replica, const serving::Future& future)
      : setup(std::move(pool_setup)), first(first_replica), scheduler(setup.scheduler(future)), router(setup.router(*this)) {
    setup.engine.keyed_order = scheduler->keyed();
    live.resize(static_cast<std::size_t>(setup.replicas));
    snapshot = live;
  }

  void attach(const std::deque<Replica>& all) { replicas = &all; }

  std::int64_t hit(const RoutedCall& call, std::size_t replica) const override {
    return (*replicas)[first + replica].engine().lookup(call.content, call.prompt);
  }

  // What the router is allowed to see now.
  const std::vector<ReplicaView>& shown() const { return setup.view_age == Duration{} ? live : snapshot; }

  PoolSetup setup;
  std::size_t first;  // id of its first replica
  std::unique_ptr<serving::Scheduler> scheduler;
  std::unique_ptr<Router> router;
  std::vector<ReplicaView> live;
  std::vector<ReplicaView> snapshot;
  const std::deque<Replica>* replicas = nullptr;
};

}  // namespace marea::cluster
