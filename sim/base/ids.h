// Dense indices of the things a run talks about. Each is a type of its own; the value indexes a vector.
#pragma once

#include <compare>
#include <cstdint>

namespace marea {

template <class Tag>
struct Id {
  std::uint32_t value = UINT32_MAX;  // UINT32_MAX: none
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  constexpr explicit operator bool() const { return value != UINT32_MAX; }
};

using SessionSlot = Id<struct SessionSlotTag>;  // a live session; slots are used again
using CallSlot = Id<struct CallSlotTag>;        // a live model call; slots are used again
using ReplicaId = Id<struct ReplicaTag>;
using PoolId = Id<struct PoolTag>;    // a pool of replicas
using ClassId = Id<struct ClassTag>;  // a traffic class
using ToolId = Id<struct ToolTag>;
using OwnerId = Id<struct OwnerTag>;  // a session as an owner of KV; outlives the session while KV of it is cached

}  // namespace marea
