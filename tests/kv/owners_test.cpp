// Owners of cached KV: what they were doing, also seen from a little later.
#include <doctest/doctest.h>

#include <numeric>

#include "sim/kv/owners.h"

namespace marea::kv {
namespace {

Time at(std::int64_t nanoseconds) { return kStart + Duration{nanoseconds}; }
std::int64_t in(const OwnerTimes& times, OwnerState state) { return times[static_cast<std::size_t>(state)]; }

TEST_CASE("the times of an owner split its life by state") {
  Owners owners;
  const OwnerId owner = owners.open(at(10));
  owners.set_state(owner, OwnerState::tool, at(30));
  owners.set_state(owner, OwnerState::active, at(70));
  const OwnerTimes times = owners.times(owner, at(75));
  CHECK(in(times, OwnerState::active) == 25);  // 10-30 and 70-75
  CHECK(in(times, OwnerState::tool) == 40);
  CHECK(std::accumulate(times.begin(), times.end(), std::int64_t{0}) == 65);
}

TEST_CASE("times can be read as of an instant before the last changes") {
  Owners owners;
  const OwnerId owner = owners.open(at(0));
  owners.set_state(owner, OwnerState::tool, at(10));
  owners.set_state(owner, OwnerState::person, at(30));
  owners.set_state(owner, OwnerState::active, at(60));
  CHECK(in(owners.times(owner, at(20)), OwnerState::tool) == 10);
  CHECK(in(owners.times(owner, at(20)), OwnerState::person) == 0);
  CHECK(in(owners.times(owner, at(45)), OwnerState::person) == 15);
  CHECK(in(owners.times(owner, at(5)), OwnerState::active) == 5);
  for (std::int64_t t = 0; t <= 80; ++t) {
    const OwnerTimes times = owners.times(owner, at(t));
    CHECK(std::accumulate(times.begin(), times.end(), std::int64_t{0}) == t);
  }
}

TEST_CASE("the sum over the states is exact even where changes are forgotten") {
  Owners owners;
  const OwnerId owner = owners.open(at(0));
  for (int i = 1; i < 200; ++i) owners.set_state(owner, i % 2 ? OwnerState::tool : OwnerState::active, at(10 * i));
  const std::int64_t last = 10 * 199;
  const std::int64_t exact = last - 10 * static_cast<std::int64_t>(Owners::kRemembered);
  CHECK(in(owners.times(owner, at(exact)), OwnerState::tool) == exact / 20 * 10);  // 10 ns of every 20, the first half active
  const OwnerTimes early = owners.times(owner, at(15));
  CHECK(std::accumulate(early.begin(), early.end(), std::int64_t{0}) == 15);
}

TEST_CASE("an owner's slot is used again only when it is closed and nothing names it") {
  Owners owners;
  const OwnerId first = owners.open(at(0));
  owners.hold(first);
  owners.hold(first);
  owners.close(first, at(5));
  CHECK(owners.state(first) == OwnerState::ended);
  owners.release(first);
  const OwnerId second = owners.open(at(6));
  CHECK(second != first);
  CHECK(in(owners.times(first, at(9)), OwnerState::ended) == 4);
  owners.release(first);
  CHECK(owners.open(at(10)) == first);
  CHECK_THROWS_AS(owners.release(second), InternalError);
  owners.close(second, at(11));
  CHECK(owners.open(at(12)) == second);
}

}  // namespace
}  // namespace marea::kv
