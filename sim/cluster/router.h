// Routers choose the replica of a call. They see a snapshot of the replicas, as old as the scenario says, and facts about the call; never
// the queue itself, the clock or the future.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "sim/base/ids.h"
#include "sim/base/random.h"
#include "sim/kv/content.h"

namespace marea::cluster {

// What a router is told about one replica of its pool.
struct ReplicaView {
  std::int64_t requests = 0;  // waiting and running
  std::int64_t tokens = 0;    // of their prompts
};

// What a router is told about the call.
struct RoutedCall {
  kv::ContentView content;  // a router looks at no more than the first `prompt` tokens
  std::int64_t prompt = 0;
  std::optional<std::size_t> previous;  // replica (index in the pool) of the last call of the same session; nothing for its first
};

// Hit of a call on each replica of the pool, asked of the replicas themselves: for routers with a true index instead of a record.
class PrefixIndex {
 public:
  virtual ~PrefixIndex() = default;
  virtual std::int64_t hit(const RoutedCall& call, std::size_t replica) = 0;  // tokens
};

// One instance per pool and run.
class Router {
 public:
  virtual ~Router() = default;
  // Returns an index into `replicas`, never empty; ties go to the lowest. `draws` is a stream of this call alone.
  virtual std::size_t route(const RoutedCall& call, std::span<const ReplicaView> replicas, RandomStream& draws) = 0;
};

// A choice of router as read from its YAML line; makes a fresh instance for each pool.
using RouterRecipe = std::function<std::unique_ptr<Router>(PrefixIndex& index)>;

// The replica with the fewest requests, the lowest of equals.
inline std::size_t least_requests(std::span<const ReplicaView> replicas) {
  const auto least = std::min_element(replicas.begin(), replicas.end(),
                                      [](const ReplicaView& a, const ReplicaView& b) { return a.requests < b.requests; });
  return static_cast<std::size_t>(least - replicas.begin());
}

}  // namespace marea::cluster
