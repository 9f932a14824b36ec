// What tiers report, from facts that a person can add up.
#include <doctest/doctest.h>

#include "sim/metrics/tier_metrics.h"

using namespace marea;
using namespace marea::metrics;

namespace {

Time at(std::int64_t ns) { return kStart + Duration{ns}; }

double value(const Results& results, std::string_view name, std::string_view label) {
  for (const MetricValue& metric : results.metrics)
    if (metric.name == name && metric.label == label) return metric.value;
  FAIL("no metric " << name << " " << label);
  return 0;
}

}  // namespace

TEST_CASE("bytes of copies that end inside the window, by tier and direction, and the hits that they gave") {
  const Window window{at(100), at(1100)};
  TierMetrics tiers({{{"dram", "nvme"}, 1000}, {{"dram", "nvme"}, 1000}});
  tiers.on(cluster::CopyEnded{ReplicaId{0}, 0, false, 5, at(50), at(99)}, window);  // before it
  tiers.on(cluster::CopyEnded{ReplicaId{0}, 0, false, 4, at(90), at(100)}, window);
  tiers.on(cluster::CopyEnded{ReplicaId{1}, 0, true, 3, at(200), at(300)}, window);
  tiers.on(cluster::CopyEnded{ReplicaId{1}, 1, false, 2, at(200), at(1100)}, window);  // behind it
  tiers.on(cluster::StepHeldUp{ReplicaId{0}, Duration{200}, at(500)}, window);
  tiers.on(cluster::PreemptionAvalanche{ReplicaId{0}, at(600), 3});
  cluster::CallEnded call;
  call.scheduled = at(400);
  call.prompt = 100;
  call.hit = 60;
  call.loaded = 25;
  tiers.on(call);
  Report report;
  tiers.report(report, window.length());
  const Results results = report.take();
  CHECK(value(results, "tier_written_bytes", "tier=dram") == 4000);
  CHECK(value(results, "tier_read_bytes", "tier=dram") == 3000);
  CHECK(value(results, "tier_written_bytes", "tier=nvme") == 0);
  CHECK(value(results, "tier_hit_rate", "") == 0.25);
  CHECK(value(results, "copy_stall_share", "") == doctest::Approx(0.1));  // 200 of 1000 ns on one of two replicas
  CHECK(value(results, "standstills", "") == 0);
  CHECK(value(results, "preemption_avalanches", "") == 1);
  REQUIRE(tiers.warnings().size() == 1);
  CHECK(tiers.warnings()[0].starts_with("1 schedules preempted several calls at once, 3 in all, up to 3"));
}

TEST_CASE("without tiers nothing is said of them") {
  TierMetrics tiers({{}, {}});
  Report report;
  tiers.report(report, Duration{1000});
  CHECK(report.take().metrics.empty());
  CHECK(tiers.warnings().empty());
}
