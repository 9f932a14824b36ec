// Where two runs of schedules differ, in words.
#pragma once

#include <string>
#include <vector>

#include "tests/serving/subject.h"

namespace marea::test {

// An empty string if they agree on everything; else the first difference. `ids`: compare physical block ids (of runs that have them), else
// content keys. Evictions of a skipped run are compared as one sequence; a hit of -1 is not compared.
std::string first_difference(const std::vector<Line>& expected, const std::vector<Line>& actual, bool ids);
std::string first_difference(const End& expected, const End& actual, bool ids);

}  // namespace marea::test
