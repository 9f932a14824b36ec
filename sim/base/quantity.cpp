#include "sim/base/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/decimal.h"
#include "sim/base/unit_table.h"

namespace marea {

namespace {

struct NamedUnit {
  std::string_view unit;
  double size;
};

// The largest unit of which `value`, rounded as it is shown, has at least one: 999.96 ms is 1 s.
std::size_t unit_for(double value, std::span<const NamedUnit> units) {
  std::size_t at = 0;
  const auto rounded = [&](std::size_t i) {
    const double scaled = value / units[i].size;
    if (scaled == 0) return 0.0;
    const double place = std::pow(10.0, 3 - std::floor(std::log10(std::abs(scaled))));
    return std::isfinite(place) ? std::round(scaled * place) / place : scaled;
  };
  while (at + 1 < units.size() && std::abs(rounded(at)) * units[at].size >= units[at + 1].size) ++at;
  return at;
}

std::string four_digits(double shown) { return std::abs(shown) >= 9999.5 ? fmt::format("{:.0f}", shown) : fmt::format("{:.4g}", shown); }

// To four significant digits without trailing zeros.
std::string people(double value, std::span<const NamedUnit> units) {
  if (!std::isfinite(value)) return fmt::format("{} {}", value, units.front().unit);
  const NamedUnit& unit = units[unit_for(value, units)];
  return fmt::format("{} {}", four_digits(value / unit.size), unit.unit);
}

constexpr NamedUnit kTime[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
constexpr NamedUnit kBytes[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
constexpr NamedUnit kBinary[] = {{"B", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
constexpr NamedUnit kTokens[] = {{"tok", 1}, {"ktok", 1e3}, {"Mtok", 1e6}};
constexpr NamedUnit kRate[] = {{"/s", 1}};  // rates are compared with each other, so they keep one unit
constexpr NamedUnit kBandwidth[] = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
constexpr NamedUnit kFlops[] = {{"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};

// The largest unit, of those accepted by Value, that divides the value; of two families (GB, GiB) the one with the smaller number.
std::string in_largest_unit(std::int64_t value, Dimension dimension) {
  const DimensionUnits& units = units_of(dimension);
  const Unit* best = &units.units.front();
  for (const Unit& unit : units.units)
    if (value != 0 && value % unit.size == 0 && unit.size > best->size) best = &unit;
  return fmt::format("{} {}", value / best->size, best->name);
}

// A double in the base unit as text that Value reads back as the same double: in the unit that needs the fewest digits, and of those the
// largest of which there is at least one.
std::string in_shortest_unit(double value, Dimension dimension) {
  const DimensionUnits& units = units_of(dimension);
  std::string best = fmt::format("{} {}", shortest(value), units.units.front().name);
  std::size_t best_digits = SIZE_MAX;
  for (const Unit& unit : units.units) {
    const double count = value / static_cast<double>(unit.size);
    const auto number = read_decimal(shortest(count));
    const auto base = number && count >= 1 ? multiply(number->value, decimal(unit.size)) : std::nullopt;
    if (!base || nearest_double(*base) != value) continue;
    const std::size_t digits = to_string(Decimal{number->value.mantissa, 0}).size();
    if (digits > best_digits) continue;
    best_digits = digits;
    best = fmt::format("{} {}", to_string(number->value), unit.name);
  }
  return best;
}

}  // namespace

std::string show(Duration value) { return people(static_cast<double>(value.count()), kTime); }
std::string show_range(Duration low, Duration high) {
  const auto from = static_cast<double>(low.count()), to = static_cast<double>(high.count());
  const NamedUnit& unit = kTime[unit_for(to, kTime)];
  return fmt::format("{} to {} {}", four_digits(from / unit.size), four_digits(to / unit.size), unit.unit);
}
std::string show(Bytes value) { return people(static_cast<double>(value.value), kBytes); }
std::string show_binary(Bytes value) { return people(static_cast<double>(value.value), kBinary); }
std::string show(Tokens value) { return people(static_cast<double>(value.value), kTokens); }
std::string show(Rate value) { return people(value.value, kRate); }
std::string show(Bandwidth value) { return people(value.value, kBandwidth); }
std::string show(FlopRate value) { return people(value.value, kFlops); }
std::string show_percent(double fraction) { return fmt::format("{:.4g} %", fraction * 100); }

std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

std::string exact(Duration value) { return in_largest_unit(value.count(), Dimension::duration); }
std::string exact(Bytes value) { return in_largest_unit(value.value, Dimension::bytes); }
std::string exact(Tokens value) { return fmt::format("{} tok", value.value); }
std::string exact(Rate value) { return shortest(value.value) + " /s"; }
std::string exact(Bandwidth value) { return in_shortest_unit(value.value, Dimension::bandwidth); }
std::string exact(FlopRate value) { return in_shortest_unit(value.value, Dimension::flops); }
std::string exact(Watts value) { return shortest(value.value) + " W"; }
std::string exact(DollarsPerHour value) { return shortest(value.value) + " $/h"; }

}  // namespace marea
