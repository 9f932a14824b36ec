// Relative settings of --set and of studies: `1.5x`, `+64 GB`, `-10 %` applied to the number that stands in the tree, exactly:
// only what is counted (bytes, tokens, nanoseconds) is rounded, once, to the nearest unit.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/tree.h"

namespace marea {

// True for an unquoted scalar of the form NUMBERx, +NUMBER, +NUMBER UNIT or -NUMBER UNIT (a percent sign is a unit here).
bool is_relative(const Tree& value);

// The new text for `standing` under the relative value `change`. A percentage is of what stands there. Bytes, tokens and
// times are rounded to the nearest byte, token and nanosecond, halves away from zero. The result keeps the unit that
// stands there where it can be written in it, else takes the unit of the change or the base unit. Throws ConfigError at `at`, naming
// `path`, when no number stands there, when the units are of different kinds or when the result is out of reach.
std::string apply_relative(const Tree& standing, const Tree& change, std::string_view path, const Mark& at);

}  // namespace marea
