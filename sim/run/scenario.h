// A scenario: what is served, on what, how, to whom. Read once, checked wholly, never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/setup.h"
#include "sim/cost/memory.h"
#include "sim/run/search_path.h"
#include "sim/spec/deployment.h"
#include "sim/spec/node.h"
#include "sim/spec/tier.h"

namespace marea::run {

struct ScenarioSource {
  std::string file;
  std::vector<std::string> settings;  // path=value, from --set
  std::optional<std::string> text;    // read instead of the file, which then only names it in errors: a stored scenario
};

// Replicas that are alike, as the scenario states them.
struct PoolSpec {
  std::string name;
  int replicas = 1;
  spec::Deployment deployment;
  spec::EngineLimits limits;
  spec::Tiers tiers;
};

class Scenario {
 public:
  // Throws ConfigError for everything a user can write wrongly.
  static Scenario load(const ScenarioSource& source, const SearchPath& path);

  const std::string& name() const;
  const std::string& about() const;
  // YAML text, complete: every default of the engine written out, every named file spliced in. Loading it gives the same runs.
  std::string resolved() const;
  std::string quality_mark() const;  // empty unless something changes the answers of the model
  std::string calibration() const;   // names of the calibration and host times used, "h100-sxm, vllm"; empty: none
  std::uint64_t seed() const;
  std::vector<std::string> classes() const;   // names of the traffic classes, by ClassId
  std::vector<std::string> replicas() const;  // names of the replicas ("main/0"), by ReplicaId

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit Scenario(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace marea::run
