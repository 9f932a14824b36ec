// The two ledgers as tables: where the time of the sessions goes, and where the byte-time of device memory goes.
#pragma once

#include <string>

#include "sim/metrics/results.h"
#include "tools/terminal.h"

namespace marea::cli {

// Shares by cause, all classes together, largest first, with bars. Sub-agents' rows are not part of the total and not shown.
std::string time_table(const metrics::Ledger& ledger, const Style& style);

// Shares by owner and state, all pools together; a cause without an owner ("weights") has a line of its own.
std::string memory_ledger_table(const metrics::Ledger& ledger, const Style& style);

}  // namespace marea::cli
