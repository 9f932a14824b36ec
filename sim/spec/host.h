// What the software around the device costs: the time of the host for each step, and of the front end for each call. A property of an
// engine's version, not of a device.
#pragma once

#include "sim/base/time.h"
#include "sim/spec/number.h"

namespace marea::spec {

// Time of the host for one step:
//   step + sequence * sequences + layer * layers + admission * admitted requests
//   and, where the step holds prompt chunks and so runs outside the captured graphs, + eager + eager_layer * layers + prompt_token * their
//   tokens.
// Time of the front end for one call, before the engine knows it: call + token * prompt tokens.
struct HostCost {
  Seconds step{};
  Seconds sequence{};
  Seconds layer{};
  Seconds admission{};
  Seconds eager{};
  Seconds eager_layer{};
  Seconds prompt_token{};
  bool overlaps = false;  // with the device: the step takes the longer of the two; otherwise their sum
  Seconds call{};
  Seconds token{};
  Origin origin;

  Duration front_end(std::int64_t prompt) const { return to_clock(call + token * static_cast<double>(prompt)); }
};

// Reads `serving.host`: a file of hardware/engines, or the same keys in a scenario. What is not stated is 0.
HostCost read_host(const Value& value);

}  // namespace marea::spec
