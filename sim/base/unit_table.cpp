#include "sim/base/unit_table.h"

namespace marea {

namespace {

constexpr std::int64_t kKibi = 1024;
constexpr std::int64_t kMebi = kKibi * 1024;
constexpr std::int64_t kGibi = kMebi * 1024;
constexpr std::int64_t kTebi = kGibi * 1024;
constexpr std::int64_t kKilo = 1000;
constexpr std::int64_t kMega = kKilo * 1000;
constexpr std::int64_t kGiga = kMega * 1000;
constexpr std::int64_t kTera = kGiga * 1000;
constexpr std::int64_t kPeta = kTera * 1000;

const std::vector<DimensionUnits>& table() {
  static const std::vector<DimensionUnits> all = {
      {Dimension::duration,
       "a duration",
       "s",
       {{"ns", 1}, {"us", kKilo}, {"ms", kMega}, {"s", kGiga}, {"min", 60 * kGiga}, {"h", 3600 * kGiga}, {"d", 86400 * kGiga}}},
      {Dimension::bytes,
       "an amount of memory",
       "GB",
       {{"B", 1},
        {"kB", kKilo},
        {"MB", kMega},
        {"GB", kGiga},
        {"TB", kTera},
        {"KiB", kKibi},
        {"MiB", kMebi},
        {"GiB", kGibi},
        {"TiB", kTebi}}},
      {Dimension::tokens, "a number of tokens", "tok", {{"tok", 1}, {"ktok", kKilo}, {"Mtok", kMega}}},
      {Dimension::rate, "a rate", "/s", {{"/h", 1}, {"/min", 60}, {"/s", 3600}}},
      {Dimension::bandwidth,
       "a bandwidth",
       "GB/s",
       {{"B/s", 1},
        {"kB/s", kKilo},
        {"MB/s", kMega},
        {"GB/s", kGiga},
        {"TB/s", kTera},
        {"KiB/s", kKibi},
        {"MiB/s", kMebi},
        {"GiB/s", kGibi},
        {"TiB/s", kTebi}}},
      {Dimension::flops,
       "a rate of floating-point operations",
       "TFLOP/s",
       {{"FLOP/s", 1}, {"GFLOP/s", kGiga}, {"TFLOP/s", kTera}, {"PFLOP/s", kPeta}}},
      {Dimension::watts, "a power", "W", {{"W", 1}, {"kW", kKilo}}},
      {Dimension::dollars_per_hour, "a price", "$/h", {{"$/h", 1}}},
      {Dimension::fraction, "a fraction", "%", {{"%", 1}}},
  };
  return all;
}

}  // namespace

const DimensionUnits& units_of(Dimension dimension) { return table()[static_cast<std::size_t>(dimension)]; }

const Unit* find_unit(const DimensionUnits& units, std::string_view name) {
  for (const Unit& unit : units.units)
    if (unit.name == name) return &unit;
  return nullptr;
}

const DimensionUnits* dimension_of(std::string_view unit) {
  for (const DimensionUnits& units : table())
    if (find_unit(units, unit)) return &units;
  return nullptr;
}

std::string unit_names(const DimensionUnits& units) {
  std::string out;
  for (const Unit& unit : units.units) out.append(out.empty() ? "" : ", ").append(unit.name);
  return out;
}

}  // namespace marea
