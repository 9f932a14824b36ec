// Everything that watches a run, as the one Observer that the cluster calls. Owns the observers, hands each the facts it needs, and turns
// them into Results at the end.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/audit.h"
#include "sim/metrics/cache_metrics.h"
#include "sim/metrics/call_metrics.h"
#include "sim/metrics/engine_metrics.h"
#include "sim/metrics/fingerprint.h"
#include "sim/metrics/kv_demand.h"
#include "sim/metrics/memory_ledger.h"
#include "sim/metrics/results.h"
#include "sim/metrics/series.h"
#include "sim/metrics/session_metrics.h"
#include "sim/metrics/step_shares.h"
#include "sim/metrics/tier_metrics.h"
#include "sim/metrics/time_ledger.h"
#include "sim/metrics/tool_metrics.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

// What observers know about a run before it starts. Vectors are in the order of the ids: ClassId, PoolId, ReplicaId, ToolId.
struct ObserverSetup {
  std::vector<std::string> classes;
  std::vector<std::string> pools;
  std::vector<ObservedReplica> replicas;
  std::vector<StaticMemory> static_memory;
  std::vector<cost::StepCost> costs;  // by pool, for taking steps apart; empty: they are not
  std::vector<ObservedTool> tools;
  std::vector<ObservedTiers> tiers;  // by replica
  spec::Targets targets;
  Window window;                        // as planned; WindowClosed states its actual end
  Duration sample_period{};             // 0: no series
  std::vector<std::string> load_modes;  // one a class: "open poisson 0.05 /s", "64 lanes"
};

// Memory follows what is alive, not what has passed. One run each.
class Observers final : public cluster::Observer {
 public:
  explicit Observers(ObserverSetup setup);

  void on(const cluster::RunStarted& fact) override;
  void on(const cluster::WindowOpened& fact) override;
  void on(const cluster::SessionStarted& fact) override;
  void on(const cluster::SessionEnded& fact) override;
  void on(const cluster::TimeBooked& fact) override;
  void on(const cluster::ThreadEnded& fact) override;
  void on(const cluster::ContextGrew& fact) override;
  void on(const cluster::CallEnded& fact) override;
  void on(const cluster::StepsRun& fact) override;
  void on(const cluster::LongGap& fact) override;
  void on(const cluster::CopyEnded& fact) override;
  void on(const cluster::StepHeldUp& fact) override;
  void on(const cluster::Standstill& fact) override;
  void on(const cluster::PreemptionAvalanche& fact) override;
  void on(const cluster::ToolEnded& fact) override;
  void on(const cluster::ReplicaSampled& fact) override;
  void on(const cluster::MemoryBooked& fact) override;
  void on(const cluster::WindowClosed& fact) override;
  void on(const cluster::RunEnded& fact) override;

  // Requires RunEnded. Call once. Notes standstills and avalanches alone: what was cut is a metric, and what readers and loads assumed is
  // for the caller to add.
  Results finish();

 private:
  std::vector<std::string> classes_;
  std::string load_mode_;
  spec::Targets targets_;
  Window window_;
  bool ended_ = false;
  Time end_;

  Audit audit_;
  Fingerprint fingerprint_;
  SessionMetrics sessions_;
  CallMetrics calls_;
  CacheMetrics cache_;
  EngineMetrics engines_;
  ToolMetrics tools_;
  TierMetrics tiers_;
  StepShares shares_;
  TimeLedger time_;
  MemoryLedger memory_;
  KvDemand demand_;
  SeriesRecorder series_;
};

}  // namespace marea::metrics
