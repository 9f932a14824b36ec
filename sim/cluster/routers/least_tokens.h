// Least tokens: the replica with the fewest prompt tokens in its waiting and running calls.
#pragma once

#include "sim/base/section.h"
#include "sim/cluster/router.h"

namespace marea::cluster::routers {

class LeastTokens final : public Router {
 public:
  static constexpr std::string_view name = "least-tokens";
  static constexpr std::string_view summary = "the replica with the fewest prompt tokens in its waiting and running calls";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  LeastTokens(const Params&, PrefixIndex&) {}

  std::size_t route(const RoutedCall&, std::span<const ReplicaView> replicas, RandomStream&) override {
    const auto least =
        std::min_element(replicas.begin(), replicas.end(), [](const ReplicaView& a, const ReplicaView& b) { return a.tokens < b.tokens; });
    return static_cast<std::size_t>(least - replicas.begin());
  }
};

}  // namespace marea::cluster::routers
