// What the sessions of a traffic class are, apart from when they start: drawn from programs or read from a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/traffic/load.h"
#include "sim/traffic/session.h"

namespace marea::traffic {

class Source {
 public:
  virtual ~Source() = default;

  // How many different sessions there are; nothing when they are drawn without end.
  virtual std::optional<std::uint64_t> size() const = 0;

  // Fills in session `body` over the storage of an older one. `identity` names its private spans and becomes its index: two sessions of
  // equal body and different identity ask the same and share only what sessions may share. A body beyond size() starts over.
  virtual void make(std::uint64_t body, std::uint64_t identity, Session& session) = 0;

  // Recorded start of a session of a trace that has times; nothing otherwise.
  virtual std::optional<Time> recorded_start(std::uint64_t body) const = 0;

  virtual std::vector<Load::Note> notes() const = 0;
};

}  // namespace marea::traffic
