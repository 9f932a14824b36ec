// Cumulative times by state for each owner, kept until no cached KV names the owner any more.
#include "sim/kv/owners.h"

namespace marea::kv {

OwnerId Owners::open(Time now) {
  OwnerId owner;
  if (free_.empty()) {
    owner = OwnerId{static_cast<std::uint32_t>(slots_.size())};
    slots_.emplace_back();
  } else {
    owner = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[owner.value];
  slot.spent = {};
  slot.state = OwnerState::active;
  slot.holds = 0;
  slot.past.clear();
  slot.since = now;
  slot.open = true;
  return owner;
}

void Owners::set_state(OwnerId owner, OwnerState state, Time now) {
  Slot& slot = slots_[owner.value];
  check(now >= slot.since, "an owner's clock went back");
  if (state == slot.state) return;
  if (slot.past.size() == 2 * kRemembered) slot.past.erase(slot.past.begin(), slot.past.begin() + kRemembered);
  slot.past.push_back({now, slot.since, slot.state});
  slot.spent[static_cast<int>(slot.state)] += (now - slot.since).count();
  slot.since = now;
  slot.state = state;
}

void Owners::close(OwnerId owner, Time now) {
  Slot& slot = slots_[owner.value];
  check(slot.open, "an owner was closed twice");
  set_state(owner, OwnerState::ended, now);
  slot.open = false;
  if (slot.holds == 0) free_.push_back(owner);
}

OwnerTimes Owners::times(OwnerId owner, Time at) const {
  const Slot& slot = slots_[owner.value];
  OwnerTimes times = slot.spent;
  if (at >= slot.since) {
    times[static_cast<int>(slot.state)] += (at - slot.since).count();
    return times;
  }
  // Take back what lies behind `at`, state by state.
  for (std::size_t i = slot.past.size(); i-- > 0;) {
    const Change& change = slot.past[i];
    const bool inside = at >= change.since || i == 0;
    times[static_cast<int>(change.before)] -= (change.at - (inside ? at : change.since)).count();
    if (inside) break;
  }
  return times;
}

void Owners::hold(OwnerId owner) { ++slots_[owner.value].holds; }

void Owners::release(OwnerId owner) {
  Slot& slot = slots_[owner.value];
  check(slot.holds > 0, "an owner was released more often than held");
  if (--slot.holds == 0 && !slot.open) free_.push_back(owner);
}

}  // namespace marea::kv
