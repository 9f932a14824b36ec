// Reading the record of a fit.
#include "sim/spec/fit_record.h"

namespace marea::spec {

std::string_view name(Extent extent) {
  static constexpr std::array<std::string_view, kExtents> names{"m",       "n",      "k",        "batch",        "tokens",
                                                                "context", "heads",  "kv_heads", "head_dim",     "hidden",
                                                                "experts", "chosen", "width",    "expert_ranks", "bytes"};
  return names[static_cast<std::size_t>(extent)];
}

namespace {

ErrorQuantiles read_quantiles(const Value& value) {
  constexpr double kMost = 1e6;
  Section section(value);
  ErrorQuantiles quantiles;
  quantiles.median = section.required("median").fraction(0, kMost);
  quantiles.p90 = section.required("p90").fraction(0, kMost);
  quantiles.p99 = section.required("p99").fraction(0, kMost);
  section.close();
  return quantiles;
}

Range read_range(const Value& value) {
  constexpr double kMost = 1e18;
  const std::vector<Value> ends = value.items();
  if (ends.size() != 2) value.fail("a range has two numbers: [least, most]");
  Range range{ends[0].number(0, kMost), ends[1].number(0, kMost)};
  if (range.least > range.most) value.fail("this range ends before it begins");
  return range;
}

}  // namespace

FitRecord read_fit_record(Section& block) {
  FitRecord record;
  const std::optional<Value> value = block.optional("fit");
  if (!value) return record;
  Section section(*value);
  record.rows = section.required("rows").integer(1, std::int64_t{1} << 40);
  record.shapes = section.required("shapes").integer(1, record.rows);
  record.held_out = read_quantiles(section.required("held_out"));
  record.in_sample = read_quantiles(section.required("in_sample"));
  Section ranges(section.required("range"));
  for (int i = 0; i < kExtents; ++i)
    if (const std::optional<Value> range = ranges.optional(name(static_cast<Extent>(i))))
      record.ranges[static_cast<std::size_t>(i)] = read_range(*range);
  ranges.close();
  section.close();
  return record;
}

}  // namespace marea::spec
