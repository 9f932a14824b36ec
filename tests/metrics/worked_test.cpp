// Every metric of a run of two calls, worked by hand. Times are nanoseconds, so a rate per second is a count x 1e9 / 1000 ns.
#include <doctest/doctest.h>

#include "sim/metrics/combine.h"
#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::metrics;
using namespace marea::test;
using doctest::Approx;

namespace {

constexpr double kNano = 1e-9;

}  // namespace

TEST_CASE("session metrics of two calls with a tool between them") {
  const Results results = results_of(two_calls());
  for (const char* label : {"", "class=coders"}) {
    CHECK(value_of(results, "session_completion_time_mean", label) == Approx(140 * kNano));  // 100 to 240
    CHECK(value_of(results, "session_completion_time_p99", label) == Approx(140 * kNano));
    CHECK(value_of(results, "tool_wait_share", label) == Approx(50.0 / 140));
    CHECK(value_of(results, "critical_path", label) == Approx(50 * kNano));
    CHECK(value_of(results, "critical_path_share", label) == Approx(50.0 / 140));
    CHECK(value_of(results, "session_goodput", label) == Approx(1e6));  // without targets: 1 session in 1000 ns
    CHECK(value_of(results, "session_attainment", label) == 1);
    CHECK(value_of(results, "sessions_started", label) == 1);
    CHECK(value_of(results, "sessions_completed", label) == 1);
    CHECK(value_of(results, "sessions_cut", label) == 0);
    CHECK(value_of(results, "resume_mean", label) == Approx(30 * kNano));  // 210 to 240
  }
}

TEST_CASE("latencies of two calls") {
  const Results results = results_of(two_calls());
  CHECK(value_of(results, "ttft_mean") == Approx((40 + 30) / 2.0 * kNano));  // 100 to 140, 210 to 240
  CHECK(value_of(results, "ttft_p50") == Approx(30 * kNano));                // nearest rank 1 of 2
  CHECK(value_of(results, "ttft_p90") == Approx(40 * kNano));
  CHECK(value_of(results, "ttft_std") == Approx(5 * kNano));
  CHECK(metric(results, "ttft_mean")->samples == 2);
  CHECK(value_of(results, "ttft_first_mean") == Approx(40 * kNano));
  CHECK(value_of(results, "turn_ttft_warm_mean") == Approx(30 * kNano));  // 12 of 13 known tokens came from the cache
  CHECK(metric(results, "turn_ttft_cold_mean") == nullptr);
  CHECK(value_of(results, "tpot_mean") == Approx(10 * kNano));  // (160 - 140) / 2; the call of one token has none
  CHECK(metric(results, "tpot_mean")->samples == 1);
  CHECK(value_of(results, "itl_mean") == Approx(10 * kNano));
  CHECK(metric(results, "itl_mean")->samples == 2);
  CHECK(value_of(results, "e2e_mean") == Approx((60 + 30) / 2.0 * kNano));
  CHECK(value_of(results, "queue_time_mean") == Approx((10 + 0) / 2.0 * kNano));
  CHECK(value_of(results, "prefill_time_mean") == Approx(20 * kNano));
  CHECK(value_of(results, "decode_time_mean") == Approx((20 + 0) / 2.0 * kNano));
}

TEST_CASE("counts, throughput and the prefix cache of two calls") {
  const Results results = results_of(two_calls());
  CHECK(value_of(results, "calls_started") == 2);
  CHECK(value_of(results, "calls_completed") == 2);
  CHECK(value_of(results, "request_throughput") == Approx(2e6));
  CHECK(value_of(results, "output_token_throughput") == Approx(4e6));   // 3 + 1 tokens
  CHECK(value_of(results, "prompt_token_throughput") == Approx(25e6));  // 10 + 15
  CHECK(value_of(results, "prefix_hit_rate") == Approx(12.0 / 25));
  CHECK(value_of(results, "hit_rate_ceiling") == Approx(13.0 / 25));
  CHECK(value_of(results, "lost_token_share") == Approx(1.0 / 25));
  CHECK(value_of(results, "recompute_tokens") == 1);
  CHECK(value_of(results, "recompute_tokens", "cause=eviction") == 1);
  CHECK(value_of(results, "recompute_tokens", "cause=preemption") == 0);
}

TEST_CASE("engine, tool and memory metrics of two calls") {
  const Results results = results_of(two_calls());
  CHECK(value_of(results, "engine_steps") == 4);
  CHECK(value_of(results, "step_time") == Approx(60.0 / 4 * kNano));  // 20 + 10 + 10 + 20
  CHECK(value_of(results, "busy_share") == Approx(0.06));
  CHECK(value_of(results, "busy_share", "replica=0") == Approx(0.06));
  CHECK(value_of(results, "batch_size") == 1);
  CHECK(value_of(results, "step_tokens") == Approx(15.0 / 4));           // 10 + 1 + 1 + 3
  CHECK(value_of(results, "prefill_token_throughput") == Approx(13e6));  // 10 + 3
  CHECK(value_of(results, "evicted_blocks") == 5);
  CHECK(value_of(results, "tool_run_time_mean", "tool=shell") == Approx(50 * kNano));
  CHECK(value_of(results, "tool_queue_time_mean", "tool=shell") == 0);
  CHECK(value_of(results, "tool_failure_rate", "tool=shell") == 0);
  CHECK(value_of(results, "tool_utilisation", "tool=shell") == Approx(50.0 / 2000));  // two workers
  CHECK(value_of(results, "kv_usage") == Approx(0.3));
  CHECK(value_of(results, "kv_cached_share", "pool=main") == Approx(0.1));
  CHECK(value_of(results, "kv_wasted_share") == 0);
  CHECK(value_of(results, "idle_kv_share") == Approx(100.0 / 400));  // of what holds content, what waits for the tool
  // 13 tokens from 100 to 210 and 16 to 240, of a pool of 64, over 1000 ns.
  CHECK(value_of(results, "kv_demand") == Approx((13.0 * 110 + 16 * 30) / 1000 / 64));
  CHECK(value_of(results, "kv_demand_peak") == Approx(16.0 / 64));
}

TEST_CASE("targets decide what counts as good") {
  ObserverSetup setup = plain_setup();
  SUBCASE("a ttft between the two calls' leaves one of them, and half is less than 90 %") {
    setup.targets.ttft = Duration{35};
    const Results results = results_of(two_calls(), std::move(setup));
    CHECK(value_of(results, "call_attainment") == Approx(0.5));
    CHECK(value_of(results, "call_goodput") == Approx(1e6));
    CHECK(value_of(results, "session_goodput") == 0);
  }
  SUBCASE("half is enough when half is asked for") {
    setup.targets.ttft = Duration{35};
    setup.targets.attainment = 0.5;
    CHECK(value_of(results_of(two_calls(), std::move(setup)), "session_goodput") == Approx(1e6));
  }
  SUBCASE("a target that is met to the nanosecond is met") {
    setup.targets = {Duration{40}, Duration{10}, Duration{30}, 1};
    CHECK(value_of(results_of(two_calls(), std::move(setup)), "call_attainment") == 1);
  }
  SUBCASE("tpot is held against calls of two tokens or more only") {
    setup.targets.tpot = Duration{9};
    CHECK(value_of(results_of(two_calls(), std::move(setup)), "call_attainment") == Approx(0.5));
  }
  SUBCASE("resume is held against calls that follow a wait only") {
    setup.targets.resume = Duration{29};
    CHECK(value_of(results_of(two_calls(), std::move(setup)), "call_attainment") == Approx(0.5));
  }
}

TEST_CASE("a session that starts before the window is not measured, but its time and the calls issued inside are") {
  ObserverSetup setup = plain_setup();
  setup.window.start = at(200);
  Story story = two_calls();
  // Bookings up to 160 lie outside; that of the tool is cut in two at 200.
  for (std::size_t n = 0; n < 4; ++n) nth<cluster::TimeBooked>(story, n).measured = false;
  cluster::TimeBooked& tool = nth<cluster::TimeBooked>(story, 4);
  tool.duration = Duration{10};
  cluster::TimeBooked before = tool;
  before.duration = Duration{40};
  before.at = at(200);
  before.measured = false;
  for (std::size_t i = 0; i < story.size(); ++i)
    if (std::holds_alternative<cluster::ToolEnded>(story[i])) {
      story.insert(story.begin() + static_cast<std::ptrdiff_t>(i), before);
      break;
    }
  nth<cluster::MemoryBooked>(story, 2).token_nanoseconds = 64 * 500;
  nth<cluster::RunEnded>(story).window_start = at(200);
  const Results results = results_of(story, std::move(setup));
  CHECK(value_of(results, "sessions_started") == 0);
  CHECK(metric(results, "session_completion_time_mean") == nullptr);
  CHECK(value_of(results, "calls_started") == 1);
  CHECK(value_of(results, "ttft_mean") == Approx(30 * kNano));
  CHECK(metric(results, "itl_mean") == nullptr);
  CHECK(value_of(results, "engine_steps") == 1);
  CHECK(value_of(results, "busy_share") == Approx(20.0 / 900));
  CHECK(value_of(results, "tool_utilisation", "tool=shell") == Approx(10.0 / 1800));
  CHECK(results.ledgers[0].total == 40);  // 200 to 240
}

TEST_CASE("steps that straddle the window are clipped: busy time by time, steps and gaps by their ends") {
  ObserverSetup setup = plain_setup();
  EngineMetrics engines(1, 1);
  const std::vector<Time> ends = {at(90), at(110), at(130), at(1090), at(1100), at(1120)};
  const std::vector<std::int64_t> gaps = {2};
  engines.on(cluster::StepsRun{ReplicaId{0}, at(80), ends, {.tokens = 2, .decode_sequences = 2, .sampled = 2}, gaps}, setup.window);
  Report report;
  engines.report(report, {"coders"}, setup.window.length());
  const Results results = report.take();
  CHECK(value_of(results, "engine_steps") == 3);     // ends at 110, 130, 1090
  CHECK(metric(results, "itl_mean")->samples == 6);  // two sequences each
  CHECK(value_of(results, "itl_mean") == Approx((20 + 20 + 960) / 3.0 * kNano));
  CHECK(value_of(results, "busy_share") == 1);  // from 100 to 1100
  CHECK(value_of(results, "output_token_throughput") == Approx(6e6));
}

TEST_CASE("a long gap counts as one more gap") {
  EngineMetrics engines(2, 1);
  const Window window{at(100), at(1100)};
  engines.on(cluster::LongGap{ClassId{1}, Duration{77}, at(500)}, window);
  engines.on(cluster::LongGap{ClassId{1}, Duration{77}, at(1100)}, window);  // outside
  Report report;
  engines.report(report, {"a", "b"}, window.length());
  const Results results = report.take();
  CHECK(value_of(results, "itl_mean", "class=b") == Approx(77 * kNano));
  CHECK(metric(results, "itl_mean", "class=b")->samples == 1);
  CHECK(metric(results, "itl_mean", "class=a") == nullptr);
}

TEST_CASE("calls and sessions that had not ended are counted and left out of the distributions") {
  Story story = two_calls();
  cluster::CallEnded& call = nth<cluster::CallEnded>(story, 1);
  call.end = cluster::CallEnd::cut;
  call.generated = 0;
  call.first_token = call.last_token = kNever;
  nth<cluster::SessionEnded>(story).end = cluster::SessionEnd::cut;
  const Results results = results_of(story);
  CHECK(value_of(results, "calls_cut") == 1);
  CHECK(value_of(results, "calls_completed") == 1);
  CHECK(value_of(results, "sessions_cut") == 1);
  CHECK(value_of(results, "session_attainment") == 0);
  CHECK(value_of(results, "call_attainment") == Approx(0.5));
  CHECK(metric(results, "ttft_mean")->samples == 1);
  CHECK(metric(results, "queue_time_mean")->samples == 2);
  CHECK(metric(results, "session_completion_time_mean") == nullptr);
  CHECK(results.notes.empty());
}

TEST_CASE("series hold what was sampled, summed per pool, and the rates of whole periods") {
  const Results results = results_of(two_calls());
  const auto points = [&](std::string_view name) {
    for (const Series& series : results.series)
      if (series.name == name) return series.points;
    return std::vector<SeriesPoint>{};
  };
  REQUIRE(points("running").size() == 1);
  CHECK(points("running")[0].at == at(250));
  CHECK(points("running")[0].value == 2);
  CHECK(points("waiting")[0].value == 3);
  CHECK(points("kv_usage_series")[0].value == Approx(0.25));
  CHECK(points("kv_cached_share_series")[0].value == Approx(0.5));
  CHECK(points("kv_demand_series")[0].value == 0);  // the session ended at 240
  // Periods end at 250, 500, 750, 1000; all 4 tokens and both calls fall into the first. 1100 is in a period that the run cut short.
  REQUIRE(points("output_token_throughput_series").size() == 4);
  CHECK(points("output_token_throughput_series")[0].value == Approx(4 / 250e-9));
  CHECK(points("output_token_throughput_series")[1].value == 0);
  CHECK(points("request_throughput_series")[0].value == Approx(2 / 250e-9));
}

TEST_CASE("a run of steps is spread over the sampling periods by the ends of its steps") {
  SeriesRecorder recorder({"main"}, {0}, Duration{100});
  const std::vector<Time> ends = {at(99), at(100), at(101), at(350)};
  recorder.on(cluster::StepsRun{ReplicaId{0}, at(90), ends, {.sampled = 3}, {}});
  Report report;
  recorder.report(report, at(400));
  const Results results = report.take();
  const Series& tokens = results.series[results.series.size() - 2];
  REQUIRE(tokens.name == "output_token_throughput_series");
  REQUIRE(tokens.points.size() == 4);
  CHECK(tokens.points[0].value == Approx(6 / 100e-9));  // 99 and 100: an end on the edge belongs to the period that it ends
  CHECK(tokens.points[1].value == Approx(3 / 100e-9));
  CHECK(tokens.points[2].value == 0);
  CHECK(tokens.points[3].value == Approx(3 / 100e-9));
}

TEST_CASE("samples of several replicas are summed per pool") {
  SeriesRecorder recorder({"a", "b"}, {0, 1, 1}, Duration{100});
  recorder.on(cluster::ReplicaSampled{ReplicaId{0}, at(100), 1, 2, 10, 4, 1}, 0.5);
  recorder.on(cluster::ReplicaSampled{ReplicaId{1}, at(100), 3, 4, 10, 2, 1}, 0.5);
  recorder.on(cluster::ReplicaSampled{ReplicaId{2}, at(100), 5, 6, 30, 6, 1}, 0.5);
  recorder.on(cluster::ReplicaSampled{ReplicaId{0}, at(200), 7, 8, 10, 4, 1}, 0.7);
  Report report;
  recorder.report(report, at(200));
  const Results results = report.take();
  for (const Series& series : results.series) {
    if (series.name == "running" && series.label == "pool=b") CHECK(series.points[0].value == 10);
    if (series.name == "waiting" && series.label == "pool=b") CHECK(series.points[0].value == 8);
    if (series.name == "kv_usage_series" && series.label == "pool=b") CHECK(series.points[0].value == Approx(8.0 / 40));
    if (series.name == "running" && series.label == "pool=a") CHECK(series.points[1].value == 8);
    if (series.name == "kv_demand_series") {
      REQUIRE(series.points.size() == 2);
      CHECK(series.points[1].value == Approx(0.7));
    }
  }
}

TEST_CASE("tool failures are counted, and tries that end outside the window only keep workers busy") {
  ToolMetrics tools({{"shell", 0}, {"web", 1}});
  const Window window{at(100), at(200)};
  tools.on(cluster::ToolEnded{ToolId{0}, ClassId{0}, Duration{5}, Duration{10}, true, at(150)}, window);
  tools.on(cluster::ToolEnded{ToolId{0}, ClassId{0}, Duration{15}, Duration{30}, false, at(160)}, window);
  tools.on(cluster::ToolEnded{ToolId{1}, ClassId{0}, Duration{}, Duration{60}, false, at(230)}, window);  // 170 to 230
  Report report;
  tools.report(report, window.length());
  const Results results = report.take();
  CHECK(value_of(results, "tool_failure_rate", "tool=shell") == Approx(0.5));
  CHECK(value_of(results, "tool_queue_time_mean", "tool=shell") == Approx(10 * kNano));
  CHECK(value_of(results, "tool_tries") == 2);
  CHECK(metric(results, "tool_utilisation", "tool=shell") == nullptr);  // as many workers as are asked for
  CHECK(value_of(results, "tool_utilisation", "tool=web") == Approx(0.3));
  CHECK(value_of(results, "tool_tries", "tool=web") == 0);
}
