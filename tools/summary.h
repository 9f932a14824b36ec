// The summary of a run: what a person reads. Made from what is stored, so a stored run shows as it did when it ended.
#pragma once

#include <string>

#include "sim/metrics/results.h"
#include "sim/run/store.h"
#include "tools/terminal.h"

namespace marea::cli {

// All that there is to say about one run, or about several replications combined.
struct Told {
  run::RunRecord run;
  metrics::Results results;
  run::MemoryReport memory;
  std::string stored;    // where and how, in words; empty: nowhere
  int replications = 1;  // > 1: `results` are combined, with intervals
};

// The whole page, 80 columns wide.
std::string summary(const Told& told, const Style& style);

}  // namespace marea::cli
