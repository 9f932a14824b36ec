// The queries that docs/store.md shows work as they stand there, and give the numbers of the summary: both speak of the measuring window.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "tests/run/support.h"

using namespace marea;
using namespace marea::run;
using namespace marea::test;
using doctest::Approx;

namespace {

std::vector<std::string> queries() {
  std::vector<std::string> found;
  std::ifstream page(MAREA_SOURCE_DIR "/docs/store.md");
  REQUIRE(page);
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = line == "```sql";
    } else if (inside) {
      found.push_back(line);
    }
  }
  return found;
}

// Two runs of a little traffic with plenty before and after the window, every row kept.
class TwoRuns {
 public:
  TwoRuns() : file_(folder_.file("s.sqlite")) {
    const std::string pond = MAREA_SOURCE_DIR "/tests/cli/pond.yaml";
    for (const char* blocks : {"kv.blocks=8400", "kv.blocks=9000"}) {  // one sequence of the longest fits, so much is lost
      const SearchPath path({MAREA_SOURCE_DIR});
      const Scenario scenario = Scenario::load({pond, {blocks, "traffic[ducks].arrivals.rate=120 /min"}, std::nullopt}, path);
      RowSpool rows(folder_.path(), Detail::steps, scenario.classes(), scenario.replicas());
      RunOptions options;
      options.detail = Detail::steps;
      options.rows = &rows;
      const RunOutput output = simulate(scenario, options);
      outputs.push_back(output.results);
      RunRecord run = record(scenario.seed(), Detail::steps, output.results.fingerprint);
      run.scenario = scenario.resolved();
      run.key = run_key(run);
      Store(file_, Store::Mode::write).put(run, output.results, output.memory, &rows, text);
    }
    database.emplace(file_, Database::Access::read, std::chrono::seconds(1));
  }

  const metrics::MetricValue& metric(std::string_view name, std::size_t run = 0) const {
    for (const metrics::MetricValue& value : outputs[run].metrics)
      if (value.name == name && value.label.empty()) return value;
    FAIL("no metric " << name);
    return outputs[run].metrics.front();
  }
  double value(std::string_view name, std::size_t run = 0) const { return metric(name, run).value; }

 private:
  Folder folder_;
  std::string file_;

 public:
  std::vector<metrics::Results> outputs;
  std::optional<Database> database;
};

}  // namespace

TEST_CASE("every query of docs/store.md gives the numbers of the summary") {
  TwoRuns runs;
  const std::vector<std::string> all = queries();
  REQUIRE(all.size() == 10);
  std::size_t next = 0;
  const auto ask = [&](const auto& row) {
    const std::string query = all[next++];
    CAPTURE(query);
    Statement statement(*runs.database, query);
    int count = 0;
    for (; statement.step(); ++count) row(statement);
    CHECK(count > 0);
    return count;
  };

  CHECK(ask([](const Statement&) {}) == 2);  // all runs

  int ttft = 0;
  ask([&](const Statement& row) { ttft += row.number(1) == runs.value(row.text(0), 1) ? 1 : 0; });
  CHECK(ttft >= 12);  // ttft and ttft_first with six statistics each

  double last = 1e9;
  ask([&](const Statement& row) {
    CHECK(row.number(2) == runs.value("session_goodput", static_cast<std::size_t>(row.integer(0) - 1)));
    CHECK(row.number(2) <= last);
    last = row.number(2);
  });

  for (const std::string ledger : {"time", "memory"}) {
    const auto book = std::find_if(runs.outputs[0].ledgers.begin(), runs.outputs[0].ledgers.end(),
                                   [&](const metrics::Ledger& one) { return one.name == ledger; });
    ask([&](const Statement& row) {
      std::int64_t sum = 0;
      for (const metrics::LedgerRow& part : book->rows) sum += part.cause == row.text(0) ? part.value : 0;
      CHECK(row.number(1) == Approx(100.0 * static_cast<double>(sum) / static_cast<double>(book->total)).epsilon(0.002).scale(50));
    });
  }

  double peak = 0, first = 0;  // past its memory
  for (const metrics::Series& series : runs.outputs[0].series)
    if (series.name == "kv_demand_series")
      for (const metrics::SeriesPoint& point : series.points) {
        if (point.at < runs.outputs[0].window_start || point.at >= runs.outputs[0].window_end || point.value <= 1) continue;
        if (peak == 0) first = to_seconds(since_start(point.at)).count();
        peak = std::max(peak, point.value);
      }
  REQUIRE(peak > 1);
  ask([&](const Statement& row) {
    CHECK(row.number(0) == Approx(first));
    CHECK(row.number(2) == peak);
    CHECK(row.number(2) <= runs.value("kv_demand_peak"));
  });

  double slowest = 0;  // the ten slowest answers
  for (const metrics::SketchData& sketch : runs.outputs[0].sketches)
    if (sketch.name == "ttft" && sketch.label.empty()) slowest = sketch.most * 1e-9;
  bool top = true;
  CHECK(ask([&](const Statement& row) {
          if (top) CHECK(row.number(3) == Approx(slowest));
          top = false;
        }) == 10);

  double calls = 0, seconds = 0;  // by length of the prompt
  ask([&](const Statement& row) {
    calls += row.number(1);
    seconds += row.number(1) * row.number(2);
  });
  CHECK(calls == static_cast<double>(runs.metric("ttft_mean").samples));
  CHECK(seconds / calls == Approx(runs.value("ttft_mean")).epsilon(0.01));

  double lost = 0;  // computed again
  ask([&](const Statement& row) { lost += row.number(1); });
  CHECK(lost == runs.value("recompute_tokens"));

  int compared = 0;  // session by session
  ask([&](const Statement&) { ++compared; });
  CHECK(compared == 20);
}

TEST_CASE("the views of rows hold what the summary counts") {
  TwoRuns runs;
  const auto number = [&](const std::string& sql) {
    Statement statement(*runs.database, sql);
    REQUIRE(statement.step());
    return statement.number(0);
  };
  CHECK(number("SELECT count(*) FROM call_latency WHERE run = 1") == runs.value("calls_started"));
  CHECK(number("SELECT count(*) FROM request WHERE run = 1") > runs.value("calls_started"));
  CHECK(number("SELECT count(*) FROM session_time WHERE run = 1") == runs.value("sessions_started"));
  CHECK(number("SELECT count(*) FROM session WHERE run = 1") > runs.value("sessions_started"));
  CHECK(number("SELECT avg(life) FROM session_time WHERE run = 1 AND end = 'completed'") ==
        Approx(runs.value("session_completion_time_mean")));
  for (const auto& [column, metric] : {std::pair{"ttft", "ttft_mean"},
                                       {"resume", "resume_mean"},
                                       {"tpot", "tpot_mean"},
                                       {"latency", "e2e_mean"},
                                       {"queue", "queue_time_mean"}})
    CHECK_MESSAGE(
        number(std::string("SELECT avg(") + column + ") / 1e9 FROM call_latency WHERE run = 1") == Approx(runs.value(metric)).epsilon(1e-6),
        column);
}
