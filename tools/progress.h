// The progress line of long runs: how far the run is, events and speed, on standard error, only on a terminal.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "tools/progress_text.h"

namespace marea::cli {

// Shared by the threads of one command; one slot for each run at work.
class ProgressLine {
 public:
  // `runs` is the number of runs to come in all. `shown`: false draws nothing.
  ProgressLine(std::string name, int runs, bool shown);
  ~ProgressLine();

  // State of run `index`; redraws a few times a second.
  void update(int index, const run::Progress& progress);
  void finished(int index);
  // Takes the line away; what follows starts on a clean one.
  void clear();

 private:
  void draw(std::chrono::steady_clock::time_point now);

  std::string name_;
  bool shown_;
  bool drawn_ = false;
  std::mutex mutex_;
  std::vector<RunState> runs_;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace marea::cli
