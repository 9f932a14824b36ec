// Least requests: the replica with the fewest waiting and running calls.
#pragma once

#include "sim/base/section.h"
#include "sim/cluster/router.h"

namespace marea::cluster::routers {

class LeastRequests final : public Router {
 public:
  static constexpr std::string_view name = "least-requests";
  static constexpr std::string_view summary = "the replica with the fewest waiting and running calls";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  LeastRequests(const Params&, PrefixIndex&) {}

  std::size_t route(const RoutedCall&, std::span<const ReplicaView> replicas, RandomStream&) override { return least_requests(replicas); }
};

}  // namespace marea::cluster::routers
