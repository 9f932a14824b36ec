// The simulated clock: integer nanoseconds since the start of a run, and the one rounding from physics to it.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

#include "sim/base/error.h"

namespace marea {

using Duration = std::chrono::nanoseconds;

// The clock of a run. Only the event loop moves it, so it has no now().
struct SimClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};
using Time = SimClock::time_point;

// Durations inside cost models, before they are rounded to the clock.
using Seconds = std::chrono::duration<double>;

inline constexpr Time kStart{};
inline constexpr Time kNever = Time::max();

// The single place where physics becomes clock time: to the nearest nanosecond, ties away from zero.
// Requires a finite value below 292 years.
inline Duration to_clock(Seconds seconds) {
  const double nanoseconds = seconds.count() * 1e9;
  check(std::abs(nanoseconds) < 9.2e18, "a duration left the range of the clock");
  // As std::round, without the call: it is made for every step of a run.
  const auto whole = static_cast<Duration::rep>(nanoseconds);
  const double rest = nanoseconds - static_cast<double>(whole);
  return Duration{whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0)};
}

inline Seconds to_seconds(Duration duration) { return Seconds{static_cast<double>(duration.count()) * 1e-9}; }

inline Duration since_start(Time time) { return time - kStart; }

}  // namespace marea
