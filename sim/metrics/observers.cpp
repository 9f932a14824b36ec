#include "sim/metrics/observers.h"

#include <utility>

namespace marea::metrics {

namespace {

std::vector<std::int64_t> pool_tokens(const ObserverSetup& setup) {
  std::vector<std::int64_t> tokens;
  for (const ObservedReplica& replica : setup.replicas) tokens.push_back(replica.pool_tokens);
  return tokens;
}

std::vector<std::size_t> pools_of(const ObserverSetup& setup) {
  std::vector<std::size_t> pools;
  for (const ObservedReplica& replica : setup.replicas) {
    check(replica.pool < setup.pools.size(), "an observed replica is in no pool");
    pools.push_back(replica.pool);
  }
  return pools;
}

std::int64_t all_pool_tokens(const ObserverSetup& setup) {
  std::int64_t tokens = 0;
  for (const ObservedReplica& replica : setup.replicas) tokens += replica.pool_tokens;
  return tokens;
}

std::string describe_load(const ObserverSetup& setup) {
  check(setup.load_modes.size() == setup.classes.size(), "every traffic class states its load mode");
  std::string text;
  for (std::size_t c = 0; c < setup.classes.size(); ++c) text += (c == 0 ? "" : "; ") + setup.classes[c] + ": " + setup.load_modes[c];
  return text;
}

}  // namespace

Observers::Observers(ObserverSetup setup)
    : classes_(setup.classes),
      load_mode_(describe_load(setup)),
      targets_(setup.targets),
      window_(setup.window),
      audit_(setup.classes.size(), pool_tokens(setup)),
      fingerprint_(setup.replicas.size()),
      sessions_(setup.classes.size(), setup.targets.attainment),
      calls_(setup.classes.size()),
      cache_(setup.classes.size()),
      engines_(setup.classes.size(), setup.replicas.size()),
      tools_(setup.tools),
      tiers_(setup.tiers),
      shares_(std::move(setup.costs), pools_of(setup)),
      time_(setup.classes.size()),
      memory_(setup.pools, setup.replicas, setup.static_memory),
      demand_(all_pool_tokens(setup), setup.window),
      series_(setup.pools, pools_of(setup), setup.sample_period) {}

void Observers::on(const cluster::RunStarted& fact) { audit_.on(fact); }

void Observers::on(const cluster::WindowOpened& fact) { window_.start = fact.at; }

void Observers::on(const cluster::SessionStarted& fact) {
  audit_.on(fact);
  sessions_.on(fact, window_.contains(fact.at));
}

void Observers::on(const cluster::SessionEnded& fact) {
  audit_.on(fact, window_);
  fingerprint_.on(fact);
  sessions_.on(fact);
  time_.on(fact);
  demand_.on(fact, window_);
}

void Observers::on(const cluster::TimeBooked& fact) {
  audit_.on(fact);
  time_.on(fact);
}

void Observers::on(const cluster::ThreadEnded& fact) {
  audit_.on(fact);
  time_.on(fact);
  demand_.on(fact, window_);
}

void Observers::on(const cluster::ContextGrew& fact) {
  audit_.on(fact);
  demand_.on(fact, window_);
}

void Observers::on(const cluster::CallEnded& fact) {
  audit_.on(fact);
  fingerprint_.on(fact);
  const bool good = met(targets_, fact);
  sessions_.on(fact, good);
  engines_.on(fact, window_);
  series_.on(fact);
  if (!window_.contains(fact.issued)) return;
  calls_.on(fact, good);
  cache_.on(fact);
  tiers_.on(fact);
}

void Observers::on(const cluster::StepsRun& fact) {
  audit_.on(fact);
  fingerprint_.on(fact);
  engines_.on(fact, window_);
  shares_.on(fact, window_);
  series_.on(fact);
}

void Observers::on(const cluster::LongGap& fact) {
  audit_.on(fact);
  engines_.on(fact, window_);
}

void Observers::on(const cluster::CopyEnded& fact) {
  fingerprint_.on(fact);
  tiers_.on(fact, window_);
}

void Observers::on(const cluster::StepHeldUp& fact) { tiers_.on(fact, window_); }

void Observers::on(const cluster::Standstill& fact) { tiers_.on(fact); }

void Observers::on(const cluster::PreemptionAvalanche& fact) { tiers_.on(fact); }

void Observers::on(const cluster::ToolEnded& fact) {
  audit_.on(fact);
  fingerprint_.on(fact);
  tools_.on(fact, window_);
}

void Observers::on(const cluster::ReplicaSampled& fact) {
  audit_.on(fact);
  series_.on(fact, demand_.now());
}

void Observers::on(const cluster::MemoryBooked& fact) {
  audit_.on(fact);
  fingerprint_.on(fact);
  memory_.on(fact);
}

void Observers::on(const cluster::WindowClosed& fact) {
  audit_.on(fact);
  window_.end = fact.at;
}

void Observers::on(const cluster::RunEnded& fact) {
  audit_.on(fact, window_, time_.total());
  fingerprint_.on(fact);
  engines_.on(fact);
  end_ = fact.at;
  ended_ = true;
}

Results Observers::finish() {
  check(ended_, "results were asked for before the end of the run");
  Report report;
  const Duration length = window_.length();
  sessions_.report(report, classes_, length);
  calls_.report(report, classes_, length);
  cache_.report(report, classes_);
  engines_.report(report, classes_, length);
  shares_.report(report);
  tools_.report(report, length);
  tiers_.report(report, length);
  time_.report(report, classes_);
  memory_.report(report, length);
  demand_.report(report, window_);
  series_.report(report, end_);
  Results results = report.take();
  results.fingerprint = fingerprint_.digits();
  for (std::string& warning : tiers_.warnings()) results.notes.push_back({std::move(warning), 0});
  results.load_mode = load_mode_;
  results.window_start = window_.start;
  results.window_end = window_.end;
  return results;
}

}  // namespace marea::metrics
