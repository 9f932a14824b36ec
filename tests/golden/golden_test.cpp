// The shipped scenarios: their fingerprints, so that a moved result is noticed and written into CHANGES.md, each beside laws that hold
// whatever the numbers are. A new fingerprint is accepted by changing fingerprints.csv on purpose (the failing check prints it).
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/base/input.h"
#include "sim/run/simulate.h"
#include "tests/support/shared.h"

using namespace marea;

namespace {

double value(const metrics::Results& results, std::string_view name) {
  for (const metrics::MetricValue& metric : results.metrics) {
    if (metric.name == name && metric.label.empty()) return metric.value;
  }
  FAIL("no metric " << name);
  return 0;
}

metrics::Results simulate(const std::string& name, std::vector<std::string> settings = {}) {
  std::vector<std::filesystem::path> roots{MAREA_SOURCE_DIR};
  const char* shared = std::getenv("MAREA_SHARED");
  roots.emplace_back(shared ? shared : MAREA_SOURCE_DIR "/../shared");
  const run::SearchPath path(roots);
  const std::string file = std::string(MAREA_SOURCE_DIR) + "/scenarios/" + name + ".yaml";
  return run::simulate(run::Scenario::load({file, std::move(settings), std::nullopt}, path), {}).results;
}

std::map<std::string, std::string> recorded() {
  std::map<std::string, std::string> fingerprints;
  CsvReader csv(MAREA_SOURCE_DIR "/tests/golden/fingerprints.csv");
  while (csv.next()) fingerprints.emplace(csv.field(csv.column("scenario")), csv.field(csv.column("fingerprint")));
  return fingerprints;
}

// Laws of any run.
void check_laws(const metrics::Results& results) {
  CHECK(value(results, "calls_started") == value(results, "calls_completed") + value(results, "calls_refused") +
                                               value(results, "calls_aborted") + value(results, "calls_cut"));
  CHECK(value(results, "sessions_started") == value(results, "sessions_completed") + value(results, "sessions_failed") +
                                                  value(results, "sessions_abandoned") + value(results, "sessions_cut"));
  CHECK(value(results, "busy_share") <= 1);
  CHECK(value(results, "kv_usage") <= 1);
  for (const metrics::Ledger& ledger : results.ledgers) {
    std::int64_t sum = 0;
    for (const metrics::LedgerRow& row : ledger.rows) sum += row.value;
    CHECK(sum == ledger.total);
  }
}

}  // namespace

TEST_CASE("shipped scenarios give the recorded fingerprints and obey the laws") {
  for (const auto& [name, fingerprint] : recorded()) {
    if (name == "bench/azure-hour" && !test::shared("data/azure-llm-2023/AzureLLMInferenceTrace_conv.csv.gz")) continue;
    if (name == "bench/mooncake-hour" && !test::shared("data/mooncake-fast25/conversation_trace.jsonl.gz")) continue;
    if (name == "bench/weka-lanes" && !test::shared("data/weka-agentic/claude_code_sessions.jsonl.gz")) continue;
    CAPTURE(name);
    const metrics::Results results = simulate(name);
    CHECK(results.fingerprint == fingerprint);
    check_laws(results);
  }
}

TEST_CASE("cpu-chat takes at least the reading of all weights for a token, and not many times that") {
  const metrics::Results results = simulate("cpu-chat");
  // Layers in int4 (6.95e9 parameters at half a byte and a scale of two bytes for every 32: 0.5625 bytes), the head in 16 bits (151,936 x
  // 4,096).
  const double seconds = (6.95e9 * 0.5625 + 151936.0 * 4096 * 2) / 68e9;
  CHECK(value(results, "tpot_p50") > seconds * 0.9);
  CHECK(value(results, "tpot_p50") < seconds * 6);
}

TEST_CASE("first-run shows the collapse past a KV demand of 1 and that capacity undoes it") {
  const metrics::Results base = simulate("first-run");
  const metrics::Results larger = simulate("first-run", {"cluster.node.device.memory.capacity=2x"});
  CHECK(value(base, "kv_demand") > 1.2);
  CHECK(value(larger, "kv_demand") < 1);
  CHECK(value(base, "prefix_hit_rate") < 0.8);
  // With room for everything only the tokens that nobody has computed miss, and the partial blocks at the end of each context.
  CHECK(value(larger, "prefix_hit_rate") > 0.97 * value(larger, "hit_rate_ceiling"));
  CHECK(value(larger, "resume_p95") < value(base, "resume_p95") / 10);
  CHECK(value(larger, "session_attainment") > 2 * value(base, "session_attainment"));
}

TEST_CASE("host memory below the device keeps what first-run loses") {
  const metrics::Results base = simulate("first-run");
  const metrics::Results tiered = simulate("agents-host-memory");
  CHECK(value(tiered, "kv_demand") > 1.2);  // as past the memory of the device as without
  CHECK(value(tiered, "prefix_hit_rate") > 0.97 * value(tiered, "hit_rate_ceiling"));
  CHECK(value(tiered, "recompute_tokens") < value(base, "recompute_tokens") / 5);
  CHECK(value(tiered, "session_attainment") > 1.5 * value(base, "session_attainment"));
  CHECK(value(tiered, "tier_hit_rate") > 0.1);
  CHECK(value(tiered, "tier_hit_rate") < value(tiered, "prefix_hit_rate"));
}

TEST_CASE("no call of the WEKA lanes is refused and their KV demand is above 1") {
  if (!test::shared("data/weka-agentic/claude_code_sessions.jsonl.gz")) return;
  const metrics::Results results = simulate("bench/weka-lanes");
  CHECK(value(results, "calls_refused") == 0);
  CHECK(value(results, "kv_demand") > 1);
}
