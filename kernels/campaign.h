// One run of the probe: every case prepared, checked against its reference, timed and written, until all are done or the time is up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/table.h"

namespace marea::probe {

struct Note {
  Case one;
  std::string why;
};

// How it went.
struct Outcome {
  std::vector<Case> measured;
  int held = 0;       // already in the table
  int unreached = 0;  // the time was up
  std::vector<Note> unsupported;
  std::vector<Note> wrong;      // its result differs from the reference: not measured
  std::vector<Note> throttled;  // no sample at full clock
};

struct Plan {
  std::vector<Case> cases;
  std::string device;
  std::uint64_t seed = 1;
  double budget = 480;  // seconds
  Rule rule;            // `seconds` is shared out by the campaign
};

using Say = std::function<void(const std::string&)>;  // a line for a person

// Checks and, with a table, measures. Without one only the checks are made.
Outcome perform(Backend& backend, const Plan& plan, Table* table, const std::function<double()>& clock, const Say& say);

}  // namespace marea::probe
