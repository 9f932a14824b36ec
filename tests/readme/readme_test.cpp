// What README promises about adding a policy.
#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <iterator>

#include "sim/run/plugins.h"
#include "tests/cluster/support.h"

using namespace marea;

namespace marea::run::readme {
std::span<const PluginRow<cluster::RouterRecipe>> routers();  // the table with the row that the text adds
}

namespace {

Tree name(std::string_view text) {
  Tree tree;
  tree.kind = Tree::Kind::scalar;
  tree.text = text;
  return tree;
}

}  // namespace

TEST_CASE("the router of the README is found by its name, serves every call and uses every replica") {
  CHECK(run::readme::routers().size() == run::routers().size() + 1);
  const Tree word = name("power-of-three");
  const auto recipe = run::read_plugin<cluster::RouterRecipe>(Value(word, "serving.router"), run::readme::routers(), "router");
  auto load = std::make_unique<test::ListedLoad>([](std::uint64_t index, traffic::Session& session) -> std::optional<Time> {
    if (index == 400) return std::nullopt;
    test::single_call(session, 100, 10);
    return kStart + std::chrono::milliseconds(index);
  });
  cluster::Setup setup = test::small_cluster(test::engine(8), Seconds{0.005}, std::move(load), 4);
  setup.pools[0].router = recipe;
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

TEST_CASE("routers stand in the list of headers that the README names") {
  std::ifstream file(MAREA_SOURCE_DIR "/tests/layering/headers.txt");
  const std::string list{std::istreambuf_iterator<char>(file), {}};
  CHECK(list.find("\nsim/cluster/routers/power_of_two.h\n") != std::string::npos);
  CHECK(std::string(README_HEADER) == "sim/cluster/routers/power_of_three.h");
}
