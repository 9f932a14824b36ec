// Whole runs: what must hold of any scenario. The auditor rides along in each.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

#include "sim/run/plugins.h"
#include "sim/run/simulate.h"

using namespace marea;

namespace {

const run::SearchPath& shipped() {
  static const run::SearchPath path({MAREA_SOURCE_DIR});
  return path;
}

run::Scenario scenario(const std::string& text, std::vector<std::string> settings = {}) {
  return run::Scenario::load({"test.yaml", std::move(settings), text}, shipped());
}

run::RunOutput simulate(const run::Scenario& scenario, bool skip_ahead = true) {
  run::RunOptions options;
  options.skip_ahead = skip_ahead;
  return run::simulate(scenario, options);
}

double value(const run::RunOutput& output, std::string_view name, std::string_view label = "") {
  for (const metrics::MetricValue& metric : output.results.metrics) {
    if (metric.name == name && metric.label == label) return metric.value;
  }
  FAIL("no metric " << name << " " << label);
  return 0;
}

// Agents on a small KV pool: prefixes shared by a group, tools, people, sub-agents, compaction, abandonment, preemption.
std::string agents(const std::string& serving, const std::string& kv, const std::string& traffic = "lanes: {count: 12, ramp: 20 s}") {
  return fmt::format(R"(name: agents
service: {{model: llama-3.1-8b, weights: bf16, targets: {{ttft: 2 s, tpot: 50 ms, resume: 2 s}}}}
cluster: {{node: hgx-h100, pools: [{{name: main, replicas: 2}}]}}
serving: {{{}}}
kv: {{{}}}
traffic:
  - name: coders
    {}
    program:
      shared_prefix: {{tokens: 3000 tok, group: tools}}
      first_prompt: {{lognormal: {{p50: 2000 tok, p90: 6000 tok, max: 20000 tok}}}}
      calls: {{uniform: [2, 12]}}
      output: {{lognormal: {{p50: 100 tok, p90: 400 tok, max: 2000 tok}}}}
      new_input: {{lognormal: {{p50: 300 tok, p90: 1500 tok, max: 5000 tok}}}}
      after_call:
        - {{weight: 70, tool: shell}}
        - {{weight: 20, human: {{exponential: {{mean: 20 s}}}}}}
        - {{weight: 10, agents: {{count: {{uniform: [1, 3]}}, program: explorer, join: all}}}}
      compaction: {{above: 12000 tok, to: {{fixed: 1500 tok}}}}
      abandon: {{after: {{exponential: {{mean: 10 min}}}}}}
    tools:
      shell: {{time: {{quantiles: {{p50: 0.8 s, p90: 10 s, max: 1 min}}}}, fails: 10 %, retries: 1, workers: 6}}
programs:
  explorer: {{shared_prefix: {{tokens: 1000 tok, group: explorer}}, calls: {{uniform: [1, 4]}}, output: {{fixed: 80 tok}}, new_input: {{fixed: 400 tok}}, first_prompt: {{fixed: 500 tok}}, after_call: [{{weight: 1, tool: shell}}]}}
run: {{duration: 6 min, warmup: 1 min, drain: 30 min, sample: 5 s}}
)",
                     serving, kv, traffic);
}

struct Variant {
  const char* serving;
  const char* kv;
};
const std::vector<Variant> kVariants = {
    {"engine: vllm-v1", "memory_fraction: 0.92"},
    {"engine: vllm-v1, sequences: 8, batch_tokens: 512 tok, max_length: 24000 tok", "blocks: 2500"},
    {"engine: vllm-v1, version: 2025-12, sequences: 6, batch_tokens: 1024 tok, max_length: 24000 tok", "blocks: 1600"},
    {"engine: vllm-v1, scheduler: priority, sequences: 6, max_length: 24000 tok, async: false", "blocks: 1600"},
    {"engine: vllm-v1, scheduler: session-first-arrival, router: least-requests, long_prefill_threshold: 256 tok, max_length: 24000 tok",
     "blocks: 1700"},
    {"engine: vllm-v1, scheduler: shortest-job, router: {kind: prefix-affinity, view_age: 50 ms}, watermark: 0.02, max_length: 24000 tok",
     "blocks: 1700"},
    {"engine: vllm-v1, prefix_caching: false, router: power-of-two, host: {front_end: {call: 0 ms}}, max_length: 24000 tok",
     "blocks: 2000"},
    {"engine: vllm-v1, max_length: 24000 tok", "blocks: 1700, tiers: [{name: dram, capacity: 4 GB}]"},
    {"engine: vllm-v1, async: false, max_length: 24000 tok",
     "blocks: 1700, tiers: [{name: dram, capacity: 3 GB, eviction: arc, block: 64 tok}, {name: nvme, capacity: 50 GB}]"},
    {"engine: vllm-v1, scheduler: priority, sequences: 6, max_length: 24000 tok",
     "blocks: 1600, tiers: [{name: dram, capacity: 1 GB, stores: all, read: 2 GB/s, write: 1 GB/s, latency: 20 ms}]"},
    {"engine: vllm-v1, max_length: 24000 tok",
     "blocks: 1700, tiers: [{name: dram, capacity: 2 GB, store_threshold: 2}, {name: nvme, capacity: 5 GB, read: 1 GB/s}]"},
};

}  // namespace

TEST_CASE("skipping ahead equals stepping, to the fingerprint and to every metric") {
  for (const Variant& variant : kVariants) {
    for (int seed = 1; seed <= 3; ++seed) {
      CAPTURE(variant.serving);
      CAPTURE(seed);
      const run::Scenario agents_scenario = scenario(agents(variant.serving, variant.kv), {fmt::format("run.seed={}", seed)});
      const run::RunOutput skipping = simulate(agents_scenario, true);
      const run::RunOutput stepping = simulate(agents_scenario, false);
      CHECK(skipping.results.fingerprint == stepping.results.fingerprint);
      REQUIRE(skipping.results.metrics.size() == stepping.results.metrics.size());
      for (std::size_t i = 0; i < skipping.results.metrics.size(); ++i) {
        CAPTURE(skipping.results.metrics[i].name);
        CHECK(skipping.results.metrics[i].value == stepping.results.metrics[i].value);
      }
      CHECK(value(skipping, "calls_completed") > 50);
    }
  }
}

TEST_CASE("skipping equals stepping for a router that asks the replicas, with sessions cut and abandoned, with tiers and without") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"kv.tiers=[{name: dram, capacity: 300 MB, read: 100 MB/s, write: 300 MB/s}]"},
      {"serving.async=false", "kv.tiers=[{name: dram, capacity: 300 MB}, {name: nvme, capacity: 2 GB, read: 1 GB/s}]"}};
  for (int seed = 1; seed <= 3; ++seed) {
    for (const std::vector<std::string>& settings : variants) {
      const run::Scenario tight = scenario(fmt::format(R"(name: tight
service: {{model: llama-3.1-8b, weights: bf16}}
cluster: {{node: hgx-h100, pools: [{{name: main, replicas: 4}}]}}
serving: {{router: prefix-index, max_length: 2000 tok, host: {{front_end: {{call: 0 ms}}}}}}
kv: {{blocks: 300}}
traffic:
  - name: chat
    lanes: {{count: 60, ramp: 20 s}}
    program:
      first_prompt: {{uniform: [40 tok, 100 tok]}}
      calls: {{uniform: [5, 12]}}
      output: {{uniform: [20 tok, 150 tok]}}
      new_input: {{uniform: [10 tok, 20 tok]}}
      after_call: [{{weight: 1, human: {{exponential: {{mean: 4 s}}}}}}]
      abandon: {{after: {{exponential: {{mean: 1 min}}}}}}
run: {{duration: 4 min, warmup: 1 min, drain: 0 s, seed: {}}}
)",
                                                       seed),
                                           settings);
      CAPTURE(settings.size());
      CAPTURE(seed);
      CHECK(simulate(tight, true).results.fingerprint == simulate(tight, false).results.fingerprint);
    }
  }
}

TEST_CASE("calls that priority leaves out of a step have longer gaps, and the books still balance") {
  const run::RunOutput output = simulate(scenario(R"(name: left-out
service: {model: llama-3.1-8b, weights: bf16}
cluster: {node: hgx-h100, pools: [{name: main}]}
serving: {max_length: 8192 tok, scheduler: priority}
kv: {blocks: 600}
traffic:
  - {name: e, arrivals: {process: gamma, rate: 2 /s, burstiness: 3}, priority: 7, program: {prompt: 1000 tok, output: {exponential: {mean: 300 tok}}}}
  - {name: f, arrivals: {process: poisson, rate: 1 /s}, program: ex, tools: {shell: {time: 1 s, workers: 1}}}
  - {name: g, arrivals: {process: poisson, rate: 1 /s}, program: ex, tools: {shell: {time: 1 s}}}
programs: {ex: {shared_prefix: {tokens: 16 tok}, calls: 3, output: 10 tok, new_input: 300 tok, after_call: [{weight: 1, tool: shell}]}}
run: {duration: 20 s}
)"));
  CHECK(value(output, "call_preemptions") > 0);
}

TEST_CASE("sub-agents that fork the same context may find what a sibling computed") {
  const run::RunOutput output = simulate(scenario(R"(name: forks
service: {model: llama-3.1-8b, weights: bf16}
cluster: {node: hgx-h100, pools: [{name: main}]}
traffic:
  - name: c
    arrivals: {process: poisson, rate: 1 /s}
    program: {shared_prefix: {tokens: 100 tok}, calls: 3, output: 2 tok, new_input: 100 tok, after_call: [{weight: 1, agents: {count: 2, program: ex, fork: true}}]}
programs: {ex: {output: 2 tok, new_input: 100 tok}}
run: {duration: 20 s}
)"));
  CHECK(value(output, "calls_completed") > 20);
}

TEST_CASE("a class whose sessions all end at once is an error, not a standstill") {
  const run::Scenario refused = scenario(R"(name: refused
service: {model: llama-3.1-8b, weights: bf16}
cluster: {node: hgx-h100, pools: [{name: main}]}
traffic: [{name: c, lanes: 1, program: {prompt: 200000 tok, output: 1 tok}}]
run: {duration: 1 min}
)");
  CHECK_THROWS_AS(simulate(refused), ConfigError);
}

TEST_CASE("a run that is stopped during its warm-up has an empty window") {
  const run::Scenario long_warmup =
      scenario(agents(kVariants[0].serving, kVariants[0].kv), {"run.duration=400 h", "run.warmup=399 h", "run.sample=0 s"});
  run::RunOptions options;
  options.progress = [](const run::Progress&) { return false; };
  const run::RunOutput output = run::simulate(long_warmup, options);
  CHECK(output.interrupted);
  CHECK(output.results.window_start == output.results.window_end);
}

TEST_CASE("a run is the same twice, beside others on threads, and after another scenario") {
  const run::Scenario one = scenario(agents(kVariants[2].serving, kVariants[2].kv));
  const run::Scenario other = scenario(agents(kVariants[4].serving, kVariants[4].kv));
  const std::string expected = simulate(one).results.fingerprint;
  simulate(other);
  CHECK(simulate(one).results.fingerprint == expected);
  std::vector<std::string> seen(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = simulate(i % 2 == 0 ? one : other).results.fingerprint; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(seen[0] == expected);
  CHECK(seen[2] == expected);
  CHECK(seen[1] == seen[3]);
}

TEST_CASE("the resolved text of a scenario gives the same run and resolves to itself") {
  const run::Scenario written = scenario(agents(kVariants[1].serving, kVariants[1].kv), {"cluster.node.device.memory.bandwidth=1.5x"});
  const run::Scenario resolved = scenario(written.resolved());
  CHECK(resolved.resolved() == written.resolved());
  // What the times rest on, by name, also in the resolved text.
  CHECK(written.calibration() == "h100-sxm, vllm");
  CHECK(resolved.calibration() == written.calibration());
  CHECK(simulate(resolved).results.fingerprint == simulate(written).results.fingerprint);
}

TEST_CASE("another seed is another run; a policy changes no traffic") {
  const run::Scenario base = scenario(agents(kVariants[0].serving, kVariants[0].kv, "arrivals: {process: poisson, rate: 6 /min}"));
  const run::Scenario reseeded =
      scenario(agents(kVariants[0].serving, kVariants[0].kv, "arrivals: {process: poisson, rate: 6 /min}"), {"run.seed=9"});
  const run::RunOutput first = simulate(base);
  CHECK(simulate(reseeded).results.fingerprint != first.results.fingerprint);
  const run::Scenario routed =
      scenario(agents("engine: vllm-v1, router: least-requests", "memory_fraction: 0.92", "arrivals: {process: poisson, rate: 6 /min}"));
  const run::RunOutput other = simulate(routed);
  CHECK(value(other, "sessions_started") == value(first, "sessions_started"));
}

TEST_CASE("every scheduler and router of the table runs agents under memory pressure") {
  for (const auto& row : run::schedulers()) {
    CAPTURE(row.name);
    const run::RunOutput output = simulate(
        scenario(agents(fmt::format("engine: vllm-v1, scheduler: {}, sequences: 6, max_length: 24000 tok", row.name), "blocks: 1600")));
    CHECK(value(output, "calls_completed") > 50);
  }
  for (const auto& row : run::routers()) {
    CAPTURE(row.name);
    const run::RunOutput output = simulate(
        scenario(agents(fmt::format("engine: vllm-v1, router: {}, sequences: 6, max_length: 24000 tok", row.name), "blocks: 1600")));
    CHECK(value(output, "calls_completed") > 50);
  }
}

TEST_CASE("more memory is never less prefix hits for one session at a time") {
  const auto hits = [](const std::string& kv) {
    return value(
        simulate(scenario(agents("engine: vllm-v1, max_length: 24000 tok, router: session-affinity", kv, "lanes: {count: 1, ramp: 0 s}"))),
        "prefix_hit_rate");
  };
  const double small = hits("blocks: 1600");
  const double large = hits("blocks: 16000");
  CHECK(large >= small);
  CHECK(large > 0.5);
}

TEST_CASE("the time ledger sums to the lives of the sessions and the memory ledger to the devices") {
  const run::Scenario pressed = scenario(agents(kVariants[3].serving, kVariants[3].kv));
  const run::RunOutput output = simulate(pressed);
  for (const metrics::Ledger& ledger : output.results.ledgers) {
    std::int64_t sum = 0;
    for (const metrics::LedgerRow& row : ledger.rows) sum += row.value;
    CHECK(sum == ledger.total);
    CHECK(ledger.total > 0);
  }
  // 12 lanes are alive through the five minutes of the window, but for those whose session starts behind the ramp (20 s, over before it
  // opens).
  for (const metrics::Ledger& ledger : output.results.ledgers) {
    if (ledger.name == "time") CHECK(ledger.total == 12LL * 300 * 1'000'000'000);
  }
  std::int64_t device = 0;
  for (const run::MemoryRow& row : output.memory.rows) device += row.bytes;
  CHECK(device == std::int64_t{81559} << 20);  // what the driver of an H100 reports
}

TEST_CASE("a model that does not fit is refused with the account of its bytes") {
  const std::string big = R"(name: big
service: {model: llama-3.1-70b, weights: bf16}
cluster: {node: hgx-h100, pools: [{name: main, tensor: 2}]}
traffic: [{name: t, arrivals: {process: poisson, rate: 1 /s}, program: {prompt: 10 tok, output: 10 tok}}]
run: {duration: 1 min}
)";
  try {
    simulate(scenario(big));
    FAIL("it was simulated");
  } catch (const run::DoesNotFit& error) {
    CHECK(std::string(error.what()).find("llama-3.1-70b") != std::string::npos);
    std::int64_t sum = 0;
    for (const run::MemoryRow& row : error.account.rows) sum += row.bytes;
    CHECK(sum == std::int64_t{81559} << 20);
  }
}

TEST_CASE("tiers that cannot be are refused with what would be right") {
  const auto refusal = [](const std::string& kv, const std::string& node = "hgx-h100", const std::string& serving = "async: true") {
    try {
      scenario(fmt::format(R"(name: t
service: {{model: llama-3.1-8b, weights: bf16}}
cluster: {{node: {}, pools: [{{name: main}}]}}
serving: {{{}}}
kv: {{tiers: {}}}
traffic: [{{name: a, lanes: 1, program: {{prompt: 10 tok, output: 5 tok}}, sessions: 1}}]
)",
                           node, serving, kv));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto says = [&](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(refusal("[{name: a, capacity: 1 GB}, {name: b, capacity: 1 GB}]") == "accepted");
  CHECK(says(refusal("[{name: a, capacity: 1 GB}, {name: b, capacity: 1 GB, eviction: arc}]"), "only the first tier gives up by arc"));
  CHECK(says(refusal("[{name: a, capacity: 1 GB}, {name: a, capacity: 1 GB}]"), "there are two tiers named 'a'"));
  CHECK(says(refusal("[{name: a, capacity: 1 GB, block: 24 tok}]"), "no multiple of the engine's 16 tok"));
  CHECK(says(refusal("[{name: a, capacity: 1 MB}]"), "does not hold one block of 16 tok, which takes 2.097 MB"));
  CHECK(says(refusal("[{name: a, capacity: 90 TB}]"), "a capacity is that of one replica"));
  CHECK(says(refusal("[{name: a, capacity: 1 GB}]", "hgx-h100", "prefix_caching: false"), "prefix_caching is off"));
  CHECK(says(refusal("[{name: a, capacity: 1 GB, stores: everything}]"), "stores"));
  CHECK(says(refusal("[{name: a}]"), "capacity"));
}
