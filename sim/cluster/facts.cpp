#include "sim/cluster/facts.h"

#include "sim/base/error.h"

namespace marea::cluster {

namespace {

template <std::size_t N, class Enum>
std::string_view pick(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  check(index < N, "an enumerator without a name");
  return names[index];
}

}  // namespace

std::string_view name(Cause cause) {
  static constexpr std::array<std::string_view, kCauses> names = {
      "front_end", "queue_slots", "queue_blocks", "queue_budget", "queue_boundary", "kv_load", "prefill_new", "prefill_lost",
      "decode",    "preempted",   "tool",         "tool_queue",   "backoff",        "person",  "agents"};
  return pick(names, cause);
}

std::string_view name(SessionEnd end) {
  static constexpr std::array<std::string_view, 4> names = {"completed", "failed", "abandoned", "cut"};
  return pick(names, end);
}

std::string_view name(CallEnd end) {
  static constexpr std::array<std::string_view, 4> names = {"completed", "refused", "aborted", "cut"};
  return pick(names, end);
}

std::string_view name(LossCause cause) {
  static constexpr std::array<std::string_view, kLossCauses> names = {"eviction", "other_replica", "preemption", "partial_block"};
  return pick(names, cause);
}

std::string_view name(KvState state) {
  static constexpr std::array<std::string_view, kKvStates> names = {"referenced",   "partial",        "cached_hit",
                                                                    "cached_never", "cached_unknown", "free"};
  return pick(names, state);
}

std::string_view name(KvOwner owner) {
  static constexpr std::array<std::string_view, kKvOwners> names = {"prefill", "decode", "active", "tool",  "person",
                                                                    "agents",  "ended",  "shared", "nobody"};
  return pick(names, owner);
}

}  // namespace marea::cluster
