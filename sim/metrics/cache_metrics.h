// What the prefix cache gave and what was computed again for want of it, over the calls issued inside the window that an engine admitted.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"

namespace marea::metrics {

class CacheMetrics {
 public:
  explicit CacheMetrics(std::size_t classes) : rows_(classes) {}

  // Requires call.issued inside the window.
  void on(const cluster::CallEnded& call);

  void report(Report& report, const std::vector<std::string>& classes) const;

 private:
  struct Row {
    std::int64_t calls = 0, prompt = 0, hit = 0, known = 0;
    std::array<std::int64_t, cluster::kLossCauses> lost{};

    std::int64_t all_lost() const;
  };
  static void report_row(Report& report, const std::string& label, const Row& row);

  std::vector<Row> rows_;
};

}  // namespace marea::metrics
