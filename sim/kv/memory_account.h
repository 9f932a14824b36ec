// Token-time of one KV pool by state and owner: exact integrals, so that all of them together are pool x time to the last digit.
#pragma once

#include <array>
#include <cstdint>

#include "sim/base/int128.h"
#include "sim/base/time.h"
#include "sim/kv/owners.h"

namespace marea::kv {

// Token-nanoseconds; beyond 64 bits in long runs.
using TokenTime = Uint128;

// What the memory is doing. `partial`: allocated, but no token that has been scheduled lies there. Cached splits by fate: hit later,
// evicted without a hit, not known at the end of the account.
enum class KvState : std::uint8_t { referenced, partial, cached_hit, cached_never, cached_unknown, free };
inline constexpr int kKvStates = 6;

// For whom: the running call (prefill, decode), what the only owner of cached KV was doing (active ... ended), several, nobody.
enum class KvOwner : std::uint8_t { prefill, decode, active, tool, person, agents, ended, shared, nobody };
inline constexpr int kKvOwners = 9;

class MemoryAccount {
 public:
  // Tokens that are in a state now, for the states that change with every step. Set by the pool after advance().
  struct Levels {
    std::array<std::int64_t, 2> referenced{};  // held by one prefilling, one decoding call
    std::array<std::int64_t, 2> partial{};     // the same
    std::int64_t shared = 0;                   // held by several
    std::int64_t free = 0;                     // no key, no holder
  };
  Levels levels;

  // Books the levels up to `now`. Call before they change.
  void advance(Time now) {
    const std::int64_t passed = (now - now_).count();
    if (passed == 0) return;
    check(passed > 0, "a memory account went back in time");
    book(passed);
    now_ = now;
  }
  Time now() const { return now_; }

  // Books `tokens` that lay cached between two snapshots of their owner's times.
  void cached(KvState fate, std::int64_t tokens, const OwnerTimes& since, const OwnerTimes& until);
  // The same for KV that several owners used.
  void cached_shared(KvState fate, std::int64_t tokens, Time since, Time until);

  TokenTime total(KvState state, KvOwner owner) const { return totals_[static_cast<int>(state)][static_cast<int>(owner)]; }
  TokenTime total() const;
  // Forgets what was booked; the levels stay.
  void clear() { totals_ = {}; }

 private:
  void book(std::int64_t passed);
  TokenTime& at(KvState state, KvOwner owner) { return totals_[static_cast<int>(state)][static_cast<int>(owner)]; }

  std::array<std::array<TokenTime, kKvOwners>, kKvStates> totals_{};
  Time now_ = kStart;
};

}  // namespace marea::kv
