// Public tables of kernel times as timings: a mapping of columns, and stated rules for what must not be taken at face value.
#pragma once

#include <string>

#include "sim/cost/fit/timing.h"

namespace marea::cost {

// Adds the rows of a table to `into`: in our own columns, or of a public source known by its header (docs/calibration.md lists them and the
// rules). Throws ConfigError as read_timings() does, and for a table that is known but of no use (what it measures and why not).
void read_table(const std::string& file, Timings& into);

}  // namespace marea::cost
