// Where the sessions of one traffic class come from, and when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.h"
#include "sim/traffic/session.h"

namespace marea::traffic {

// One class of traffic under one load mode (recorded, open, lanes). Sessions are made one at a time, when they start.
class Load {
 public:
  virtual ~Load() = default;

  // The time at which the next session starts by itself; nothing when none will (all started, or every lane is busy).
  // Never decreases. May become set after ended().
  virtual std::optional<Time> next_start() const = 0;

  // Fills in the session that starts at next_start(), which moves on. `session` holds an ended session whose storage is used again; it is
  // filled in place because boost::adjacency_list 1.74 has no move constructor (returning one by value would copy the graph).
  virtual void take(Session& session) = 0;

  // A session of this class has ended (completed, failed or abandoned) at `now`: a lane becomes free.
  virtual void ended(Time now) = 0;

  // Set once a finite source has run dry in lanes mode: the measuring window closes then.
  virtual std::optional<Time> dry() const { return std::nullopt; }

  // "recorded", "open poisson 0.05 /s", "64 lanes": printed beside every result.
  virtual std::string mode() const = 0;

  // Everything that was assumed or left out while reading, with counts ("waits missing, taken as 0": 61). Complete at the end of the run.
  struct Note {
    std::string text;
    std::int64_t count = 0;
  };
  virtual std::vector<Note> notes() const { return {}; }
};

}  // namespace marea::traffic
