// KV tiers below the device, small enough to follow with a pencil.
#include <doctest/doctest.h>

#include "tests/cluster/support.h"

using namespace marea;
using namespace std::chrono_literals;
using cluster::Cause;

namespace {

Time ms(std::int64_t value) { return kStart + std::chrono::milliseconds(value); }

struct Call {
  Time at;
  std::uint64_t span;  // of the prompt: equal spans are equal content
  std::int64_t prompt;
  std::int64_t output;
};

std::unique_ptr<traffic::Load> calls(std::vector<Call> list) {
  return std::make_unique<test::ListedLoad>(
      [list = std::move(list)](std::uint64_t index, traffic::Session& session) -> std::optional<Time> {
        if (index >= list.size()) return std::nullopt;
        const Call& call = list[index];
        traffic::Step step;
        step.call.prompt = call.prompt;
        step.call.output = call.output;
        step.call.content = {{call.span, 0, call.prompt}, {1000 + index, 0, call.output}};
        session.shareable = call.prompt;
        add_vertex(step, session.program);
        return call.at;
      });
}

struct Seen final : cluster::Observer {
  std::vector<cluster::CallEnded> calls;
  std::vector<cluster::CopyEnded> copies;
  std::vector<cluster::StepHeldUp> held_up;
  std::vector<cluster::Standstill> standstills;
  void on(const cluster::CallEnded& fact) override { calls.push_back(fact); }
  void on(const cluster::CopyEnded& fact) override { copies.push_back(fact); }
  void on(const cluster::StepHeldUp& fact) override { held_up.push_back(fact); }
  void on(const cluster::Standstill& fact) override { standstills.push_back(fact); }
};

// A pool of `blocks` usable blocks of 16 tokens, steps of 10 ms; a block takes 2 ms down and 3 ms up behind 1 ms of latency.
Seen run(std::int64_t blocks, std::int64_t host_blocks, std::vector<Call> list, bool lower = false) {
  serving::VllmV1Params params = test::engine(4, blocks + 1);
  params.offload.blocks = host_blocks;
  if (lower) params.offload.lower = {1000};
  cluster::Setup setup = test::small_cluster(params, 10ms, calls(std::move(list)));
  setup.pools[0].copies.store = {1ms, 2ms};
  setup.pools[0].copies.load = {1ms, 3ms};
  if (lower) setup.pools[0].copies.lower = {{{1ms, 10ms}, {1ms, 20ms}}};
  Seen seen;
  cluster::Simulation(std::move(setup), {&seen}).run({});
  return seen;
}

}  // namespace

TEST_CASE("what another call drove out of the device comes back from the host pool") {
  // 0-10 A computes 64 tokens; its 4 blocks go down 10 + 1 + 4 x 2 = 19. 30-40 B takes all 5 blocks, which drives A's out.
  // C has A's prompt: 4 blocks come up 60 + 1 + 4 x 3 = 73, all but the last token are there, and that one is computed 73-83.
  const Seen seen = run(5, 100, {{ms(0), 1, 64, 1}, {ms(30), 2, 80, 1}, {ms(60), 1, 64, 1}});
  REQUIRE(seen.calls.size() == 3);
  const cluster::CallEnded& c = seen.calls[2];
  CHECK(c.scheduled == ms(73));
  CHECK(c.first_token == ms(83));
  CHECK(c.hit == 63);
  CHECK(c.loaded == 63);
  CHECK(c.booked[static_cast<std::size_t>(Cause::kv_load)] == 13ms);
  REQUIRE(seen.copies.size() == 3);
  CHECK(seen.copies[0].at == ms(19));
  CHECK(seen.copies[0].blocks == 4);
  CHECK(seen.copies[1].at == ms(51));  // B's five
  CHECK(seen.copies[2].at == ms(73));
  CHECK(seen.copies[2].load);
  CHECK(seen.held_up.empty());
}

TEST_CASE("a step waits for the copy out of blocks that it takes") {
  // A's blocks go down from 10 to 19. B arrives at 12 and takes them: its step starts at 19 and ends at 29.
  const Seen seen = run(5, 100, {{ms(0), 1, 64, 1}, {ms(12), 2, 80, 1}});
  REQUIRE(seen.calls.size() == 2);
  CHECK(seen.calls[1].first_token == ms(29));
  REQUIRE(seen.held_up.size() == 1);
  CHECK(seen.held_up[0].wait == 7ms);
}

TEST_CASE("a host pool too small for a store stores nothing of it, and the prompt is computed again") {
  // B's five blocks do not fit into a host pool of four: refused. A's four are still there when B comes again, but are not B's.
  const Seen seen = run(5, 4, {{ms(0), 1, 64, 1}, {ms(30), 2, 80, 1}, {ms(60), 1, 64, 1}, {ms(100), 2, 80, 1}});
  REQUIRE(seen.calls.size() == 4);
  CHECK(seen.calls[2].loaded == 63);
  CHECK(seen.calls[3].loaded == 0);
  CHECK(seen.calls[3].first_token == ms(110));
}

TEST_CASE("a tier below the host pool gives back what the host pool gave up") {
  // A's 4 blocks are in the host pool at 19 and, 1 + 4 x 10 later, at 60 in the tier below. B's 4 drive them out of a host pool of 4 blocks
  // from 110 on. C finds A's prompt below: 4 blocks come up to the host pool 1 + 4 x 20 = 81 later, then 13 to the device.
  const Seen seen = run(5, 4, {{ms(0), 1, 64, 1}, {ms(100), 2, 64, 1}, {ms(300), 3, 80, 1}, {ms(400), 1, 64, 1}}, true);
  REQUIRE(seen.calls.size() == 4);
  const cluster::CallEnded& c = seen.calls[3];
  CHECK(c.loaded == 63);
  CHECK(c.scheduled == ms(400 + 81 + 13));
  CHECK(c.first_token == ms(400 + 81 + 13 + 10));
}
