// Drawing the progress line, whose words are progress_text's.
#include "tools/progress.h"

#include <cstdio>

#include "tools/terminal.h"

namespace marea::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kQuiet = std::chrono::milliseconds(500);  // a run that ends sooner shows nothing
constexpr auto kRedraw = std::chrono::milliseconds(200);

}  // namespace

ProgressLine::ProgressLine(std::string name, int runs, bool shown)
    : name_(std::move(name)),
      shown_(shown && error_is_terminal()),
      runs_(static_cast<std::size_t>(runs)),
      begun_(Clock::now()),
      last_(begun_) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(int index, const run::Progress& progress) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  runs_[static_cast<std::size_t>(index)].progress = progress;
  const auto now = Clock::now();
  if (now - begun_ < kQuiet || now - last_ < kRedraw) return;
  last_ = now;
  draw(now);
}

void ProgressLine::finished(int index) {
  const std::lock_guard lock(mutex_);
  runs_[static_cast<std::size_t>(index)].done = true;
}

void ProgressLine::draw(Clock::time_point now) {
  const double spent = std::chrono::duration<double>(now - begun_).count();
  std::fprintf(stderr, "\r\x1b[K%s", progress_text(name_, runs_, spent).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace marea::cli
