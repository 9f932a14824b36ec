// Replications on threads. Threads share the scenario, which nobody changes, and hand their outcome to one place that stores in order.
#include "tools/perform.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "sim/base/tree.h"
#include "sim/run/simulate.h"
#include "sim/run/spool.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/shipped.h"
#include "tools/version.h"
#include "tools/words.h"

namespace marea::cli {

namespace {

std::string machine() {
  utsname system{};
  uname(&system);
  return fmt::format("{} {} {}, {} cores, glibc {}", system.sysname, system.release, system.machine, std::thread::hardware_concurrency(),
                     gnu_get_libc_version());
}

std::string stored_words(const run::Store::Stored& stored, const std::string& file) {
  switch (stored.how) {
    case run::Store::Put::added:
      return fmt::format("stored as run {} in {}", stored.id, file);
    case run::Store::Put::same:
      return fmt::format("same fingerprint as run {} in {}, which stays as it is", stored.id, file);
    case run::Store::Put::replaced:
      return fmt::format("same run as before with more detail: replaced run {} in {}", stored.id, file);
  }
  return {};
}

// One outcome on its way to the store.
struct Outcome {
  run::RunOutput output;
  std::unique_ptr<run::RowSpool> rows;
  std::int64_t started = 0;
};

class Performance {
 public:
  Performance(const run::Scenario& scenario, std::uint64_t seed, int first, int count, const Options& options)
      : scenario_(scenario),
        seed_(seed),
        first_(first),
        count_(count),
        options_(options),
        resolved_(scenario.resolved()),
        progress_(scenario.name(), count, options.progress),
        outcomes_(static_cast<std::size_t>(count)) {
    if (options.db == ":memory:") return;
    const std::filesystem::path folder = std::filesystem::path(options.db).parent_path();
    folder_ = folder.empty() ? "." : folder.string();
    store_.emplace(options.db, run::Store::Mode::write, std::chrono::seconds(30), [this] {
      progress_.clear();
      note_waiting(options_.db);
    });
    storing_ = true;
  }

  Performed go() {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int threads = std::min(count_, options_.jobs == 0 ? cores : options_.jobs);
    std::vector<std::thread> workers;
    for (int i = 1; i < threads; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
    progress_.clear();
    if (error_) std::rethrow_exception(error_);
    performed_.interrupted = performed_.interrupted || interrupted();
    return std::move(performed_);
  }

 private:
  void work() {
    for (int index = next_++; index < count_ && !stop_ && !interrupted(); index = next_++) {
      try {
        simulate_one(index);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        stop_ = true;
      }
    }
  }

  void simulate_one(int index) {
    auto outcome = std::make_unique<Outcome>();
    run::RunOptions how;
    how.seed = seed_;
    how.replication = first_ + index;
    how.detail = storing_ ? options_.detail : run::Detail::summary;
    if (how.detail != run::Detail::summary) {
      outcome->rows = std::make_unique<run::RowSpool>(folder_, options_.detail, scenario_.classes(), scenario_.replicas());
      how.rows = outcome->rows.get();
    }
    how.progress = [this, index](const run::Progress& progress) {
      progress_.update(index, progress);
      return !interrupted() && !stop_;
    };
    outcome->started = std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count();
    outcome->output = run::simulate(scenario_, how);
    progress_.finished(index);
    const std::lock_guard lock(mutex_);
    if (outcome->output.interrupted) {
      performed_.interrupted = true;
      if (count_ > 1) return;
    }
    outcomes_[static_cast<std::size_t>(index)] = std::move(outcome);
    for (; stored_ < count_ && outcomes_[static_cast<std::size_t>(stored_)]; ++stored_) keep(stored_);
  }

  void keep(int index) {
    const std::unique_ptr<Outcome> outcome = std::move(outcomes_[static_cast<std::size_t>(index)]);
    Told told;
    told.run.name = scenario_.name();
    told.run.status = outcome->output.interrupted ? "interrupted" : "done";
    told.run.started = outcome->started;
    told.run.wall = static_cast<std::int64_t>(std::llround(outcome->output.wall_seconds * 1e9));
    told.run.version = kVersion;
    told.run.commit = kCommit;
    told.run.seed = seed_;
    told.run.replication = first_ + index;
    told.run.settings = options_.settings;
    told.run.scenario = resolved_;
    told.run.fingerprint = outcome->output.results.fingerprint;
    told.run.load_mode = outcome->output.results.load_mode;
    told.run.quality_mark = scenario_.quality_mark();
    told.run.calibration = scenario_.calibration();
    told.run.machine = machine();
    told.run.detail = options_.detail;
    if (!outcome->output.interrupted) told.run.key = run::run_key(told.run);
    told.results = std::move(outcome->output.results);
    told.memory = std::move(outcome->output.memory);
    if (storing_) store(told, outcome->rows.get());
    performed_.runs.push_back(std::move(told));
  }

  void store(Told& told, run::RowSpool* rows) {
    try {
      const run::Store::Stored stored = store_->put(told.run, told.results, told.memory, rows, metric_text);
      told.run.id = stored.id;
      told.stored = stored_words(stored, options_.db);
    } catch (const StorageError& error) {
      performed_.not_stored = error.what();
      storing_ = false;
    }
  }

  const run::Scenario& scenario_;
  std::uint64_t seed_;
  int first_;
  int count_;
  const Options& options_;
  std::string resolved_;
  std::string folder_;
  std::optional<run::Store> store_;
  ProgressLine progress_;

  std::atomic<int> next_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> storing_{false};
  std::mutex mutex_;  // guards all below
  std::exception_ptr error_;
  std::vector<std::unique_ptr<Outcome>> outcomes_;
  int stored_ = 0;
  Performed performed_;
};

}  // namespace

run::Scenario load_scenario(const std::string& word, const std::vector<std::string>& settings) {
  const run::SearchPath path = search_path();
  const auto file = path.find(run::Kind::scenario, word, ".");
  if (!file) {
    if (std::error_code none; std::filesystem::is_directory(word, none))
      throw ConfigError({}, {}, fmt::format("{}: is a folder; a scenario is a file, or the name of a shipped one", word));
    const std::vector<std::string> names = path.names(run::Kind::scenario);
    if (names.empty())
      throw ConfigError(
          {}, {}, fmt::format("no scenario {}: there is no such file, and no shipped ones: {}", word, path.places(run::Kind::scenario)));
    const std::string near = nearest(word, names);
    throw ConfigError(
        {}, {},
        fmt::format("no scenario {}: there is no such file, and no shipped scenario of that name{}; see: marea list scenarios", word,
                    near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
  }
  return run::Scenario::load({file->string(), settings, std::nullopt}, path);
}

Performed perform(const run::Scenario& scenario, std::uint64_t seed, int first, int count, const Options& options) {
  return Performance(scenario, seed, first, count, options).go();
}

}  // namespace marea::cli
