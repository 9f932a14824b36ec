// What the cluster is built from: plain values and recipes, already read and checked. Nothing here knows a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/time.h"
#include "sim/cluster/copies.h"
#include "sim/cluster/router.h"
#include "sim/cost/step_cost.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/vllm_v1.h"
#include "sim/traffic/load.h"

namespace marea::cluster {

// Replicas that are alike and share one router.
struct PoolSetup {
  std::string name;
  int replicas = 1;
  serving::VllmV1Params engine;
  CopyRates copies;  // where the engine offloads
  cost::StepCost cost;
  serving::SchedulerRecipe scheduler;
  RouterRecipe router;
  Duration view_age{};         // age that the router's view may reach; 0: live
  bool sticky_agents = false;  // sub-agents count as their session for affinity
  spec::HostCost host;         // its front end; what it costs a step is in `cost`
};

struct ToolSetup {
  std::string name;
  std::int64_t workers = 0;  // 0: as many as are asked for
};

struct ClassSetup {
  std::string name;
  std::unique_ptr<traffic::Load> load;
  std::size_t pool = 0;  // index into Setup::pools
};

// Measured are the sessions and calls that start inside [start, end); the run goes on until they have ended, at most `drain` longer.
struct Window {
  Time start = kStart;
  Time end = kNever;  // kNever: when everything has ended, or a finite trace in lanes runs dry
  Duration drain{};
};

struct Setup {
  std::uint64_t seed = 1;
  std::vector<PoolSetup> pools;
  std::vector<ClassSetup> classes;
  std::vector<ToolSetup> tools;
  Window window;
  Duration sample_period{};  // 0: no samples
  bool skip_ahead = true;    // false: every step by itself (slower, same facts)
};

// How far a run has come.
struct Progress {
  Time now;
  Time end = kNever;  // of the measuring window; kNever while nobody knows it. From there on the run drains
  std::int64_t events = 0;
  std::int64_t steps = 0;
  std::int64_t sessions = 0;  // that have begun
};

}  // namespace marea::cluster
