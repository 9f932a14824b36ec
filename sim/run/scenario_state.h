// What a scenario holds after reading; shared by its reader and by simulate().
#pragma once

#include <string>
#include <vector>

#include "sim/base/tree.h"
#include "sim/run/scenario.h"
#include "sim/traffic/class_spec.h"

namespace marea::run {

struct Scenario::State {
  Tree tree;  // resolved
  std::string name;
  std::string about;
  spec::Model model;
  spec::Node node;
  spec::Targets targets;
  std::vector<PoolSpec> pools;
  spec::HostCost host;
  serving::VllmV1Params engine;  // without the number of blocks, which the memory account decides
  bool before_2026 = false;      // of the engine's versions, for the account
  serving::SchedulerRecipe scheduler;
  cluster::RouterRecipe router;
  Duration view_age{};
  bool sticky_agents = false;
  std::vector<traffic::ClassSpec> classes;
  bool stationary = false;
  cluster::Window window;
  Duration sample_period{};
  std::uint64_t seed = 1;
};

}  // namespace marea::run
