// What is done to a trace after it has been read.
#include "sim/traffic/trace.h"

#include <fmt/format.h>

#include "sim/base/quantity.h"

namespace marea::traffic {

void cap_waits(Trace& trace, Duration longest) {
  std::int64_t cut = 0;
  for (Trace::Step& step : trace.steps) {
    if (step.wait <= longest) continue;
    step.wait = longest;
    ++cut;
  }
  if (cut > 0) trace.notes.push_back({fmt::format("waits cut to the cap of {}", show(longest)), cut});
}

}  // namespace marea::traffic
