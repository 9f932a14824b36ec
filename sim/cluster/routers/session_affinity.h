// Session affinity: a session stays on the replica of its last call, where its KV is; new sessions go to the fewest requests.
#pragma once

#include "sim/base/section.h"
#include "sim/cluster/router.h"
#include "sim/cluster/routers/balance.h"

namespace marea::cluster::routers {

class SessionAffinity final : public Router {
 public:
  static constexpr std::string_view name = "session-affinity";
  static constexpr std::string_view summary =
      "the replica of the session's last call, unless loads are out of balance; else the fewest requests";
  using Params = Balance;
  SessionAffinity(const Params& balance, PrefixIndex&) : balance_(balance) {}

  std::size_t route(const RoutedCall& call, std::span<const ReplicaView> replicas, RandomStream&) override {
    if (call.previous && !balance_.lost(replicas)) return *call.previous;
    return least_requests(replicas);
  }

 private:
  Balance balance_;
};

}  // namespace marea::cluster::routers
