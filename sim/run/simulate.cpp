// From a scenario to a result: builds the cluster and its observers, runs the clock, gathers the results.
#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "sim/base/quantity.h"
#include "sim/cluster/simulation.h"
#include "sim/metrics/observers.h"
#include "sim/run/scenario_state.h"

namespace marea::run {

namespace {

// Hands the facts that become rows to their sink.
class RowObserver final : public cluster::Observer {
 public:
  RowObserver(RowSink& rows, Detail detail) : rows_(rows), detail_(detail) {}

  void on(const cluster::SessionEnded& fact) override {
    if (detail_ >= Detail::sessions) rows_.session(fact);
  }
  void on(const cluster::CallEnded& fact) override {
    if (detail_ >= Detail::requests) rows_.call(fact);
  }
  void on(const cluster::StepsRun& fact) override {
    if (detail_ >= Detail::steps) rows_.step(fact);
  }

 private:
  RowSink& rows_;
  Detail detail_;
};

// Keeps what the end of a run says about the work it took.
class WorkObserver final : public cluster::Observer {
 public:
  void on(const cluster::RunEnded& fact) override { work = {fact.events, fact.steps, fact.changed_steps}; }
  Work work;
};

cost::MemoryAccount account_of(const Scenario::State& state, const PoolSpec& pool) {
  return cost::account(state.model, state.node.device, pool.deployment, pool.limits);
}

bool nothing_measured(const metrics::Results& results) {
  for (const metrics::MetricValue& metric : results.metrics) {
    if ((metric.name == "sessions_started" || metric.name == "calls_started") && metric.value > 0) return false;
  }
  return true;
}

// Replications after the first draw everything anew.
std::uint64_t seed_of(std::uint64_t seed, int replication) {
  return replication == 0 ? seed : RandomStream(seed, "replication", static_cast<std::uint64_t>(replication)).bits();
}

struct Built {
  cluster::Setup cluster;
  metrics::ObserverSetup observers;
};

// Data ranks are one engine here: what each may hold and compute, times their number. Each still takes no more than its own budget of one
// prompt in a step.
void join_data_ranks(std::int64_t ranks, std::int64_t blocks, serving::VllmV1Params& engine) {
  engine.blocks = (blocks - 1) * ranks + 1;  // one null block in all
  if (ranks == 1) return;
  const std::int64_t budget = engine.batch_tokens;
  engine.long_prefill_threshold = engine.long_prefill_threshold > 0 ? std::min(engine.long_prefill_threshold, budget) : budget;
  engine.batch_tokens *= ranks;
  engine.sequences *= ranks;
}

// The host pool and the tiers below it: capacities in blocks, and how long a block takes on its way. Ranks copy their shares side by side.
void add_tiers(const PoolSpec& pool, const spec::Node& node, const cost::MemoryAccount& account, serving::VllmV1Params& engine,
               cluster::CopyRates& rates) {
  if (pool.tiers.tiers.empty()) return;
  const spec::Tier& host = pool.tiers.tiers.front();
  const std::int64_t factor = pool.tiers.use.block / account.block;
  const Bytes whole = account.per_block * pool.deployment.tensor * factor;  // an offload block, on all ranks that hold it
  engine.offload = {.blocks = host.capacity.value / whole.value,
                    .factor = factor,
                    .replacement = host.arc ? kv::Replacement::arc : kv::Replacement::lru,
                    .prompt_only = pool.tiers.use.prompt_only,
                    .store_threshold = pool.tiers.use.store_threshold,
                    .lower = {}};
  // All devices of a node read and write its one memory.
  const Bandwidth most{node.dram.bandwidth.value / static_cast<double>(node.count)};
  const auto side_by_side = static_cast<double>(pool.deployment.data);
  rates.store = {host.latency, account.per_block / std::min(host.write, most) / side_by_side};
  rates.load = {host.latency, account.per_block / std::min(host.read, most) / side_by_side};
  for (std::size_t i = 1; i < pool.tiers.tiers.size(); ++i) {
    const spec::Tier& tier = pool.tiers.tiers[i];
    engine.offload.lower.push_back(tier.capacity.value / whole.value);
    rates.lower.push_back({{tier.latency, whole / tier.write}, {tier.latency, whole / tier.read}});
  }
}

void add_pools(const Scenario::State& state, Built& built) {
  for (std::size_t index = 0; index < state.pools.size(); ++index) {
    const PoolSpec& pool = state.pools[index];
    const cost::MemoryAccount account = account_of(state, pool);
    serving::VllmV1Params engine = state.engine;
    join_data_ranks(pool.deployment.data, account.blocks, engine);
    cluster::CopyRates copies;
    add_tiers(pool, state.node, account, engine, copies);
    const auto cost = [&] { return cost::StepCost(state.model, state.node.device, pool.deployment, state.host, engine.batch_tokens); };
    built.observers.costs.push_back(cost());
    built.cluster.pools.push_back({.name = pool.name,
                                   .replicas = pool.replicas,
                                   .engine = engine,
                                   .copies = copies,
                                   .cost = cost(),
                                   .scheduler = state.scheduler,
                                   .router = state.router,
                                   .view_age = state.view_age,
                                   .sticky_agents = state.sticky_agents,
                                   .host = state.host});
    built.observers.pools.push_back(pool.name);
    for (int replica = 0; replica < pool.replicas; ++replica) {
      built.observers.replicas.push_back({.pool = index,
                                          .pool_tokens = (account.blocks - 1) * account.block * pool.deployment.data,
                                          .bytes_per_token = account.per_token.value * pool.deployment.tensor});
      metrics::ObservedTiers& tiers = built.observers.tiers.emplace_back();
      tiers.bytes_per_block = account.per_block.value * pool.deployment.tensor;
      for (const spec::Tier& tier : pool.tiers.tiers) tiers.names.push_back(tier.name);
    }
    for (const cost::MemoryRow& row : account.rows) {
      if (row.kv_pool || row.bytes.value <= 0) continue;
      built.observers.static_memory.push_back({index, row.name, row.bytes * pool.deployment.ranks()});
    }
    built.observers.static_memory.push_back({index, "null block", account.per_block * pool.deployment.ranks()});
  }
}

void add_traffic(const Scenario::State& state, Built& built, std::uint64_t seed) {
  const bool tool_names_clash = state.classes.size() > 1;
  for (std::uint32_t index = 0; index < state.classes.size(); ++index) {
    const traffic::ClassSpec& spec = state.classes[index];
    const traffic::LoadOptions options{.seed = seed,
                                       .traffic = index,
                                       .first_tool = static_cast<std::uint32_t>(built.cluster.tools.size()),
                                       .stationary = state.stationary};
    std::size_t pool = 0;
    while (!spec.pool.empty() && state.pools[pool].name != spec.pool) ++pool;
    built.cluster.classes.push_back({spec.name, traffic::make_load(spec, options), pool});
    built.observers.classes.push_back(spec.name);
    built.observers.load_modes.push_back(built.cluster.classes.back().load->mode());
    for (const traffic::ToolSpec& tool : spec.tools) {
      const std::string name = tool_names_clash ? spec.name + "/" + tool.name : tool.name;
      built.cluster.tools.push_back({name, tool.workers});
      built.observers.tools.push_back({name, tool.workers});
    }
  }
}

Built build(const Scenario::State& state, std::uint64_t seed, bool skip_ahead) {
  Built built;
  built.cluster.seed = seed;
  built.cluster.window = state.window;
  built.cluster.sample_period = state.sample_period;
  built.cluster.skip_ahead = skip_ahead;
  built.observers.window = {state.window.start, state.window.end};
  built.observers.sample_period = state.sample_period;
  built.observers.targets = state.targets;
  add_pools(state, built);
  add_traffic(state, built, seed);
  return built;
}

}  // namespace

MemoryReport memory_report(const Scenario& scenario) {
  MemoryReport report;
  const Scenario::State& state = scenario.state();
  for (const PoolSpec& pool : state.pools) {
    for (const cost::MemoryRow& row : account_of(state, pool).rows) {
      report.rows.push_back({pool.name, row.name, row.bytes.value, std::string(spec::name(row.status))});
    }
  }
  return report;
}

void require_fit(const Scenario& scenario) {
  const Scenario::State& state = scenario.state();
  for (const PoolSpec& pool : state.pools) {
    const cost::MemoryAccount account = account_of(state, pool);
    if (account.fits()) continue;
    DoesNotFit error(account.blocks == 0
                         ? fmt::format("{} does not fit: a replica of pool {} has no room for any KV on {} x {}", state.model.name,
                                       pool.name, pool.deployment.ranks(), state.node.device.name)
                         : fmt::format("{} does not fit: one sequence of {} tokens needs {} more per GPU than a replica of pool {} has; "
                                       "the longest that fits is {} tokens",
                                       state.model.name, account.max_length, show_binary(account.missing), pool.name, account.longest));
    error.account = memory_report(scenario);
    throw error;
  }
}

std::string fit_verdict(const Scenario& scenario) {
  const Scenario::State& state = scenario.state();
  std::string text;
  for (const PoolSpec& pool : state.pools) {
    const cost::MemoryAccount account = account_of(state, pool);
    text += fmt::format("; {} holds {} of KV, {:.1f} x max_length", pool.name, show(Tokens(account.tokens)),
                        static_cast<double>(account.tokens) / static_cast<double>(account.max_length));
  }
  return fmt::format("fits: {} on {} x {}{}", state.model.name, state.pools.front().deployment.tensor, state.node.device.name, text);
}

RunOutput simulate(const Scenario& scenario, const RunOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  require_fit(scenario);
  const Scenario::State& state = scenario.state();
  const std::uint64_t seed = seed_of(options.seed.value_or(state.seed), options.replication);
  Built built = build(state, seed, options.skip_ahead);
  std::vector<traffic::Load*> loads;
  for (const cluster::ClassSetup& traffic : built.cluster.classes) loads.push_back(traffic.load.get());
  metrics::Observers observers(std::move(built.observers));
  WorkObserver work;
  std::vector<cluster::Observer*> watching{&observers, &work};
  std::optional<RowObserver> rows;
  if (options.rows != nullptr) watching.push_back(&rows.emplace(*options.rows, options.detail));
  cluster::Simulation simulation(std::move(built.cluster), watching);
  RunOutput output;
  output.interrupted = !simulation.run(options.progress);
  output.results = observers.finish();
  for (std::size_t index = 0; index < loads.size(); ++index) {
    for (const traffic::Load::Note& note : loads[index]->notes()) {
      output.results.notes.push_back({state.classes[index].name + ": " + note.text, note.count});
    }
  }
  output.work = work.work;
  if (nothing_measured(output.results)) output.results.notes.push_back({"no session and no call started inside the measuring window", 0});
  output.memory = memory_report(scenario);
  output.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return output;
}

}  // namespace marea::run
