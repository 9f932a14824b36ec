// Runs small enough to follow with a pencil.
#include <doctest/doctest.h>

#include "tests/cluster/support.h"

using namespace marea;
using namespace std::chrono_literals;
using cluster::Cause;

namespace {

Time ms(std::int64_t value) { return kStart + std::chrono::milliseconds(value); }

// Single calls: (start, prompt, output) each.
struct Call {
  Time at;
  std::int64_t prompt;
  std::int64_t output;
};
std::unique_ptr<traffic::Load> calls(std::vector<Call> list) {
  return std::make_unique<test::ListedLoad>(
      [list = std::move(list)](std::uint64_t index, traffic::Session& session) -> std::optional<Time> {
        if (index >= list.size()) return std::nullopt;
        test::single_call(session, list[index].prompt, list[index].output);
        return list[index].at;
      });
}

// One session with the given program.
std::unique_ptr<traffic::Load> sessions(std::vector<std::pair<Time, std::function<void(traffic::Session&)>>> list) {
  return std::make_unique<test::ListedLoad>(
      [list = std::move(list)](std::uint64_t index, traffic::Session& session) -> std::optional<Time> {
        if (index >= list.size()) return std::nullopt;
        list[index].second(session);
        return list[index].first;
      });
}

traffic::Step call(kv::Content content, std::int64_t prompt, std::uint32_t thread = 0) {
  traffic::Step step;
  step.thread = thread;
  step.call.content = std::move(content);
  step.call.prompt = prompt;
  step.call.output = kv::length(step.call.content) - prompt;
  return step;
}

traffic::Step tool(std::vector<traffic::ToolAttempt> attempts, bool fatal = false, std::uint32_t thread = 0) {
  traffic::Step step;
  step.kind = traffic::StepKind::tool;
  step.thread = thread;
  step.tool.tool = ToolId{0};
  step.tool.attempts = std::move(attempts);
  step.tool.fatal = fatal;
  return step;
}

traffic::Step plain(traffic::StepKind kind, std::uint32_t thread = 0, Duration time = {}) {
  traffic::Step step;
  step.kind = kind;
  step.thread = thread;
  step.human.time = time;
  return step;
}

// Adds steps one after the other.
void chain(traffic::Program& program, std::vector<traffic::Step> steps) {
  for (traffic::Step& step : steps) {
    const auto vertex = add_vertex(std::move(step), program);
    if (vertex > 0) add_edge(vertex - 1, vertex, program);
  }
}

Duration booked(const std::array<Duration, cluster::kCauses>& row, Cause cause) { return row[static_cast<std::size_t>(cause)]; }

test::Collected run(cluster::Setup setup) {
  test::Collected seen;
  cluster::Simulation(std::move(setup), {&seen}).run({});
  return seen;
}

}  // namespace

TEST_CASE("two calls share steps of 10 ms on a synchronous engine") {
  // 0-10 A prefills (20 tokens) -> token 1 of A at 10. B arrives at 5 and waits for the boundary.
  // 10-20 A decodes, B prefills -> token 2 of A, token 1 of B at 20.  20-30 both decode: A has its 3 and B its 2 tokens at 30.
  const test::Collected seen = run(test::small_cluster(test::engine(2), 10ms, calls({{ms(0), 20, 3}, {ms(5), 20, 2}})));
  REQUIRE(seen.calls.size() == 2);
  const cluster::CallEnded& a = seen.calls[0];
  const cluster::CallEnded& b = seen.calls[1];
  CHECK(a.first_token == ms(10));
  CHECK(a.last_token == ms(30));
  CHECK(booked(a.booked, Cause::prefill_new) == 10ms);
  CHECK(booked(a.booked, Cause::decode) == 20ms);
  CHECK(b.scheduled == ms(10));
  CHECK(b.first_token == ms(20));
  CHECK(b.last_token == ms(30));
  CHECK(booked(b.booked, Cause::queue_boundary) == 5ms);
  CHECK(booked(b.booked, Cause::prefill_new) == 10ms);
  CHECK(booked(b.booked, Cause::decode) == 10ms);
  CHECK(seen.end.steps == 3);
}

TEST_CASE("on an asynchronous engine a call that arrives during step s runs in step s + 2") {
  // Step 0 (A prefills) runs 0-10, step 1 (A) was decided with it and runs 10-20. B arrives at 5; step 2, decided at 10, has it and runs
  // 20-30. Step 3 runs 30-40 with B alone: A has its 3 tokens at 30.
  serving::VllmV1Params params = test::engine(2);
  params.async = true;
  const test::Collected seen = run(test::small_cluster(params, 10ms, calls({{ms(0), 20, 3}, {ms(5), 20, 2}})));
  REQUIRE(seen.calls.size() == 2);
  CHECK(seen.calls[0].first_token == ms(10));
  CHECK(seen.calls[0].last_token == ms(30));
  const cluster::CallEnded& b = seen.calls[1];
  CHECK(b.scheduled == ms(10));
  CHECK(b.first_token == ms(30));
  CHECK(b.last_token == ms(40));
  CHECK(booked(b.booked, Cause::queue_boundary) == 15ms);
  CHECK(booked(b.booked, Cause::prefill_new) == 10ms);
  CHECK(booked(b.booked, Cause::decode) == 10ms);
}

TEST_CASE("a third call waits for a slot, then for nothing else") {
  // Two slots: A and B run 0-30 (3 tokens each). C arrives at 2: boundary wait until 10, then slots until 30, prefill 30-40.
  const test::Collected seen = run(test::small_cluster(test::engine(2), 10ms, calls({{ms(0), 8, 3}, {ms(0), 8, 3}, {ms(2), 8, 1}})));
  REQUIRE(seen.calls.size() == 3);
  const cluster::CallEnded& c = seen.calls[2];
  // The head of the queue is C itself from 2 on; the schedule at 10 is the first that finds it blocked.
  CHECK(booked(c.booked, Cause::queue_boundary) == 8ms);
  CHECK(booked(c.booked, Cause::queue_slots) == 20ms);
  CHECK(booked(c.booked, Cause::prefill_new) == 10ms);
}

TEST_CASE("preemption by recompute books preempted time and lost prefill, and a long gap") {
  // Blocks of 16, 5 usable. A and B have prompts of 32 tokens (2 blocks each) and want 20 tokens each; the fifth block goes to A's first
  // decode, B finds none and, as the last admitted, is preempted at 10. A runs alone; it needs a fourth block at context 48 and takes one
  // of B's. A finishes after 20 tokens at 200; B is admitted again at 200 with what is left of its own blocks in the cache.
  serving::VllmV1Params params = test::engine(4, 6);
  params.reserve_full_prompt = true;
  const test::Collected seen = run(test::small_cluster(params, 10ms, calls({{ms(0), 32, 20}, {ms(0), 32, 20}})));
  REQUIRE(seen.calls.size() == 2);
  const cluster::CallEnded& a = seen.calls[0];
  const cluster::CallEnded& b = seen.calls[1];
  CHECK(a.preemptions == 0);
  CHECK(a.last_token == ms(200));
  CHECK(b.preemptions == 1);
  CHECK(b.first_token == ms(10));
  CHECK(booked(b.booked, Cause::prefill_new) + booked(b.booked, Cause::prefill_lost) == 20ms);
  CHECK(booked(b.booked, Cause::preempted) >= 10ms);
  REQUIRE(seen.gaps.size() == 1);
  // B had 33 known tokens; a hit is whole blocks below that, what is missing of the 32 computed before is lost to preemption.
  CHECK(b.lost[static_cast<std::size_t>(cluster::LossCause::preemption)] % 16 == 0);
  Duration sum{};
  for (const Duration part : b.booked) sum += part;
  CHECK(sum == b.at - b.issued);
}

TEST_CASE("a tool with one worker serves two sessions in turn, retries after a back-off") {
  // Both sessions call the model at 0 (one step of 10 ms), then the tool. S0 gets the worker: it fails after 5 ms (10-15), waits 3 ms,
  // tries again. S1 has waited since 10 and gets the worker at 15 for 20 ms (15-35). S0 asks at 18 and waits until 35, runs 35-40. Then
  // each calls the model: one step.
  const auto session = [](std::vector<traffic::ToolAttempt> attempts) {
    return [attempts](traffic::Session& s) {
      const std::uint64_t span = s.index + 1;
      chain(s.program, {call({{span, 0, 9}}, 8), tool(attempts), call({{span, 0, 21}}, 20)});
      s.shareable = 0;
    };
  };
  cluster::Setup setup = test::small_cluster(
      test::engine(4), 10ms, sessions({{ms(0), session({{5ms, true, 3ms}, {5ms, false, 0ms}})}, {ms(0), session({{20ms, false, 0ms}})}}));
  setup.tools.push_back({"shell", 1});
  const test::Collected seen = run(std::move(setup));
  REQUIRE(seen.sessions.size() == 2);
  const cluster::SessionEnded& first = seen.sessions[1];  // S0 ends last
  const cluster::SessionEnded& second = seen.sessions[0];
  CHECK(second.index == 1);
  CHECK(booked(second.booked, Cause::tool_queue) == 5ms);
  CHECK(booked(second.booked, Cause::tool) == 20ms);
  CHECK(second.at == ms(45));
  CHECK(booked(first.booked, Cause::tool) == 10ms);
  CHECK(booked(first.booked, Cause::backoff) == 3ms);
  CHECK(booked(first.booked, Cause::tool_queue) == 17ms);
  // S0 comes back at 40, in the middle of S1's step 35-45, and runs 45-55.
  CHECK(booked(first.booked, Cause::queue_boundary) == 5ms);
  CHECK(first.at == ms(55));
  CHECK(seen.tools.size() == 3);
}

TEST_CASE("a parent waits for its sub-agents and the join fires with the last") {
  // Call (0-10), fork, two agents: one call each (10-20); agent 2 then waits 30 ms for a person and calls again (50-60). Join at 60, last
  // call 60-70.
  const auto program = [](traffic::Session& s) {
    s.threads.resize(3);
    s.shareable = 0;
    traffic::Program& g = s.program;
    const auto begin = add_vertex(call({{1, 0, 9}}, 8), g);
    const auto fork = add_vertex(plain(traffic::StepKind::fork), g);
    const auto one = add_vertex(call({{2, 0, 9}}, 8, 1), g);
    const auto two = add_vertex(call({{3, 0, 9}}, 8, 2), g);
    const auto wait = add_vertex(plain(traffic::StepKind::human, 2, 30ms), g);
    const auto again = add_vertex(call({{3, 0, 21}}, 20, 2), g);
    const auto join = add_vertex(plain(traffic::StepKind::join), g);
    const auto last = add_vertex(call({{1, 0, 31}}, 30), g);
    for (const auto& [from, to] :
         {std::pair{begin, fork}, {fork, one}, {fork, two}, {two, wait}, {wait, again}, {one, join}, {again, join}, {join, last}}) {
      add_edge(from, to, g);
    }
  };
  const test::Collected seen = run(test::small_cluster(test::engine(4), 10ms, sessions({{ms(0), program}})));
  REQUIRE(seen.sessions.size() == 1);
  CHECK(seen.sessions[0].at == ms(70));
  CHECK(booked(seen.sessions[0].booked, Cause::agents) == 50ms);
  CHECK(booked(seen.sessions[0].booked, Cause::prefill_new) == 20ms);
  REQUIRE(seen.threads.size() == 2);
  CHECK(seen.threads[0].thread == 1);
  CHECK_FALSE(seen.threads[0].last);
  CHECK(seen.threads[1].last);
  CHECK(booked(seen.threads[1].booked, Cause::person) == 30ms);
  CHECK(seen.calls.back().after == cluster::After::agents);
  CHECK(seen.sessions[0].critical_path == 30ms);
}

TEST_CASE("an abandoned session leaves at once and its call leaves the engine at the next step boundary") {
  const auto leaver = [](traffic::Session& s) {
    test::single_call(s, 8, 100);
    s.abandon_after = 25ms;
  };
  const auto follower = [](traffic::Session& s) { test::single_call(s, 8, 1); };
  const test::Collected seen = run(test::small_cluster(test::engine(1), 10ms, sessions({{ms(0), leaver}, {ms(1), follower}})));
  REQUIRE(seen.sessions.size() == 2);
  CHECK(seen.sessions[0].end == cluster::SessionEnd::abandoned);
  CHECK(seen.sessions[0].at == ms(25));
  REQUIRE(seen.calls.size() == 2);
  CHECK(seen.calls[0].end == cluster::CallEnd::aborted);
  CHECK(seen.calls[1].scheduled == ms(30));  // the only slot is free from the boundary at 30
  CHECK(seen.calls[1].last_token == ms(40));
}

TEST_CASE("a call longer than the engine's limit is refused and fails its session") {
  serving::VllmV1Params params = test::engine(1);
  params.max_length = 100;
  const test::Collected seen = run(test::small_cluster(params, 10ms, calls({{ms(0), 90, 11}, {ms(0), 90, 10}})));
  REQUIRE(seen.calls.size() == 2);
  CHECK(seen.calls[0].end == cluster::CallEnd::refused);
  CHECK(seen.sessions[0].end == cluster::SessionEnd::failed);
  CHECK(seen.calls[1].end == cluster::CallEnd::completed);
}

TEST_CASE("bookings are cut at the edges of the measuring window") {
  // One call: prefill 0-10, decode 10-100. The window is 5 ms to 42 ms.
  cluster::Setup setup = test::small_cluster(test::engine(1), 10ms, calls({{ms(0), 8, 10}}));
  setup.window = {ms(5), ms(42), 1s};
  const test::Collected seen = run(std::move(setup));
  Duration inside{};
  for (const cluster::TimeBooked& fact : seen.booked) {
    if (fact.measured) inside += fact.duration;
  }
  CHECK(inside == 37ms);
  Uint128 memory = 0;
  for (const cluster::MemoryBooked& fact : seen.memory) memory += fact.token_nanoseconds;
  CHECK(memory == static_cast<Uint128>((1 << 20) - 1) * 16 * std::chrono::nanoseconds(37ms).count());
}
