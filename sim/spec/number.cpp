// Names and sizes of number formats, and the reader of where numbers come from.
#include "sim/spec/number.h"

#include <algorithm>

#include "sim/base/decimal.h"
#include "sim/base/text.h"
#include "sim/base/unit_table.h"

namespace marea::spec {

std::string_view name(Format format) {
  static constexpr std::array<std::string_view, kFormats> names{"fp32", "bf16", "fp16", "fp8", "int8", "mxfp4", "nvfp4", "int4"};
  return names[static_cast<std::size_t>(format)];
}

double bytes_per_number(Format format) {
  switch (format) {
    case Format::fp32:
      return 4;
    case Format::bf16:
    case Format::fp16:
      return 2;
    case Format::fp8:
    case Format::int8:
      return 1;
    case Format::mxfp4:
      return 0.5 + 1.0 / 32;
    case Format::nvfp4:
      return 0.5 + 1.0 / 16;
    case Format::int4:
      return 0.5 + 2.0 / 128;
  }
  check(false, "a number format without a size");
  return 0;
}

Format read_format(const Value& value) {
  std::vector<std::string> names;
  for (const Format format : kAllFormats) names.emplace_back(name(format));
  const std::string chosen = value.one_of(names, "number format");
  return kAllFormats[static_cast<std::size_t>(std::find(names.begin(), names.end(), chosen) - names.begin())];
}

std::string_view name(Status status) {
  static constexpr std::array<std::string_view, kStatuses> names{"measured", "fitted", "datasheet", "assumed"};
  return names[static_cast<std::size_t>(status)];
}

Sources::Sources(Section& file) { add(file); }

void Sources::add(Section& file) {
  const std::optional<Value> listed = file.optional("sources");
  if (!listed) return;
  Section sources(*listed);
  for (const auto& [key, value] : sources.rest()) {
    const auto [known, added] = words_.emplace(key, value.text());
    if (added) names_.push_back(key);
    if (known->second != value.text()) value.fail("the device and its calibration mean different things by this name; rename one");
  }
}

Origin Sources::read(Section& block, const Origin& above) const {
  const std::optional<Value> status = block.optional("status");
  const std::optional<Value> source = block.optional("source");
  if (!status && !source) return above;
  if (!status) source->fail("a source without a status; add `status:` measured, fitted, datasheet or assumed");
  Origin origin;
  const std::vector<std::string> statuses{"measured", "fitted", "datasheet", "assumed"};
  const std::string chosen = status->one_of(statuses, "status of a number");
  origin.status = static_cast<Status>(std::find(statuses.begin(), statuses.end(), chosen) - statuses.begin());
  if (!source) {
    if (origin.status != Status::assumed) status->fail(chosen + " needs a `source:` that names an entry of the file's `sources:`");
    return origin;
  }
  origin.source = words_.find(source->one_of(names_, "source"))->second;
  return origin;
}

Seconds read_seconds(const Value& value) {
  const DimensionUnits& units = units_of(Dimension::duration);
  const std::string text = value.text();
  const std::optional<DecimalText> number = read_decimal(text);
  const Unit* unit = number ? find_unit(units, number->rest) : nullptr;
  if (!unit || number->value.mantissa < 0)
    value.fail(excerpt(text) + " is not a duration; write a number and one of " + unit_names(units) + ", such as 1.7 us");
  // Scaled before rounding, so that 1.7 us and 1700 ns are the same double.
  const std::optional<Decimal> nanoseconds = multiply(number->value, decimal(unit->size));
  const double seconds = nanoseconds ? nearest_double(Decimal{nanoseconds->mantissa, nanoseconds->exponent - 9}) : 0;
  if (!nanoseconds || seconds > 1e9) value.fail(excerpt(text) + " is out of range; a coefficient is at most 1e9 s");
  return Seconds{seconds};
}

}  // namespace marea::spec
