// Several replications of one scenario as one result, with confidence intervals. Distributions are merged, never averaged.
#pragma once

#include <vector>

#include "sim/metrics/results.h"

namespace marea::metrics {

// Requires at least one replication; of one alone: that one, without intervals. Values are the mean over the replications that have them
// or, where the catalogue says so, the sum; statistics of distributions come from the merged sketches. low / high: two-sided Student t
// interval at `confidence` from the spread between replications, around the value, of metrics that two or more replications have; cut at 0,
// which no metric can pass, and for shares at 1. Ledgers and notes are summed. Series are those of the first replication. The fingerprint
// is one of all fingerprints in order.
Results combine(const std::vector<Results>& replications, double confidence = 0.95);

}  // namespace marea::metrics
