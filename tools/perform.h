// Simulating a scenario once or several times, storing what comes out, and telling it: what `run` and `rerun` have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/run/scenario.h"
#include "tools/options.h"
#include "tools/summary.h"

namespace marea::cli {

// A scenario by file or by name; ConfigError with the nearest name when there is neither.
run::Scenario load_scenario(const std::string& word, const std::vector<std::string>& settings);

struct Performed {
  std::vector<Told> runs;  // finished ones, in order of replication
  bool interrupted = false;
  std::string not_stored;  // why the last ones are not stored; empty: nothing went wrong
};

// Runs replications first, first + 1, ..., on `options.jobs` threads, each by itself, and stores each as soon as those before it are
// stored. An interrupted run is kept when it is the only one. When the store fails, what was asked for is simulated all the same, and
// nothing more is stored. Throws what the simulation throws, and StorageError when the store cannot be opened.
Performed perform(const run::Scenario& scenario, std::uint64_t seed, int first, int count, const Options& options);

}  // namespace marea::cli
