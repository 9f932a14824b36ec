// Prefix affinity with a true index: the replica that holds the longest prefix of the prompt at this moment.
#pragma once

#include "sim/base/section.h"
#include "sim/cluster/router.h"
#include "sim/cluster/routers/balance.h"

namespace marea::cluster::routers {

class PrefixIndexAffinity final : public Router {
 public:
  static constexpr std::string_view name = "prefix-index";
  static constexpr std::string_view summary =
      "the replica that holds the longest prefix of the prompt now (true index), unless loads are out of balance";
  using Params = Balance;
  PrefixIndexAffinity(const Params& balance, PrefixIndex& index) : balance_(balance), index_(&index) {}

  std::size_t route(const RoutedCall& call, std::span<const ReplicaView> replicas, RandomStream&) override {
    if (balance_.lost(replicas)) return least_requests(replicas);
    std::size_t best = 0;
    std::int64_t longest = -1;
    for (std::size_t replica = 0; replica < replicas.size(); ++replica) {
      const std::int64_t hit = index_->hit(call, replica);
      if (hit > longest || (hit == longest && replicas[replica].requests < replicas[best].requests)) {
        longest = hit;
        best = replica;
      }
    }
    return best;
  }

 private:
  Balance balance_;
  PrefixIndex* index_;
};

}  // namespace marea::cluster::routers
