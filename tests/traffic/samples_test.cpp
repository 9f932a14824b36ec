// Each trace format by hand: samples of our own making and the programs they must become.
#include <doctest/doctest.h>

#include "tests/traffic/rendering.h"
#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;

namespace {

const std::string kSamples = MAREA_SOURCE_DIR "/tests/traffic/samples/";

std::unique_ptr<Load> replay(const std::string& trace, const std::string& arrivals = "lanes: {count: 1, ramp: 0 s}") {
  return test::load_of("{name: t, " + arrivals + ", trace: {" + trace + "}}");
}

std::string next(Load& load) {
  Session session;
  load.take(session);
  load.ended(kStart);
  return test::show(session);
}

}  // namespace

TEST_CASE("Mooncake: ids are spans of 512 tokens, the last one as long as the input goes, and outputs are private") {
  const auto load = replay("format: mooncake, file: " + kSamples + "mooncake.jsonl", "arrivals: recorded");
  test::Spans spans;
  Session session;
  CHECK(*load->next_start() == kStart);
  load->take(session);
  CHECK(test::show(session.program, spans) == "0 call t0 1100+7 known 0: a[1536,2560) a[4608,4684) b[0,7)\n");
  CHECK(session.shareable == INT64_MAX);
  CHECK(*session.program[0].call.recorded == kStart);
  CHECK(*load->next_start() == kStart + std::chrono::milliseconds(1500));
  load->take(session);
  CHECK(test::show(session.program, spans) == "0 call t0 1024+2 known 0: a[1536,2560) c[0,2)\n");
  CHECK(!load->next_start());
}

TEST_CASE("Azure: times count from the first row to the nanosecond, across a leap day") {
  const auto load = replay("format: azure-2023, file: " + kSamples + "azure.csv", "arrivals: recorded");
  CHECK(next(*load) == "0 call t0 374+44 known 0: a[0,418)\n");
  CHECK(since_start(*load->next_start()) == Duration{750'000'100});
}

TEST_CASE("WEKA: tails and outputs take the next call's ids where it continues this one, and the tool and system prefix is the group's") {
  const auto load = replay("format: weka, file: " + kSamples + "weka.jsonl");
  Session session;
  load->take(session);
  // Block 1 of 64 tokens is span b from 64 on. The prefix of 100 + 60 tokens ends 32 tokens into block 3, at 3 x 64 + 32 = 224. The first
  // call's 256 full tokens reach 320; its tail of 44 and output of 30 are the second call's, up to 394. The third call keeps 3 of the
  // second's 7 blocks, so that one's tail of 52 and output of 20 are its own.
  CHECK(test::show(session) ==
        "0 call t0 300+30 known 0: a[0,160) b[224,394) -> 1\n"
        "1 tool t0 7500000000 -> 2\n"
        "2 call t0 500+20 known 329: a[0,160) b[224,512) c[0,72) -> 3\n"
        "3 call t0 400+1 known 192: a[0,160) b[224,256) b[576,768) d[0,17)\n");
  CHECK(session.shareable == 160);
  const auto notes = load->notes();
  REQUIRE(notes.size() >= 2);
  CHECK(notes[0].text == "calls without output, taken as 1 token");
  CHECK(notes[0].count == 1);
  CHECK(notes[1].text == "waits missing, taken as 0");
  CHECK(notes[1].count == 1);
}

TEST_CASE("WEKA: sub-agents that overlap run side by side, and the parent waits what is left after the last") {
  const auto load = replay("pools: {small: little}, format: weka, file: " + kSamples + "weka.jsonl");
  Session session;
  load->take(session);
  load->ended(kStart);
  load->take(session);
  // The parent's call ended at 25 - 23 = 2 s; the sub-agents ran from 2 to 12 and from 3 to 22 s, so 3 of the 23 s remain.
  CHECK(test::show(session) ==
        "0 call t0 100+10 known 0: a[64,174) -> 1\n"
        "1 fork t0 -> 2, 3\n"
        "2 call t1 130+5 known 0: a[640,768) b[0,7) -> 6\n"
        "3 call t2 70+3 known 0: a[1280,1353) -> 4\n"
        "4 tool t2 4000000000 -> 5\n"
        "5 call t2 140+4 known 72: a[1280,1408) c[0,16) -> 6\n"
        "6 join t0 -> 7\n"
        "7 tool t0 3000000000 -> 8\n"
        "8 call t0 200+7 known 109: a[64,256) d[0,15)\n");
  CHECK(critical_path(session.program) == std::chrono::seconds(7));
  REQUIRE(session.threads.size() == 3);
  CHECK(session.threads[0].pool == "");
  CHECK(session.threads[2].pool == "little");
  CHECK(session.threads[2].parent == 0);
}

TEST_CASE("a wait cap shortens longer waits and says how many") {
  const auto load = replay("wait_cap: 5 s, format: weka, file: " + kSamples + "weka.jsonl");
  CHECK(next(*load).find("1 tool t0 5000000000 -> 2\n") != std::string::npos);
  bool noted = false;
  for (const auto& note : load->notes()) noted = noted || (note.text.starts_with("waits cut to the cap") && note.count == 1);
  CHECK(noted);
}

TEST_CASE("TraceLab: a prefix that falls back branches off into tokens of its own") {
  const auto load = replay("format: tracelab, file: " + kSamples + "tracelab.csv");
  CHECK(next(*load) ==
        "0 call t0 100+10 known 0: a[0,110) -> 1\n"
        "1 tool t0 500000000 -> 2\n"
        "2 call t0 130+5 known 109: a[0,135) -> 3\n"
        "3 call t0 80+4 known 50: a[0,50) b[0,34)\n");
  CHECK(next(*load) == "0 call t0 50+1 known 0: a[0,51)\n");
  REQUIRE(load->notes().size() == 2);
  CHECK(load->notes()[0].text == "waits after the last call of a session, left out");
  CHECK(load->notes()[1].text == "sessions whose first call had a cached prefix, taken as new");
}

TEST_CASE("LLMServingSim: ranges, sessions and token ids in one file") {
  const auto load = replay("format: llmservingsim, file: " + kSamples + "llmservingsim.jsonl", "arrivals: recorded");
  test::Spans spans;
  Session session;
  load->take(session);
  CHECK(test::show(session.program, spans) == "0 call t0 40+4 known 0: a[112,144) b[0,12)\n");
  CHECK(since_start(*load->next_start()) == Duration{9});
  load->take(session);
  CHECK(test::show(session.program, spans) ==
        "0 call t0 20+6 known 0: c[0,26) -> 1\n"
        "1 tool t0 1000 -> 2\n"
        "2 call t0 40+2 known 25: c[0,42) -> 3\n"
        "3 call t0 30+1 known 0: d[0,31)\n");
  CHECK(session.shareable == 0);
  load->take(session);
  CHECK(test::show(session.program, spans) == "0 call t0 18+3 known 0: a[0,16) e[0,5)\n");
  load->take(session);
  CHECK(test::show(session.program, spans) == "0 call t0 17+3 known 0: a[0,16) f[0,4)\n");
}

TEST_CASE("a table with named columns: sessions, waits and a shared prefix") {
  const std::string columns =
      "format: csv, columns: {prompt: in, output: out, time: {name: arrived, unit: s}, session: conversation, wait: {name: pause, unit: "
      "s}, "
      "prefix: {name: template, tokens: 40 tok}}, file: " +
      kSamples + "table.csv";
  const auto load = replay(columns, "arrivals: recorded");
  CHECK(since_start(*load->next_start()) == std::chrono::milliseconds(500));
  test::Spans spans;
  Session session;
  load->take(session);
  CHECK(test::show(session.program, spans) ==
        "0 call t0 100+10 known 0: a[0,40) b[0,70) -> 1\n"
        "1 tool t0 1500000000 -> 2\n"
        "2 call t0 130+5 known 109: a[0,40) b[0,95) -> 3\n"
        "3 tool t0 250000000 -> 4\n"
        "4 call t0 60+5 known 40: a[0,40) c[0,25)\n");
  CHECK(since_start(*session.program[2].call.recorded) == std::chrono::milliseconds(3500));
  CHECK(session.shareable == 40);
  load->take(session);
  CHECK(test::show(session.program, spans) == "0 call t0 30+5 known 0: a[0,30) d[0,5)\n");
}

TEST_CASE("a trace that repeats asks the same with fresh tokens, but keeps what a group shares") {
  const auto load = replay("repeat: true, format: weka, limit: 1, file: " + kSamples + "weka.jsonl");
  Session first, second;
  load->take(first);
  load->ended(kStart);
  CHECK(!load->dry());
  load->take(second);
  CHECK(test::show(first) == test::show(second));
  CHECK(second.index == 1);
  const kv::Content &a = first.program[0].call.content, &b = second.program[0].call.content;
  CHECK(a[0] == b[0]);
  CHECK(a[1].span != b[1].span);
}

TEST_CASE("a trace that ends says when the first lane ran dry") {
  const auto load = replay("format: weka, file: " + kSamples + "weka.jsonl");
  Session session;
  load->take(session);
  load->ended(kStart + std::chrono::seconds(5));
  CHECK(load->next_start() == kStart + std::chrono::seconds(5));
  load->take(session);
  CHECK(!load->dry());
  CHECK(!load->next_start());
  load->ended(kStart + std::chrono::seconds(9));
  CHECK(load->dry() == kStart + std::chrono::seconds(9));
}

TEST_CASE("tenants do not share a group's prefix unless the scenario says so") {
  const auto span = [](const std::string& keys) {
    Session session;
    test::load_of("{name: x, " + keys + ", lanes: 1, trace: {format: weka, file: " + kSamples + "weka.jsonl}}")->take(session);
    return session.program[0].call.content[0].span;
  };
  CHECK(span("tenant: a") != span("tenant: b"));
  CHECK(span("tenant: a, sharing: global") == span("tenant: b, sharing: global"));
  CHECK(span("tenant: a, group: g, sharing: group") == span("tenant: b, group: g, sharing: group"));
  CHECK(span("tenant: a, group: g, sharing: group") != span("tenant: a, group: h, sharing: group"));
}
