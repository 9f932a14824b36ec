// Strong types for what is counted or measured, so that bytes never meet tokens by accident.
// Counts are 64-bit integers; rates and work are doubles. Reading and printing with units is in quantity.h.
#pragma once

#include <compare>
#include <cstdint>

#include "sim/base/time.h"

namespace marea {

// One quantity of kind Tag. Same-kind values add and compare; a plain number scales them; a ratio of two is a plain number.
template <class Tag, class Rep>
struct Quantity {
  using rep = Rep;
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity{a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity{a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return Quantity{a.value * factor}; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return Quantity{a.value * factor}; }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity{a.value / divisor}; }
  friend constexpr double ratio(Quantity a, Quantity b) { return static_cast<double>(a.value) / static_cast<double>(b.value); }
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Tokens = Quantity<struct TokensTag, std::int64_t>;
using Blocks = Quantity<struct BlocksTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;          // floating-point operations
using FlopRate = Quantity<struct FlopRateTag, double>;    // FLOP/s
using Bandwidth = Quantity<struct BandwidthTag, double>;  // B/s
using Rate = Quantity<struct RateTag, double>;            // events per second
using Watts = Quantity<struct WattsTag, double>;
using DollarsPerHour = Quantity<struct DollarsPerHourTag, double>;

constexpr Seconds operator/(Flops work, FlopRate rate) { return Seconds{work.value / rate.value}; }
constexpr Seconds operator/(Bytes data, Bandwidth rate) { return Seconds{static_cast<double>(data.value) / rate.value}; }

}  // namespace marea
