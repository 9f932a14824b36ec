// Reading tools and drawing their tries.
#include "sim/traffic/tool.h"

#include <cmath>

namespace marea::traffic {

ToolSpec read_tool(const std::string& name, const Value& value) {
  Section section(value);
  ToolSpec tool;
  tool.name = name;
  tool.time = Law::read(section.required("time"), Measure::duration);
  if (const auto fails = section.optional("fails")) tool.fails = fails->fraction();
  if (const auto retries = section.optional("retries")) tool.retries = retries->integer(0, 100);
  if (const auto backoff = section.optional("backoff")) {
    if (backoff->is_map()) {
      Section inner(*backoff);
      tool.backoff = inner.required("first").duration();
      if (const auto factor = inner.optional("factor")) tool.backoff_factor = factor->number(1, 10);
      inner.close();
    } else {
      tool.backoff = backoff->duration();
    }
    const double last = static_cast<double>(tool.backoff.count()) * std::pow(tool.backoff_factor, static_cast<double>(tool.retries));
    if (last > 1e18) backoff->fail("the last wait would be beyond 30 years; lower the factor or the retries");
  }
  if (const auto timeout = section.optional("timeout")) tool.timeout = timeout->duration(Duration{1});
  if (const auto workers = section.optional("workers")) tool.workers = workers->integer(1, 1'000'000'000);
  if (const auto fatal = section.optional("fatal")) tool.fatal = fatal->boolean();
  section.close();
  return tool;
}

void draw_attempts(const ToolSpec& tool, RandomStream& stream, std::vector<ToolAttempt>& attempts) {
  attempts.clear();
  double wait = static_cast<double>(tool.backoff.count());
  for (std::int64_t left = tool.retries; left >= 0; --left) {
    ToolAttempt attempt;
    attempt.time = tool.time.duration(stream.uniform());
    attempt.fails = stream.uniform() < tool.fails;
    if (tool.timeout && attempt.time > *tool.timeout) {
      attempt.time = *tool.timeout;
      attempt.fails = true;
    }
    if (attempt.fails && left > 0) attempt.backoff_after = Duration{static_cast<Duration::rep>(std::round(wait))};
    attempts.push_back(attempt);
    if (!attempt.fails) break;
    wait *= tool.backoff_factor;
  }
}

}  // namespace marea::traffic
