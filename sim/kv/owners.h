// Whose KV it is, for the memory ledger: what each session is doing while its KV lies in memory. A session as an owner outlives the
// session itself for as long as cached KV names it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/time.h"

namespace marea::kv {

// What the owner of a cached segment is doing. `active`: one of its calls is queued or running somewhere (front end included).
enum class OwnerState : std::uint8_t { active, tool, person, agents, ended, shared };
inline constexpr int kOwnerStates = 6;

// Nanoseconds that an owner has spent in each state up to some instant. The difference of two snapshots splits any interval in between.
using OwnerTimes = std::array<std::int64_t, kOwnerStates>;

class Owners {
 public:
  OwnerId open(Time now);  // state: active
  void set_state(OwnerId owner, OwnerState state, Time now);
  void close(OwnerId owner, Time now);  // state `ended` for good; the slot is freed when no segment names it
  OwnerState state(OwnerId owner) const { return slots_[owner.value].state; }
  // Cumulative since open. `at` may lie a little in the past: a replica that passes over steps books their evictions afterwards. Exact
  // within the last kRemembered changes of state; the sum over the states is exact always.
  OwnerTimes times(OwnerId owner, Time at) const;
  void hold(OwnerId owner);     // one more segment names it
  void release(OwnerId owner);  // one fewer

  static constexpr std::size_t kRemembered = 32;

 private:
  struct Change {
    Time at;     // when `before` ended
    Time since;  // when it had begun
    OwnerState before;
  };
  struct Slot {
    OwnerTimes spent{};
    Time since{};
    OwnerState state = OwnerState::active;
    bool open = false;
    std::int64_t holds = 0;
    std::vector<Change> past;
  };
  std::vector<Slot> slots_;
  std::vector<OwnerId> free_;
};

}  // namespace marea::kv
