// What one run amounts to. Made by the observers, stored by the store, printed by the command line; nothing is computed again after this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/time.h"

namespace marea::metrics {

// One number of a run. `label` is empty for the total, else "class=coders", "replica=3", "tool=shell", "cause=decode". low / high:
// confidence interval over replications where there is one. The definition is found by name in the catalogue.
struct MetricValue {
  std::string name;
  std::string label;
  double value = 0;
  std::optional<double> low;
  std::optional<double> high;
  std::int64_t samples = 0;
};

// Parts that sum to `total` exactly. Time: ns of all sessions inside the window. Memory: MiB-seconds of all pools over the window.
struct LedgerRow {
  std::string owner;  // time: class=NAME; memory: pool=NAME
  std::string cause;  // time: a Cause; memory: state/owner
  std::int64_t value = 0;
};
struct Ledger {
  std::string name;  // "time" or "memory"; with sub-agents also "agent time" and "agents wait" (time_ledger.h), in ns
  std::string unit;  // "ns" or "MiB s"
  std::int64_t total = 0;
  std::vector<LedgerRow> rows;
};

struct SeriesPoint {
  Time at;
  double value = 0;
};
struct Series {
  std::string name;
  std::string label;
  std::vector<SeriesPoint> points;
};

// A distribution that can be merged with those of other runs: counts per logarithmic bucket (sketch.h).
struct SketchData {
  std::string name;
  std::string label;
  std::vector<std::pair<std::int32_t, std::int64_t>> buckets;
  std::int64_t samples = 0;
  double sum = 0;
  double least = 0;
  double most = 0;
};

struct Note {
  std::string text;
  std::int64_t count = 0;
};

struct Results {
  std::vector<MetricValue> metrics;
  std::vector<Ledger> ledgers;
  std::vector<Series> series;
  std::vector<SketchData> sketches;
  std::vector<Note> notes;  // what was assumed or left out, with counts; what was refused or cut is a metric
  std::string fingerprint;  // 32 hexadecimal digits
  Time window_start;        // what was measured: [window_start, window_end)
  Time window_end;
  std::string load_mode;  // "coders: open poisson 0.05 /s; chat: 64 lanes"
};

}  // namespace marea::metrics
