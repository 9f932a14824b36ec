// Exact decimal numbers, so that what a user writes with units ("141.1 GB", "1.5x") becomes integers without a detour through doubles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/int128.h"

namespace marea {

// mantissa * 10^exponent. Always kept without trailing zeros in the mantissa; zero is 0 * 10^0.
struct Decimal {
  Int128 mantissa = 0;
  int exponent = 0;

  bool operator==(const Decimal&) const = default;
};

// A number at the start of a text and what follows it.
struct DecimalText {
  Decimal value;
  std::string_view digits;  // the number as written
  std::string_view rest;    // after it, without leading blanks
  bool exponent = false;    // was written with an exponent
};

// Reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? at the start of `text`. Nothing when there is no such number there (leading zeros,
// a leading plus or point, .nan, hexadecimal) or when it has more than 37 significant digits or an exponent beyond 400.
std::optional<DecimalText> read_decimal(std::string_view text);

// Exact arithmetic; nothing when the result leaves 127 bits.
std::optional<Decimal> add(const Decimal& a, const Decimal& b);
std::optional<Decimal> multiply(const Decimal& a, const Decimal& b);
// a / divisor where the quotient is a finite decimal of at most `places` places, else nothing. Requires divisor > 0.
std::optional<Decimal> divide(const Decimal& a, std::int64_t divisor, int places);

Decimal decimal(std::int64_t value);
// The whole number this is, or nothing when it has a fraction or leaves 64 bits.
std::optional<std::int64_t> whole(const Decimal& value);
// The nearest whole number, halves away from zero.
Decimal rounded(const Decimal& value);
// The nearest double (correctly rounded).
double nearest_double(const Decimal& value);
// Digits and a point while they stay below 38, else with an exponent: read_decimal gives the same number back.
std::string to_string(const Decimal& value);

}  // namespace marea
