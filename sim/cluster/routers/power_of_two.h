// Power of two choices: the less loaded of two replicas drawn at random for this call.
#pragma once

#include "sim/base/section.h"
#include "sim/cluster/router.h"

namespace marea::cluster::routers {

class PowerOfTwo final : public Router {
 public:
  static constexpr std::string_view name = "power-of-two";
  static constexpr std::string_view summary = "the less loaded of two replicas drawn at random for this call";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  PowerOfTwo(const Params&, PrefixIndex&) {}

  std::size_t route(const RoutedCall&, std::span<const ReplicaView> replicas, RandomStream& draws) override {
    if (replicas.size() == 1) return 0;
    const auto below = [&](std::size_t n) { return std::min(static_cast<std::size_t>(draws.uniform() * static_cast<double>(n)), n - 1); };
    std::size_t a = below(replicas.size());
    std::size_t b = below(replicas.size() - 1);
    if (b >= a) ++b;  // two different replicas, every pair equally likely
    if (a > b) std::swap(a, b);
    return replicas[b].requests < replicas[a].requests ? b : a;
  }
};

}  // namespace marea::cluster::routers
