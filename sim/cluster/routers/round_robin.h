// Round robin: replicas in turn, whatever their load.
#pragma once

#include "sim/base/section.h"
#include "sim/cluster/router.h"

namespace marea::cluster::routers {

class RoundRobin final : public Router {
 public:
  static constexpr std::string_view name = "round-robin";
  static constexpr std::string_view summary = "replicas in turn, whatever their load";
  struct Params {
    static Params read(Section&) { return {}; }
  };
  RoundRobin(const Params&, PrefixIndex&) {}

  std::size_t route(const RoutedCall&, std::span<const ReplicaView> replicas, RandomStream&) override { return next_++ % replicas.size(); }

 private:
  std::size_t next_ = 0;
};

}  // namespace marea::cluster::routers
