// What the progress line says: a share only where the whole is known, and nothing that later turns out wrong.
#pragma once

#include <string>
#include <vector>

#include "sim/run/simulate.h"

namespace marea::cli {

// One run of a command, as far as it has come.
struct RunState {
  run::Progress progress;
  bool done = false;
};

// The line for these runs after `spent` seconds, at most 79 columns. Until its window ends a run shows its share of the window; from there
// on that it drains, which has no end that could be known; a run without a stated end shows its time and sessions.
std::string progress_text(const std::string& name, const std::vector<RunState>& runs, double spent);

}  // namespace marea::cli
