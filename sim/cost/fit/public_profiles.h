// Layer profiles of other simulators as timings: LLMServingSim and Vidur. Private to the reader of public tables.
#pragma once

#include <string>

#include "sim/base/input.h"
#include "sim/cost/fit/timing.h"

namespace marea::cost {

// True when the header is that of a profile that read_profile() takes.
bool is_profile(const CsvReader& header);
// Adds what the profile tells: products, attention of equal contexts, experts, small kernels, collectives.
void read_profile(const std::string& file, Timings& into);

}  // namespace marea::cost
