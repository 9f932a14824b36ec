// The contract of the table of metrics, row by row, and that nothing gets past it.
#include "sim/metrics/catalogue.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "sim/metrics/report.h"
#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::metrics;

TEST_CASE("every metric has a name of its own, a unit, a population and a definition of one sentence or two") {
  std::set<std::string_view> names;
  for (const Metric& metric : catalogue()) {
    CAPTURE(metric.name);
    CHECK(names.insert(metric.name).second);
    CHECK(metric.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos);
    CHECK(!metric.unit.empty());
    CHECK(!metric.population.empty());
    REQUIRE(!metric.definition.empty());
    CHECK(metric.definition.back() == '.');
    CHECK(metric.definition.find('|') == std::string_view::npos);
  }
}

TEST_CASE("every metric is found by the names it is emitted under, and by no other") {
  for (const Metric& metric : catalogue()) {
    CAPTURE(metric.name);
    if (metric.kind != Kind::distribution) {
      CHECK(find(metric.name).metric == &metric);
      CHECK(find(metric.name).statistic == nullptr);
      CHECK(!find(std::string(metric.name) + "_p95"));
      continue;
    }
    CHECK(!find(metric.name));
    for (const Statistic& statistic : kStatistics) {
      const Found found = find(std::string(metric.name) + "_" + std::string(statistic.suffix));
      CHECK(found.metric == &metric);
      CHECK(found.statistic == &statistic);
    }
  }
  CHECK(!find("ttft_p12"));
  CHECK(!find("nonsense"));
  CHECK(!find(""));
}

TEST_CASE("session metrics come first") {
  const Results results = test::results_of(test::two_calls());
  REQUIRE(!results.metrics.empty());
  CHECK(results.metrics.front().name == "session_completion_time_mean");
  std::ptrdiff_t last = 0;
  for (const MetricValue& value : results.metrics) {
    const Found found = find(value.name);
    CAPTURE(value.name);
    REQUIRE(found);
    const std::ptrdiff_t place = found.metric - catalogue().data();
    CHECK(place >= last);
    last = place;
  }
}

TEST_CASE("a run with sessions, tools and samples emits every metric of the table but those of what did not happen") {
  const Results results = test::results_of(test::two_calls());
  std::set<std::string_view> emitted;
  for (const MetricValue& value : results.metrics) emitted.insert(find(value.name).metric->name);
  for (const Series& series : results.series) emitted.insert(series.name);
  for (const Metric& metric : catalogue()) {
    CAPTURE(metric.name);
    // No turn of the story is cold, it has no costs by which steps could be taken apart, and no context is alive in the middle of its
    // window.
    const bool missing = metric.name == "turn_ttft_cold" || metric.name == "step_time_share" || metric.name == "steps_beyond_fit_share" ||
                         metric.name == "kv_demand_trend";
    CHECK(emitted.contains(metric.name) == !missing);
  }
}

TEST_CASE("a metric that is not in the table, or not of that kind, cannot be emitted") {
  Report report;
  CHECK_THROWS_AS(report.value("made_up", "", 1, 1), InternalError);
  CHECK_THROWS_AS(report.value("ttft", "", 1, 1), InternalError);
  CHECK_THROWS_AS(report.ratio("made_up", "", 1, 0, 1), InternalError);
  CHECK_THROWS_AS(report.distribution("batch_size", "", Sketch()), InternalError);
  CHECK_THROWS_AS(report.series("batch_size", "", {}), InternalError);
}

TEST_CASE("the documentation table has a row for every metric") {
  const std::string text = catalogue_markdown();
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n';
  CHECK(lines == catalogue().size() + 2);
  for (const Metric& metric : catalogue()) CHECK(text.find("| `" + std::string(metric.name) + "` |") != std::string::npos);
}

TEST_CASE("docs/metrics.md holds the table as it is (MAREA_WRITE_DOCS=1 writes it)") {
  const std::string path = MAREA_SOURCE_DIR "/docs/metrics.md", opening = "<!-- table -->\n", closing = "<!-- end of table -->";
  std::ifstream file(path);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find(opening), end = page.find(closing);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::size_t table = begin + opening.size();
  if (std::getenv("MAREA_WRITE_DOCS") != nullptr) {
    page.replace(table, end - table, catalogue_markdown());
    std::ofstream(path) << page;
  } else {
    CHECK(page.substr(table, end - table) == catalogue_markdown());
  }
}
