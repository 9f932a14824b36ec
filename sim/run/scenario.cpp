// Reading a scenario from its tree: every section, every default, every check that needs more than one of them.
#include "sim/run/scenario.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "sim/base/quantity.h"
#include "sim/run/plugins.h"
#include "sim/run/scenario_state.h"
#include "sim/run/scenario_tree.h"

namespace marea::run {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostSamples = 1'000'000;  // of a run with a stated duration

void read_service(const Value& value, Scenario::State& state, spec::Format& weights, spec::Format& kv) {
  Section section(value);
  state.model = spec::read_model(section.required("model"));
  weights = spec::read_format(section.required("weights"));
  kv = spec::Format::bf16;  // as engines do unless told otherwise, whatever the weights
  if (const auto given = section.optional("kv")) kv = spec::read_format(*given);
  if (const auto targets = section.optional("targets")) state.targets = spec::read_targets(*targets);
  section.close();
}

void read_pool(const Value& value, const Scenario::State& state, spec::Format weights, spec::Format kv, PoolSpec& pool) {
  Section section(value);
  pool.name = section.required("name").text();
  if (const auto replicas = section.optional("replicas")) pool.replicas = static_cast<int>(replicas->integer(1, 100'000));
  std::int64_t tensor = 1;
  std::int64_t data = 1;
  std::int64_t expert_ranks = 1;
  if (const auto ranks = section.optional("tensor")) tensor = ranks->integer(1, 1024);
  if (const auto ranks = section.optional("data")) data = ranks->integer(1, 1024);
  if (const auto ranks = section.optional("expert_ranks")) expert_ranks = ranks->integer(1, tensor * data);
  section.close();
  pool.deployment = spec::deploy(state.model, weights, kv, tensor, expert_ranks, data);
  if (const std::string reason = spec::refusal(state.model, state.node.device, pool.deployment); !reason.empty()) section.fail(reason);
}

void read_cluster(const Value& value, Scenario::State& state, spec::Format weights, spec::Format kv) {
  Section section(value);
  state.node = spec::read_node(section.required("node"));
  std::int64_t nodes = 1;
  if (const auto count = section.optional("nodes")) nodes = count->integer(1, 1'000'000);
  const Value pools = section.required("pools");
  std::set<std::string> names;
  std::int64_t wanted = 0;
  for (const Value& item : pools.items()) {
    PoolSpec pool;
    read_pool(item, state, weights, kv, pool);
    if (!names.insert(pool.name).second) item.fail("there are two pools named '" + pool.name + "'; give each a name of its own");
    if (pool.deployment.ranks() > state.node.count) {
      item.fail("a replica on " + std::to_string(pool.deployment.ranks()) + " devices spans more than one node of " +
                std::to_string(state.node.count) + "; take at most " + std::to_string(state.node.count) + " ranks");
    }
    wanted += pool.deployment.ranks() * pool.replicas;
    state.pools.push_back(std::move(pool));
  }
  if (state.pools.empty()) pools.fail("a cluster needs at least one pool of replicas");
  const std::int64_t present = nodes * state.node.count;
  if (wanted > present) {
    pools.fail("the pools need " + std::to_string(wanted) + " devices, but " + std::to_string(nodes) + " nodes of " +
               std::to_string(state.node.count) + " have " + std::to_string(present) + "; add nodes or take fewer replicas");
  }
  section.close();
}

// The switches that tell recorded versions of the engine apart.
void read_version(Section& section, Scenario::State& state) {
  serving::VllmV1Params& engine = state.engine;
  const auto version = section.optional("version");
  if (version && version->one_of({"2026-06", "2025-12"}, "engine version") == "2025-12") {
    engine.free_order = serving::FreeOrder::append;
    engine.reserve_full_prompt = false;
    engine.async = false;
    state.before_2026 = true;
  }
  if (const auto order = section.optional("free_order")) {
    const bool append = order->one_of({"append", "unhashed-first"}, "free order") == "append";
    engine.free_order = append ? serving::FreeOrder::append : serving::FreeOrder::unhashed_first;
  }
  if (const auto gate = section.optional("reserve_full_prompt")) engine.reserve_full_prompt = gate->boolean();
  if (const auto fraction = section.optional("watermark")) engine.watermark = fraction->fraction();
  if (const auto async = section.optional("async")) engine.async = async->boolean();
}

void read_serving(const std::optional<Value>& value, Scenario::State& state) {
  serving::VllmV1Params& engine = state.engine;
  engine.max_length = state.model.max_length;
  engine.window = state.model.attention.key_limit();
  Tree empty;
  empty.kind = Tree::Kind::map;
  Section section(value ? *value : Value(empty, "serving"));
  if (const auto name = section.optional("engine")) name->one_of({"vllm-v1"}, "engine");
  read_version(section, state);
  if (const auto block = section.optional("block")) engine.block = block->tokens(Tokens{1}).value;
  if (const auto budget = section.optional("batch_tokens")) engine.batch_tokens = budget->tokens(Tokens{1}).value;
  if (const auto sequences = section.optional("sequences")) engine.sequences = sequences->integer(1, 1'000'000);
  if (const auto length = section.optional("max_length")) {
    engine.max_length = length->tokens(Tokens{2}).value;
    if (engine.max_length > state.model.max_length) {
      length->fail("the model handles " + std::to_string(state.model.max_length) + " tokens; take no more than that");
    }
  }
  if (const auto threshold = section.optional("long_prefill_threshold")) engine.long_prefill_threshold = threshold->tokens(Tokens{1}).value;
  if (const auto chunked = section.optional("chunked_prefill")) engine.chunked_prefill = chunked->boolean();
  if (const auto caching = section.optional("prefix_caching")) engine.prefix_caching = caching->boolean();
  state.host = spec::read_host(section.required("host"));
  const auto scheduler = section.optional("scheduler");
  const auto router = section.optional("router");
  Tree fcfs;
  fcfs.kind = Tree::Kind::scalar;
  fcfs.text = "fcfs";
  state.scheduler = read_plugin(scheduler ? *scheduler : Value(fcfs, "serving.scheduler"), schedulers(), "scheduler");
  Tree round_robin = fcfs;
  round_robin.text = "round-robin";
  state.router = read_plugin<cluster::RouterRecipe>(router ? *router : Value(round_robin, "serving.router"), routers(), "router",
                                                    [&](Section& common) {
                                                      if (const auto age = common.optional("view_age")) {
                                                        state.view_age = age->duration();
                                                        if (state.view_age > Duration{} && state.view_age < std::chrono::microseconds(100))
                                                          age->fail("a view is either live (0 s) or at least 100 us old");
                                                      }
                                                      if (const auto sticky = common.optional("sticky_agents"))
                                                        state.sticky_agents = sticky->boolean();
                                                    });
  if (engine.batch_tokens < engine.sequences) {
    section.fail("batch_tokens (" + std::to_string(engine.batch_tokens) + ") is less than sequences (" + std::to_string(engine.sequences) +
                 "); every running sequence needs a token of the budget");
  }
  if (!engine.chunked_prefill && engine.batch_tokens < engine.max_length) {
    section.fail("without chunked_prefill batch_tokens must reach max_length (" + std::to_string(engine.max_length) + " tok)");
  }
  section.close();
}

// Tiers of one replica each; those that share a node share its drives.
void read_tiers(const Value& value, Scenario::State& state) {
  if (!state.engine.prefix_caching) value.fail("tiers keep what the prefix cache knows by its content; prefix_caching is off");
  for (PoolSpec& pool : state.pools) {
    const std::int64_t together = std::min<std::int64_t>(pool.replicas, state.node.count / pool.deployment.ranks());
    pool.tiers = spec::read_tiers(value, state.node, 1.0 / static_cast<double>(together));
    if (pool.tiers.tiers.empty()) continue;
    std::int64_t& block = pool.tiers.use.block;
    if (block == 0) block = state.engine.block;
    if (block % state.engine.block != 0)
      value.fail(fmt::format("the tiers' blocks of {} tok are no multiple of the engine's {} tok", block, state.engine.block));
    const Bytes least = cost::kv_per_token(state.model, pool.deployment) * pool.deployment.tensor * block;
    for (const spec::Tier& tier : pool.tiers.tiers)
      if (tier.capacity < least)
        value.fail(fmt::format("tier {} of {} does not hold one block of {} tok, which takes {} on all ranks of pool {}", tier.name,
                               show(tier.capacity), block, show(least), pool.name));
    const Bytes wanted = pool.tiers.tiers.front().capacity * together;
    if (wanted > state.node.dram.capacity)
      value.fail(fmt::format(
          "{} replicas of pool {} on one node want {} of host memory for tier {}, but a node has {}; a capacity is that of one replica",
          together, pool.name, show(wanted), pool.tiers.tiers.front().name, show(state.node.dram.capacity)));
  }
}

void read_kv(const std::optional<Value>& value, Scenario::State& state) {
  spec::EngineLimits limits;
  limits.batch_tokens = state.engine.batch_tokens;
  limits.sequences = state.engine.sequences;
  limits.max_length = state.engine.max_length;
  limits.block = state.engine.block;
  limits.before_2026 = state.before_2026;
  if (value) {
    Section section(*value);
    if (const auto fraction = section.optional("memory_fraction")) limits.memory_fraction = fraction->fraction(0.01, 1);
    if (const auto blocks = section.optional("blocks")) limits.blocks = blocks->integer(2, std::int64_t{1} << 31);
    if (const auto eviction = section.optional("eviction")) eviction->one_of({"lru"}, "eviction policy");
    if (const auto tiers = section.optional("tiers")) read_tiers(*tiers, state);
    section.close();
  }
  for (PoolSpec& pool : state.pools) pool.limits = limits;
}

void read_run(const std::optional<Value>& value, Scenario::State& state) {
  state.sample_period = std::chrono::seconds(10);
  state.window.drain = std::chrono::hours(1);
  if (!value) return;
  Section section(*value);
  if (const auto warmup = section.optional("warmup")) state.window.start = kStart + warmup->duration();
  if (const auto duration = section.optional("duration")) {
    state.window.end = kStart + duration->duration(Duration{1});
    if (state.window.end <= state.window.start)
      duration->fail("the run ends before its warm-up is over; take a duration longer than warmup");
  }
  if (const auto drain = section.optional("drain")) state.window.drain = drain->duration();
  if (const auto start = section.optional("start")) state.stationary = start->one_of({"empty", "stationary"}, "start") == "stationary";
  if (const auto seed = section.optional("seed")) state.seed = static_cast<std::uint64_t>(seed->integer(0, INT64_MAX));
  if (const auto sample = section.optional("sample")) {
    state.sample_period = sample->duration();
    const Duration shortest = state.window.end == kNever ? std::chrono::milliseconds(1) : since_start(state.window.end) / kMostSamples;
    if (state.sample_period > Duration{} && state.sample_period < shortest) {
      sample->fail(fmt::format("this would take more than {} samples; take at least {}, or 0 s for none", kMostSamples, show(shortest)));
    }
  }
  section.close();
}

std::size_t pool_index(const Value& where, const Scenario::State& state, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < state.pools.size(); ++index) {
    if (state.pools[index].name == name) return index;
    names.push_back(state.pools[index].name);
  }
  const std::string near = nearest(name, names);
  where.fail("there is no pool of replicas named '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

void read_traffic(const Value& value, const traffic::NamedPrograms& programs, const fs::path& folder, const SearchPath& path,
                  Scenario::State& state) {
  traffic::ClassContext context;
  context.formats = trace_formats();
  context.programs = &programs;
  context.find_file = [&](const Value& name) {
    if (const auto file = path.find_file(name.text(), folder)) return file->string();
    name.fail("there is no file '" + name.text() + "' beside the scenario or in MAREA_PATH");
  };
  std::set<std::string> names;
  for (const Value& item : value.items()) {
    Section section(item);
    traffic::ClassSpec spec = traffic::read_class(section, context);
    if (!names.insert(spec.name).second) item.fail("there are two traffic classes named '" + spec.name + "'; give each a name of its own");
    if (!spec.pool.empty()) pool_index(item, state, spec.pool);
    if (const auto* replay = std::get_if<traffic::Replay>(&spec.sessions)) {
      for (const auto& [model, pool] : replay->pools) pool_index(item, state, pool);
    }
    const bool endless = std::holds_alternative<traffic::Programs>(spec.sessions) || std::get<traffic::Replay>(spec.sessions).repeat;
    if (endless && !spec.limit && state.window.end == kNever) {
      item.fail("this traffic never ends, so run.duration (or `sessions` here) is needed");
    }
    state.classes.push_back(std::move(spec));
  }
  if (state.classes.empty()) value.fail("at least one traffic class is expected");
}

// Makes trace files of the resolved text findable from anywhere: those that lie beside the scenario get their whole path.
void anchor_traces(Tree& tree, const fs::path& folder) {
  Tree* traffic = tree.find("traffic");
  if (traffic == nullptr) return;
  for (Tree& item : traffic->items) {
    Tree* trace = item.find("trace");
    Tree* file = trace == nullptr ? nullptr : trace->find("file");
    if (file == nullptr || file->kind != Tree::Kind::scalar) continue;
    std::error_code none;
    if (fs::path(file->text).is_relative() && fs::is_regular_file(folder / file->text, none))
      file->text = fs::absolute(folder / file->text).lexically_normal().string();
  }
}

// Writes a default into the resolved tree where the scenario is silent.
void fill(Tree& tree, std::string_view section, std::string_view key, std::string text) {
  Tree* map = tree.find(section);
  if (map == nullptr) {
    tree.entries.push_back({std::string(section), {}, {}});
    map = &tree.entries.back().value;
    map->kind = Tree::Kind::map;
  }
  if (map->find(key) != nullptr) return;
  Tree value;
  value.kind = Tree::Kind::scalar;
  value.text = std::move(text);
  map->entries.push_back({std::string(key), {}, std::move(value)});
}

void fill_defaults(const Scenario::State& state, spec::Format kv, Tree& tree) {
  const auto tokens = [](std::int64_t value) { return std::to_string(value) + " tok"; };
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  const serving::VllmV1Params& engine = state.engine;
  fill(tree, "service", "kv", std::string(spec::name(kv)));
  fill(tree, "cluster", "nodes", "1");
  fill(tree, "serving", "engine", "vllm-v1");
  fill(tree, "serving", "free_order", engine.free_order == serving::FreeOrder::append ? "append" : "unhashed-first");
  fill(tree, "serving", "reserve_full_prompt", flag(engine.reserve_full_prompt));
  fill(tree, "serving", "watermark", fmt::format("{}", engine.watermark));
  fill(tree, "serving", "async", flag(engine.async));
  fill(tree, "serving", "block", tokens(engine.block));
  fill(tree, "serving", "batch_tokens", tokens(engine.batch_tokens));
  fill(tree, "serving", "sequences", std::to_string(engine.sequences));
  fill(tree, "serving", "max_length", tokens(engine.max_length));
  fill(tree, "serving", "chunked_prefill", flag(engine.chunked_prefill));
  fill(tree, "serving", "prefix_caching", flag(engine.prefix_caching));
  fill(tree, "serving", "scheduler", "fcfs");
  fill(tree, "serving", "router", "round-robin");
  fill(tree, "kv", "memory_fraction", fmt::format("{}", state.pools.front().limits.memory_fraction));
  fill(tree, "kv", "eviction", "lru");
  fill(tree, "run", "warmup", exact(since_start(state.window.start)));
  fill(tree, "run", "drain", exact(state.window.drain));
  fill(tree, "run", "start", state.stationary ? "stationary" : "empty");
  fill(tree, "run", "seed", std::to_string(state.seed));
  fill(tree, "run", "sample", exact(state.sample_period));
}

}  // namespace

Scenario Scenario::load(const ScenarioSource& source, const SearchPath& path) {
  const fs::path folder = fs::path(source.file).parent_path();
  auto state = std::make_shared<State>();
  Tree tree = source.text ? parse_yaml(*source.text, source.file) : read_yaml(source.file);
  state->tree = scenario_tree(std::move(tree), folder, source.settings, path);
  Section section{Value(state->tree, "")};
  state->name = section.required("name").text();
  if (const auto about = section.optional("about")) state->about = about->text();
  spec::Format weights{};
  spec::Format kv{};
  read_service(section.required("service"), *state, weights, kv);
  read_cluster(section.required("cluster"), *state, weights, kv);
  read_serving(section.optional("serving"), *state);
  read_kv(section.optional("kv"), *state);
  read_run(section.optional("run"), *state);
  const auto named = section.optional("programs");
  const traffic::NamedPrograms programs = named ? traffic::NamedPrograms(*named) : traffic::NamedPrograms();
  read_traffic(section.required("traffic"), programs, folder, path, *state);
  section.close();
  programs.check();
  fill_defaults(*state, kv, state->tree);
  anchor_traces(state->tree, folder);
  return Scenario(std::move(state));
}

const std::string& Scenario::name() const { return state_->name; }
const std::string& Scenario::about() const { return state_->about; }
std::string Scenario::resolved() const { return to_yaml(state_->tree); }
std::string Scenario::quality_mark() const {
  const spec::Deployment& deployment = state_->pools.front().deployment;
  std::string mark;
  const auto add = [&](std::string_view what, spec::Format format) {
    if (spec::bytes_per_number(format) < 2) mark += fmt::format("{}{} in {}", mark.empty() ? "" : ", ", what, spec::name(format));
  };
  add("weights", deployment.feed_forward_weights);
  add("KV", deployment.kv);
  return mark;
}
std::string Scenario::calibration() const {
  std::vector<std::string> names;
  const auto add = [&](std::initializer_list<std::string_view> keys) {
    const Tree* at = &state_->tree;
    for (const std::string_view key : keys)
      if (at != nullptr) at = at->find(key);
    if (at != nullptr) names.push_back(at->text);
  };
  add({"cluster", "node", "device", "calibration", "name"});
  add({"serving", "host", "name"});
  return fmt::format("{}", fmt::join(names, ", "));
}
std::uint64_t Scenario::seed() const { return state_->seed; }

std::vector<std::string> Scenario::classes() const {
  std::vector<std::string> names;
  for (const traffic::ClassSpec& spec : state_->classes) names.push_back(spec.name);
  return names;
}

std::vector<std::string> Scenario::replicas() const {
  std::vector<std::string> names;
  for (const PoolSpec& pool : state_->pools) {
    for (int index = 0; index < pool.replicas; ++index) names.push_back(fmt::format("{}/{}", pool.name, index));
  }
  return names;
}

}  // namespace marea::run
