// The units marea reads and prints, one list a dimension: the single place that knows their names and sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace marea {

enum class Dimension { duration, bytes, tokens, rate, bandwidth, flops, watts, dollars_per_hour, fraction };

struct Unit {
  std::string_view name;
  std::int64_t size;  // in the base unit of its dimension, which is the smallest there is: every size is a whole number
};

struct DimensionUnits {
  Dimension dimension;
  std::string_view what;     // "a duration"
  std::string_view example;  // the unit that messages use in their example
  std::vector<Unit> units;   // in rising order of size within decimal and binary families; the first is the base unit
};

// Base units: ns, B, tok, /h (so that /s and /min are whole), B/s, FLOP/s, W, $/h, %.
const DimensionUnits& units_of(Dimension dimension);
// The unit of that name, or null pointer. Upper and lower case differ (GB, not Gb).
const Unit* find_unit(const DimensionUnits& units, std::string_view name);
// The dimension to which a unit of that name belongs, or null pointer.
const DimensionUnits* dimension_of(std::string_view unit);
// "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
std::string unit_names(const DimensionUnits& units);

}  // namespace marea
