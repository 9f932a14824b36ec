// Calendar times in traces.
#pragma once

#include <optional>
#include <string_view>

#include "sim/base/time.h"

namespace marea::traffic {

// "2023-11-16 18:15:46.6805900" (a T between date and time and a final Z are accepted, up to nine digits of a second) since 1970-01-01;
// nothing when it is not of that form or not a date.
std::optional<Duration> parse_timestamp(std::string_view text);

}  // namespace marea::traffic
