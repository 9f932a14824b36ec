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

struct RunOutput {
  metrics::Results results;
  bool interrupted = false;
  double wall_seconds = 0;
  MemoryReport memory;
};

RunOutput simulate(const Scenario& scenario, const RunOptions& options);

// Where the memory goes that the scenario would run in, without running it. Throws DoesNotFit as simulate() would.
MemoryReport memory_report(const Scenario& scenario);

// The model does not fit (exit status 3): what() says so in one line, `account` where the bytes go.
struct DoesNotFit : std::runtime_error {
  using std::runtime_error::runtime_error;
  MemoryReport account;
};

}  // namespace marea::run
