// When affinity gives way to balance, shared by the affinity routers: the rule of SGLang's cache-aware router.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sim/base/section.h"
#include "sim/cluster/router.h"

namespace marea::cluster::routers {

// Loads are out of balance when the busiest replica has more than `absolute` requests more than the idlest and more than `relative` times
// as many.
struct Balance {
  std::int64_t absolute = 32;
  double relative = 1.5;

  static Balance read(Section& section) {
    Balance balance;
    if (auto value = section.optional("balance_absolute")) balance.absolute = value->integer(0, 1'000'000'000);
    if (auto value = section.optional("balance_relative")) balance.relative = value->number(1, 1e9);
    return balance;
  }

  bool lost(std::span<const ReplicaView> replicas) const {
    const auto [least, most] = std::minmax_element(replicas.begin(), replicas.end(),
                                                   [](const ReplicaView& a, const ReplicaView& b) { return a.requests < b.requests; });
    return most->requests - least->requests > absolute &&
           static_cast<double>(most->requests) > relative * static_cast<double>(least->requests);
  }
};

}  // namespace marea::cluster::routers
