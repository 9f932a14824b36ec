// One scenario in, one result out: the whole simulator behind one function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/time.h"
#include "sim/cluster/facts.h"
#include "sim/metrics/results.h"
#include "sim/run/scenario.h"

namespace marea::run {

// How many rows of a run are kept beside its results.
enum class Detail : std::uint8_t { summary, sessions, requests, steps };

using cluster::Progress;

// Takes the rows of a run as they happen.
struct RowSink {
  virtual ~RowSink() = default;
  virtual void session(const cluster::SessionEnded& session) = 0;
  virtual void call(const cluster::CallEnded& call) = 0;
  virtual void step(const cluster::StepsRun& steps) = 0;
};

struct RunOptions {
  std::optional<std::uint64_t> seed;  // instead of the scenario's
  int replication = 0;
  Detail detail = Detail::summary;
  RowSink* rows = nullptr;
  std::function<bool(const Progress&)> progress;  // called now and then; false: stop
  bool skip_ahead = true;
};

// Where the bytes of a device go, per pool.
struct MemoryRow {
  std::string pool;
  std::string item;
  std::int64_t bytes = 0;
  std::string status;  // measured, fitted, datasheet, assumed, given
};
struct MemoryReport {
  std::vector<MemoryRow> rows;
};

// How much was computed, window or not; it depends on how a run is computed, so it is no part of its results.
struct Work {
  std::int64_t events = 0;
  std::int64_t steps = 0;          // engine steps of all replicas
  std::int64_t changed_steps = 0;  // those that were scheduled one by one; the others were skipped
};

struct RunOutput {
  metrics::Results results;
  bool interrupted = false;
  double wall_seconds = 0;
  MemoryReport memory;
  Work work;
};

RunOutput simulate(const Scenario& scenario, const RunOptions& options);

// Where the memory goes that the scenario would run in, without running it.
MemoryReport memory_report(const Scenario& scenario);

// The model does not fit (exit status 3): what() says so in one line, `account` where the bytes go.
struct DoesNotFit : std::runtime_error {
  using std::runtime_error::runtime_error;
  MemoryReport account;
};

// Throws DoesNotFit as simulate() would.
void require_fit(const Scenario& scenario);

// Of a scenario that fits, in one line: "fits: llama-3.1-8b on 1 x h100-sxm; main holds 459.8 ktok of KV, 3.5 x max_length" (a replica of
// each pool).
std::string fit_verdict(const Scenario& scenario);

}  // namespace marea::run
