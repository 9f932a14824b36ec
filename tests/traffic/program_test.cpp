// Agent programs: what a session drawn from one looks like, step by step.
#include <doctest/doctest.h>

#include "sim/traffic/stationary.h"
#include "tests/traffic/rendering.h"
#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;

namespace {

const std::string kCoder =
    "shared_prefix: {tokens: 1430 tok, group: tools}, first_prompt: {lognormal: {p50: 800 tok, p90: 3000 tok}}, "
    "calls: {lognormal: {p50: 12, p90: 30}}, output: {lognormal: {p50: 216 tok, p90: 899 tok}}, "
    "new_input: {lognormal: {p50: 655 tok, p90: 3540 tok}}, "
    "after_call: [{weight: 70, tool: shell}, {weight: 15, human: {exponential: {mean: 100 s}}}, "
    "{weight: 10, agents: {count: {uniform: [1, 4]}, program: explorer, join: all}}, {weight: 5, agents: {count: 2, program: helper, fork: "
    "true}}], "
    "compaction: {above: 11000 tok, to: {uniform: [500 tok, 3000 tok]}}, abandon: {after: {exponential: {mean: 4 h}}}";
const std::string kNamed =
    "{explorer: {shared_prefix: {tokens: 900 tok, group: explorer}, calls: {uniform: [1, 6]}, output: 250 tok, new_input: 1200 tok, "
    "after_call: [{weight: 3, tool: shell}, {weight: 1, agents: {count: 1, program: helper}}]}, "
    "helper: {calls: {uniform: [1, 3]}, first_prompt: 60 tok, output: 40 tok, new_input: 70 tok}}";
const std::string kTools =
    "tools: {shell: {time: {quantiles: {p50: 0.85 s, p90: 20 s, p99: 235 s, max: 1 h}}, fails: 2 %, retries: 2, workers: 64}}";

std::unique_ptr<Load> coders(const std::string& load, std::uint64_t seed = 1) {
  return test::load_of("{name: coders, " + load + ", program: {" + kCoder + "}, " + kTools + "}", kNamed, seed);
}

}  // namespace

TEST_CASE("calls, a tool and a compaction by hand") {
  const auto load = test::load_of(
      "{name: a, lanes: 1, program: {shared_prefix: {tokens: 100 tok, group: g}, first_prompt: 50 tok, calls: 3, output: 10 tok, "
      "new_input: 20 tok, "
      "after_call: [{weight: 1, tool: t}], compaction: {above: 200 tok, to: 30 tok}}, tools: {t: {time: 1 us}}}");
  Session session;
  load->take(session);
  // The third prompt would be 190 + 20 > 200: a call over the 190 writes 30 tokens, and the context is prefix, summary, input.
  CHECK(test::show(session) ==
        "0 call t0 150+10 known 0: a[0,100) b[0,60) -> 1\n"
        "1 tool t0 1000 -> 2\n"
        "2 call t0 180+10 known 159: a[0,100) b[0,90) -> 3\n"
        "3 tool t0 1000 -> 4\n"
        "4 compaction t0 190+30 known 189: a[0,100) b[0,90) c[0,30) -> 5\n"
        "5 call t0 150+10 known 100: a[0,100) c[0,60)\n");
  CHECK(session.shareable == 100);
  CHECK(critical_path(session.program) == Duration{2000});
}

TEST_CASE("sub-agents by hand: with a prefix of their own, and forked from the parent's context") {
  const auto draw = [](const std::string& fork) {
    const auto load = test::load_of(
        "{name: a, lanes: 1, program: {first_prompt: 50 tok, calls: 2, output: 10 tok, new_input: 20 tok, "
        "after_call: [{weight: 1, agents: {count: 2, program: helper, join: all, fork: " +
            fork + "}}]}}",
        "{helper: {shared_prefix: {tokens: 9 tok, group: h}, calls: 2, output: 5 tok, new_input: 7 tok}}");
    Session session;
    load->take(session);
    REQUIRE(session.threads.size() == 3);
    return test::show(session);
  };
  // The parent's new input is the last output of each: 2 x 5 tokens. Forks also compute the parent's latest token, the 60th.
  CHECK(draw("false") ==
        "0 call t0 50+10 known 0: a[0,60) -> 1\n"
        "1 fork t0 -> 2, 4\n"
        "2 call t1 16+5 known 0: b[0,9) c[0,12) -> 3\n"
        "3 call t1 28+5 known 20: b[0,9) c[0,24) -> 6\n"
        "4 call t2 16+5 known 0: b[0,9) d[0,12) -> 5\n"
        "5 call t2 28+5 known 20: b[0,9) d[0,24) -> 6\n"
        "6 join t0 -> 7\n"
        "7 call t0 70+10 known 59: a[0,80)\n");
  CHECK(draw("true") ==
        "0 call t0 50+10 known 0: a[0,60) -> 1\n"
        "1 fork t0 -> 2, 4\n"
        "2 call t1 67+5 known 59: a[0,60) b[0,12) -> 3\n"
        "3 call t1 79+5 known 71: a[0,60) b[0,24) -> 6\n"
        "4 call t2 67+5 known 59: a[0,60) c[0,12) -> 5\n"
        "5 call t2 79+5 known 71: a[0,60) c[0,24) -> 6\n"
        "6 join t0 -> 7\n"
        "7 call t0 70+10 known 60: a[0,80)\n");
}

TEST_CASE("what a drawn call finds computed is what its content shares with the calls before it") {
  const auto load = coders("lanes: 1");
  Session session;
  std::size_t calls = 0, threads = 0;
  for (int i = 0; i < 300; ++i) {
    load->take(session);
    load->ended(kStart);
    std::vector<std::int64_t> drawn;
    for (auto v : boost::make_iterator_range(boost::vertices(session.program))) {
      const CallStep& call = session.program[v].call;
      if (session.program[v].kind == StepKind::call) {
        REQUIRE(kv::length(call.content) == call.prompt + call.output);
        REQUIRE(call.content.size() <= 5);
        ++calls;
      }
      drawn.push_back(call.known);
    }
    threads += session.threads.size();
    start_inside(session, Duration{});  // keeps all steps and works out `known` anew, from the contents
    for (std::size_t v = 0; v < drawn.size(); ++v) REQUIRE(session.program[v].call.known == drawn[v]);
  }
  CHECK(calls > 3000);
  CHECK(threads > 600);
}

TEST_CASE("session k is the same session under every load, and another one under another seed") {
  const auto lanes = coders("lanes: 3"), open = coders("arrivals: {process: poisson, rate: 2 /s}"), other = coders("lanes: 3", 2);
  Session a, b, c;
  int differing = 0;
  for (int i = 0; i < 50; ++i) {
    lanes->take(a);
    lanes->ended(kStart);
    open->take(b);
    other->take(c);
    other->ended(kStart);
    REQUIRE(test::show(a) == test::show(b));
    REQUIRE(a.abandon_after == b.abandon_after);
    for (std::size_t v = 0; v < num_vertices(a.program); ++v) REQUIRE(a.program[v].call.content == b.program[v].call.content);
    differing += test::show(a) != test::show(c);
  }
  CHECK(differing >= 49);
}

TEST_CASE("storage that is used again leaves nothing behind") {
  const auto load = coders("lanes: 1"), again = coders("lanes: 1");
  Session used;
  for (int i = 0; i < 40; ++i) {
    load->take(used);
    load->ended(kStart);
    Session fresh;
    again->take(fresh);
    again->ended(kStart);
    REQUIRE(test::show(used) == test::show(fresh));
    REQUIRE(used.threads.size() == fresh.threads.size());
  }
}

TEST_CASE("a fatal tool bounds the critical path: the session ends with it") {
  Program program;
  for (int i = 0; i < 3; ++i) boost::add_vertex(program);
  for (std::size_t i = 0; i < 3; ++i) {
    program[i].kind = StepKind::tool;
    program[i].tool.attempts = {{Duration{5}, i == 1, {}}};
    if (i > 0) boost::add_edge(i - 1, i, program);
  }
  CHECK(critical_path(program) == Duration{15});
  program[1].tool.fatal = true;
  CHECK(critical_path(program) == Duration{10});
}

TEST_CASE("mistakes in programs are named where they are") {
  const auto program_error = [](const std::string& program, const std::string& named = "{}") {
    return test::error_of([&] { test::read_class("{name: a, lanes: 1, program: " + program + "}", named); });
  };
  const auto has = [](const std::string& message, std::string_view part) {
    CAPTURE(message);
    return message.find(part) != std::string::npos;
  };
  CHECK(has(program_error("{output: 5 tok}"), "`prompt` or `first_prompt` is missing"));
  CHECK(has(program_error("{output: 5 tok, first_prompt: 4 tok, calls: 2}"), "`new_input` is missing"));
  CHECK(has(program_error("{output: 5 tok, prompt: 4 tok, calls: 2}"), "calls"));
  CHECK(has(program_error("{output: 5 tok, prompt: {lognormall: {p50: 1 tok, p90: 2 tok}}}"), "did you mean `lognormal`?"));
  CHECK(has(program_error("{output: 5 tok, prompt: {quantiles: {p50: 1 tok, p90: 2 tok}}}"), "max"));
  CHECK(
      has(program_error("{output: 5 tok, prompt: {quantiles: {p50: 3 tok, p90: 2 tok, max: 9 tok}}}"), "p90 is below a lower percentile"));
  CHECK(has(program_error("{output: 5 tok, prompt: {uniform: [4 tok, 2 tok]}}"), "the smaller first"));
  CHECK(has(program_error("{output: 5 tok, new_input: 4 tok, calls: 2, after_call: [{weight: 1, tool: shell}]}"),
            "the traffic class has no `tools:`"));
  CHECK(has(program_error("{output: 5 tok, new_input: 4 tok, calls: 2, after_call: [{weight: 0, human: 1 s}]}"), "weight must be above 0"));
  CHECK(has(program_error("ghost", "{host: {prompt: 1 tok, output: 1 tok}}"), "did you mean `host`?"));
  CHECK(has(program_error("a",
                          "{a: {output: 1 tok, new_input: 1 tok, calls: 2, after_call: [{weight: 1, agents: {count: 1, program: b}}]}, "
                          "b: {output: 1 tok, new_input: 1 tok, calls: 2, after_call: [{weight: 1, agents: {count: 1, program: a}}]}}"),
            "the program starts itself: a -> b -> a"));
  CHECK(has(program_error("{output: 1 tok, new_input: 1 tok, calls: 3, compaction: {above: 10 tok, to: 10 tok}}"),
            "must be shorter than `above`"));
}

TEST_CASE("a session of too many steps is refused by name") {
  const auto load = test::load_of("{name: a, lanes: 1, program: {output: 1 tok, new_input: 1 tok, calls: 1000000}}");
  Session session;
  CHECK(test::error_of([&] { load->take(session); }).find("more than 20000 steps; lower `calls`") != std::string::npos);
}
