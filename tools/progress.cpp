// Drawing the progress line. The time left comes from the share of simulated time that is done, so it is a guess when load changes.
#include "tools/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "sim/base/quantity.h"
#include "tools/terminal.h"

namespace marea::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kQuiet = std::chrono::milliseconds(500);  // a run that ends sooner shows nothing
constexpr auto kRedraw = std::chrono::milliseconds(200);

double share(const run::Progress& progress) {
  const double end = to_seconds(since_start(progress.end)).count();
  return end > 0 ? std::clamp(to_seconds(since_start(progress.now)).count() / end, 0.0, 1.0) : 0;
}

}  // namespace

ProgressLine::ProgressLine(std::string name, int runs, bool shown)
    : name_(std::move(name)),
      shown_(shown && error_is_terminal()),
      runs_(static_cast<std::size_t>(runs)),
      done_(static_cast<std::size_t>(runs), false),
      begun_(Clock::now()),
      last_(begun_) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(int index, const run::Progress& progress) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  runs_[static_cast<std::size_t>(index)] = progress;
  const auto now = Clock::now();
  if (now - begun_ < kQuiet || now - last_ < kRedraw) return;
  last_ = now;
  draw(now);
}

void ProgressLine::finished(int index) {
  const std::lock_guard lock(mutex_);
  done_[static_cast<std::size_t>(index)] = true;
}

void ProgressLine::draw(Clock::time_point now) {
  double done = 0;
  std::int64_t events = 0;
  Time furthest{};
  Time end{};
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    done += done_[i] ? 1 : share(runs_[i]);
    events += runs_[i].events;
    furthest = std::max(furthest, runs_[i].now);
    end = std::max(end, runs_[i].end);
  }
  done /= static_cast<double>(runs_.size());
  const double spent = std::chrono::duration<double>(now - begun_).count();
  std::string line = fmt::format("{}  {:3.0f} %  {} of {}", name_, done * 100, show(since_start(furthest)), show(since_start(end)));
  if (runs_.size() > 1) line += fmt::format("  {} of {} runs", std::count(done_.begin(), done_.end(), true), runs_.size());
  line += fmt::format("  {:.1f} M events, {:.1f} M/s", static_cast<double>(events) / 1e6, static_cast<double>(events) / 1e6 / spent);
  if (done > 0.01) line += fmt::format("  {} left", show(to_clock(Seconds(std::round(spent * (1 - done) / done)))));
  std::fprintf(stderr, "\r\x1b[K%s", line.substr(0, 79).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace marea::cli
