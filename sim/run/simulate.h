// One scenario in, one result out: the whole simulator behind one function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/time.h"
#include "sim/cluster/facts.h"
#include "sim/metrics/results.h"
#include "sim/run/search_path.h"

namespace marea::run {

struct ScenarioSource {
  std::string file;
  std::vector<std::string> settings;  // path=value, from --set
};

// A scenario, read, resolved and checked. Immutable; copies share it.
class Scenario {
 public:
  // Throws ConfigError for everything a user can write wrongly.
  static Scenario load(const ScenarioSource& source, const SearchPath& path);

  const std::string& name() const;
  const std::string& about() const;
  std::string resolved() const;      // YAML text, complete: loading it gives the same runs
  std::string quality_mark() const;  // empty unless something changes the answers of the model
  std::string calibration() const;   // ids of calibrations used; empty: none
  std::uint64_t seed() const;
  std::vector<std::string> classes() const;   // names of the traffic classes, by ClassId
  std::vector<std::string> replicas() const;  // names of the replicas ("main/0"), by ReplicaId

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// How many rows of a run are kept beside its results.
enum class Detail : std::uint8_t { summary, sessions, requests, steps };

struct Progress {
  Time now;
  Time end;
  std::int64_t events = 0;
  std::int64_t steps = 0;
};

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

// The model does not fit (exit status 3): what() says so in one line, `account` where the bytes go.
struct DoesNotFit : std::runtime_error {
  using std::runtime_error::runtime_error;
  MemoryReport account;
};

}  // namespace marea::run
