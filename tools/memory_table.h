// The account of a device's memory as a table.
#pragma once

#include <string>

#include "sim/run/simulate.h"
#include "tools/terminal.h"

namespace marea::cli {

// One block for each pool, a line for each item with its share and how well its number is known.
std::string memory_table(const run::MemoryReport& memory, const Style& style);

}  // namespace marea::cli
