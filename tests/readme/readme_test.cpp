// What README promises about adding a policy.
#include <doctest/doctest.h>

#include "sim/cluster/routers/power_of_three.h"
#include "tests/cluster/support.h"

using namespace marea;

TEST_CASE("the router of the README serves every call and uses every replica") {
  auto load = std::make_unique<test::ListedLoad>([](std::uint64_t index, traffic::Session& session) -> std::optional<Time> {
    if (index == 400) return std::nullopt;
    test::single_call(session, 100, 10);
    return kStart + std::chrono::milliseconds(index);
  });
  cluster::Setup setup = test::small_cluster(test::engine(8), Seconds{0.005}, std::move(load), 4);
  setup.pools[0].router = [](cluster::PrefixIndex& index) {
    return std::make_unique<cluster::routers::PowerOfThree>(cluster::routers::PowerOfThree::Params{}, index);
  };
  test::Collected seen;
  cluster::Simulation(std::move(setup), {&seen}).run({});
  std::array<int, 4> served{};
  for (const cluster::CallEnded& call : seen.calls) {
    CHECK(call.end == cluster::CallEnd::completed);
    ++served[call.replica.value];
  }
  CHECK(seen.calls.size() == 400);
  for (const int calls : served) CHECK(calls > 50);  // 100 each if perfectly even
}
