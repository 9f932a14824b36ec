// The calls that get one token in every step, as sums: what a step of them costs and when the next of them ends follows without a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/sequence.h"

namespace marea::serving {

class DecodeGroup {
 public:
  // `window`: keys that a query of a windowed layer sees at most; 0: there are none.
  DecodeGroup(const std::vector<Sequence>& sequences, std::int64_t window) : sequences_(sequences), window_(window) {}

  std::int64_t size() const { return size_; }
  std::int64_t context() const { return context_; }  // sum of computed tokens
  std::int64_t windowed() const { return window_ > 0 ? windowed_ : context_; }
  std::int64_t windowed_growth() const { return window_ > 0 ? below_ : size_; }  // of windowed() with the next step

  // A call with `computed` tokens, which gets its last decode in step `last`; `step` is the current one.
  void join(SequenceId id, std::uint64_t serial, std::int64_t computed, std::int64_t step, std::int64_t last);
  // The step in which the next call gets its last decode; INT64_MAX when there is none.
  std::int64_t next_end() const { return ends_.empty() ? INT64_MAX : ends_.front().step; }
  // Takes that call out. Calls that end in one step come in the order of their serial.
  SequenceId pop_end(std::int64_t computed);
  // Who it will be.
  SequenceId top_end() const { return ends_.front().id; }
  // Takes a call out before its end. Linear.
  void leave(SequenceId id, std::int64_t computed);
  void clear();

  // Moves all on by `steps` steps, up to step `now`, none of which reaches beyond next_crossing(). True if a call has filled the window.
  bool advance(std::int64_t steps, std::int64_t now);
  // The step in which the next call fills the window, after which windowed() grows more slowly. May be early, never late.
  std::int64_t next_crossing() const { return crossings_.empty() ? INT64_MAX : crossings_.front().step; }

 private:
  struct Mark {
    std::int64_t step = 0;
    std::uint64_t serial = 0;
    SequenceId id = kNoSequence;
  };
  struct Later {
    bool operator()(const Mark& a, const Mark& b) const { return a.step != b.step ? a.step > b.step : a.serial > b.serial; }
  };
  void drop(std::int64_t computed);

  const std::vector<Sequence>& sequences_;
  std::int64_t window_;
  std::int64_t size_ = 0;
  std::int64_t context_ = 0;
  std::int64_t windowed_ = 0;
  std::int64_t below_ = 0;       // calls whose context is shorter than the window
  std::vector<Mark> ends_;       // heap, earliest first
  std::vector<Mark> crossings_;  // the same
};

}  // namespace marea::serving
