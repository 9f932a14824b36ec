// The words of the progress line. The time left is that of the measuring window, and a guess when the load changes.
#include "tools/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/quantity.h"

namespace marea::cli {

namespace {

constexpr std::size_t kLongestLine = 79;
constexpr double kLeastShare = 0.01;  // below that the time left says nothing

bool has_end(const RunState& run) { return run.progress.end != kNever; }
bool drains(const RunState& run) { return has_end(run) && run.progress.now >= run.progress.end; }

// Of the run's window.
double share(const RunState& run) {
  const double end = to_seconds(since_start(run.progress.end)).count();
  return run.done || end <= 0 ? 1 : std::clamp(to_seconds(since_start(run.progress.now)).count() / end, 0.0, 1.0);
}

std::string time_left(double spent, double done) {
  if (done < kLeastShare || done >= 1) return {};
  return fmt::format(", {} to its end", show(to_clock(Seconds(std::round(spent * (1 - done) / done)))));
}

std::string of_one(const RunState& run, double spent) {
  const run::Progress& progress = run.progress;
  const Duration now = since_start(progress.now);
  if (drains(run)) return fmt::format("draining, {} after the window", show(progress.now - progress.end));
  if (!has_end(run)) return fmt::format("{}, {} sessions", show(now), progress.sessions);
  return fmt::format("{:.0f} % of {}{}", std::floor(share(run) * 100), show(since_start(progress.end)), time_left(spent, share(run)));
}

std::string of_several(const std::vector<RunState>& runs, double spent) {
  const auto done = std::count_if(runs.begin(), runs.end(), [](const RunState& run) { return run.done; });
  std::string text = fmt::format("{} of {} runs done", done, runs.size());
  if (done == 0) return text;
  const double all = static_cast<double>(done) / static_cast<double>(runs.size());
  return text + fmt::format(", {} left", show(to_clock(Seconds(std::round(spent * (1 - all) / all)))));
}

}  // namespace

std::string progress_text(const std::string& name, const std::vector<RunState>& runs, double spent) {
  std::int64_t events = 0;
  for (const RunState& run : runs) events += run.progress.events;
  const double millions = static_cast<double>(events) / 1e6;
  const std::string text =
      fmt::format("{}  {}  {:.1f} M events, {:.1f} M/s", name, runs.size() == 1 ? of_one(runs.front(), spent) : of_several(runs, spent),
                  millions, millions / spent);
  return text.substr(0, kLongestLine);
}

}  // namespace marea::cli
