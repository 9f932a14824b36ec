// Replications become one result: means with Student's interval, sums where the catalogue says so, merged distributions.
#include "sim/metrics/combine.h"

#include <doctest/doctest.h>

#include "sim/metrics/report.h"
#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::metrics;
using namespace marea::test;
using doctest::Approx;

namespace {

Results replication(double batch_size, double steps, const std::vector<std::int64_t>& ttft) {
  Report report;
  report.value("batch_size", "", batch_size, 10);
  report.value("engine_steps", "", steps, 10);
  Sketch sketch;
  for (const std::int64_t value : ttft) sketch.add(value);
  report.distribution("ttft", "class=a", sketch);
  report.ledger({"time", "ns", 30, {{"class=a", "decode", 10}, {"class=a", "tool", 20}}});
  Results results = report.take();
  results.notes = {{"left out", 2}};
  results.fingerprint = std::string(32, 'a');
  results.load_mode = "a: 4 lanes";
  return results;
}

}  // namespace

TEST_CASE("means have a Student t interval") {
  // 11, 12, 13: mean 12, standard deviation 1; t(0.975, 2) = 4.3027; half width 4.3027 / sqrt(3) = 2.4841.
  const Results combined = combine({replication(11, 10, {5}), replication(12, 10, {5}), replication(13, 10, {5})});
  const MetricValue* value = metric(combined, "batch_size");
  REQUIRE(value != nullptr);
  CHECK(value->value == Approx(12));
  CHECK(*value->low == Approx(12 - 2.4841).epsilon(1e-4));
  CHECK(*value->high == Approx(12 + 2.4841).epsilon(1e-4));
  CHECK(value->samples == 30);
}

TEST_CASE("an interval stays where its metric can be: not below 0, and of a share not above 1") {
  // 0.1, 0.9: mean 0.5, t(0.975, 1) = 12.706, half width 12.706 x 0.4 = 5.08.
  const auto shares = [](double busy, double size) {
    Report report;
    report.value("busy_share", "", busy, 1);
    report.value("batch_size", "", size, 1);
    Results results = report.take();
    results.fingerprint = std::string(32, 'a');
    return results;
  };
  const Results combined = combine({shares(0.1, 0.1), shares(0.9, 0.9)});
  CHECK(*metric(combined, "busy_share")->low == 0);
  CHECK(*metric(combined, "busy_share")->high == 1);
  CHECK(*metric(combined, "batch_size")->low == 0);
  CHECK(*metric(combined, "batch_size")->high == Approx(0.5 + 12.706 * 0.4).epsilon(1e-4));
}

TEST_CASE("counts are summed, and so is their interval") {
  // 10, 20, 30: sum 60; the mean's half width is 24.841, three times that for the sum.
  const Results combined = combine({replication(1, 10, {5}), replication(1, 20, {5}), replication(1, 30, {5})});
  const MetricValue* value = metric(combined, "engine_steps");
  CHECK(value->value == Approx(60));
  CHECK(*value->high - value->value == Approx(3 * 24.841).epsilon(1e-4));
}

TEST_CASE("percentiles come from the merged distribution, not from an average") {
  // p50 of {1, 1, 1} is 1, of {9} is 9; of all four values it is 1, where the average of the two would be 5.
  const Results combined = combine({replication(1, 1, {1, 1, 1}), replication(1, 1, {9})});
  CHECK(value_of(combined, "ttft_p50", "class=a") == Approx(1e-9));
  CHECK(value_of(combined, "ttft_mean", "class=a") == Approx(3e-9));
  CHECK(metric(combined, "ttft_p50", "class=a")->samples == 4);
  CHECK(metric(combined, "ttft_p50", "class=a")->low.has_value());
  REQUIRE(combined.sketches.size() == 1);
  CHECK(combined.sketches[0].samples == 4);
  CHECK(combined.sketches[0].buckets.size() == 2);
}

TEST_CASE("what only one replication has keeps its value, without an interval") {
  const Results combined = combine({replication(1, 1, {}), replication(1, 1, {7})});
  CHECK(value_of(combined, "ttft_p99", "class=a") == Approx(7e-9));
  CHECK(!metric(combined, "ttft_p99", "class=a")->low.has_value());
}

TEST_CASE("ledgers and notes are summed, the fingerprint is one of all in order") {
  Results other = replication(1, 1, {5});
  other.ledgers[0].rows.push_back({"class=a", "person", 5});
  other.ledgers[0].total += 5;
  other.fingerprint = std::string(32, 'b');
  const Results combined = combine({replication(1, 1, {5}), other});
  REQUIRE(combined.ledgers.size() == 1);
  CHECK(combined.ledgers[0].total == 65);
  CHECK(row_of(combined.ledgers[0], "class=a", "tool") == 40);
  CHECK(row_of(combined.ledgers[0], "class=a", "person") == 5);
  REQUIRE(combined.notes.size() == 1);
  CHECK(combined.notes[0].count == 4);
  CHECK(combined.load_mode == "a: 4 lanes");
  CHECK(combined.fingerprint.size() == 32);
  CHECK(combined.fingerprint != combine({other, replication(1, 1, {5})}).fingerprint);
}

TEST_CASE("one replication is its own result") {
  const Results alone = combine({replication(4, 2, {5})});
  CHECK(value_of(alone, "batch_size") == 4);
  CHECK(!metric(alone, "batch_size")->low.has_value());
  CHECK(alone.fingerprint == std::string(32, 'a'));
}

TEST_CASE("the order is that of the catalogue, whatever a replication lacks") {
  const Results combined = combine({replication(1, 1, {}), replication(1, 1, {7})});
  CHECK(combined.metrics.front().name == "ttft_mean");  // before engine_steps and batch_size
}
