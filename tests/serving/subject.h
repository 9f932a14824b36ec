// What a schedule looks like in the recordings, and an engine under test that produces such lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/time.h"
#include "sim/kv/content.h"
#include "tests/serving/workload.h"

namespace marea::test {

// Names the content of a block: all tokens from the first to its end. 0: a block without a key.
using ContentKey = std::uint64_t;
ContentKey content_key(kv::ContentView chain);

struct ScheduledLine {
  std::int64_t request = 0;
  char kind = 'C';  // N new, R resumed, C continuing
  std::int64_t computed = 0;
  std::int64_t tokens = 0;
  std::int64_t new_blocks = 0;
  std::int64_t hit = 0;
  std::vector<std::int64_t> ids;  // only where block ids exist
  bool decode = false;            // only from the reference: its prefill was complete before
  bool yields = false;            // the same: a token comes out of this step
};

struct Line {
  std::int64_t step = 0;  // or iteration, when asynchronous
  std::vector<std::int64_t> added;
  bool schedules = false;
  std::vector<ScheduledLine> scheduled;
  std::vector<std::int64_t> preempted;
  std::vector<ContentKey> evicted;
  std::vector<std::int64_t> evicted_ids;
  std::optional<std::pair<std::int64_t, std::int64_t>> blocked;
  std::int64_t free = 0, running = 0, waiting = 0;
  bool completes = false;
  std::vector<std::int64_t> finished;
  std::int64_t free_after = 0;
  bool skipped = false;  // evictions are listed in the first line of a skipped run behind which this one lies
};

struct End {
  std::vector<ContentKey> free_queue;
  std::vector<std::int64_t> free_ids;
  std::vector<ContentKey> cached;        // sorted
  std::vector<std::int64_t> cached_ids;  // sorted
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual void add(std::int64_t request, double arrival) = 0;
  virtual void abort(std::int64_t request, Time now) = 0;
  virtual bool has_work() const = 0;  // something to schedule
  virtual int in_flight() const = 0;
  virtual void schedule(Line& line, Time now) = 0;
  virtual void complete(Line& line, Time now) = 0;
  // Passes over steps, each at the next of these boundaries, and returns one line for each.
  virtual std::vector<Line> skip(std::span<const Time>) { return {}; }
  virtual End end() = 0;
};

struct Run {
  std::vector<Line> lines;
  End end;
  std::int64_t skipped = 0;
  Time at;  // of the last boundary
};

// Plays the workload as the recordings were made. `most` bounds the number of lines. `boundary(i)` is the time of the i-th schedule.
Run play(const Workload& workload, Subject& subject, std::int64_t most, const std::vector<Time>& boundaries);

}  // namespace marea::test
