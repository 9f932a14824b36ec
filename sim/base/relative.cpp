#include "sim/base/relative.h"

#include <optional>

#include "sim/base/decimal.h"
#include "sim/base/text.h"
#include "sim/base/unit_table.h"

namespace marea {

namespace {

constexpr int kPlaces = 12;  // a result with more decimals is written in a smaller unit instead

struct Change {
  bool factor = false;  // 1.5x
  Decimal value;
  std::string_view unit;
};

std::optional<Change> read_change(std::string_view text) {
  const bool plus = !text.empty() && text.front() == '+';
  const bool minus = !text.empty() && text.front() == '-';
  if (plus) text.remove_prefix(1);
  const auto number = read_decimal(text);
  if (!number || (plus && !text.empty() && text.front() == '-')) return std::nullopt;
  if (!plus && !minus)
    return number->rest == "x" && number->digits.size() + 1 == text.size() ? std::optional(Change{true, number->value, {}}) : std::nullopt;
  if (minus && number->rest.empty()) return std::nullopt;
  if (!number->rest.empty() && !dimension_of(number->rest)) return std::nullopt;
  return Change{false, number->value, number->rest};
}

// What is counted has no parts: bytes, tokens and nanoseconds.
bool is_counted(Dimension dimension) {
  return dimension == Dimension::bytes || dimension == Dimension::tokens || dimension == Dimension::duration;
}

// `exact`, in the base unit, written in one of the units; the base unit comes last and always serves. What is counted is rounded.
std::string written(const DimensionUnits& units, const Decimal& exact, std::initializer_list<const Unit*> wanted) {
  const Decimal value = is_counted(units.dimension) ? rounded(exact) : exact;
  for (const Unit* unit : wanted)
    if (const auto quotient = divide(value, unit->size, kPlaces)) return to_string(*quotient) + ' ' + std::string(unit->name);
  return to_string(value) + ' ' + std::string(units.units.front().name);
}

class Application {
 public:
  Application(const Tree& standing, const Tree& change, std::string_view path, const Mark& at)
      : standing_(standing), change_(change), path_(path), at_(at) {}

  std::string result() const {
    const auto number = standing_.kind == Tree::Kind::scalar && !standing_.quoted ? read_decimal(standing_.text) : std::nullopt;
    if (!number) fail("is relative, but " + found() + " stands there, which is no number; give an absolute value");
    const std::optional<Change> change = read_change(change_.text);
    check(change.has_value(), "apply_relative is given a relative value");
    const DimensionUnits* units = number->rest.empty() ? nullptr : dimension_of(number->rest);
    if (!number->rest.empty() && !units)
      fail("is relative, but " + found() + " stands there, which has no known unit; give an absolute value");

    if (change->factor) return scaled(number->value, change->value, units, number->rest);
    if (change->unit == "%") {
      const auto share = add(decimal(1), {change->value.mantissa, change->value.exponent - 2});
      if (!share) fail("is out of reach");
      return scaled(number->value, *share, units, number->rest);
    }
    return shifted(*number, *change, units);
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw ConfigError(at_, path_, excerpt(change_.text).append(" ").append(problem));
  }

  std::string found() const {
    switch (standing_.kind) {
      case Tree::Kind::null:
        return "nothing";
      case Tree::Kind::scalar:
        return excerpt(standing_.text);
      case Tree::Kind::list:
        return "a list";
      case Tree::Kind::map:
        return "a map";
    }
    return {};
  }

  std::string scaled(const Decimal& value, const Decimal& factor, const DimensionUnits* units, std::string_view unit) const {
    const auto product = multiply(value, factor);
    if (!product) fail("times " + excerpt(standing_.text) + " has too many digits; give an absolute value");
    if (!units) return to_string(*product);
    const Unit& own = *find_unit(*units, unit);
    const auto base = multiply(*product, decimal(own.size));
    if (!base) fail("times " + excerpt(standing_.text) + " is out of reach");
    return written(*units, *base, {&own});
  }

  std::string shifted(const DecimalText& number, const Change& change, const DimensionUnits* units) const {
    if (!units || change.unit.empty()) {
      if (units) fail("has no unit, but " + excerpt(standing_.text) + " stands there; write it with one of " + unit_names(*units));
      if (!change.unit.empty()) fail("has a unit, but the plain number " + excerpt(standing_.text) + " stands there");
      const auto sum = add(number.value, change.value);
      if (!sum) fail("is out of reach of " + excerpt(standing_.text));
      return to_string(*sum);
    }
    const Unit* other = find_unit(*units, change.unit);
    if (!other) fail("does not go with " + excerpt(standing_.text) + ", which stands there; write it with one of " + unit_names(*units));
    const Unit* own = find_unit(*units, number.rest);
    const auto a = multiply(number.value, decimal(own->size));
    const auto b = multiply(change.value, decimal(other->size));
    const auto sum = a && b ? add(*a, *b) : std::nullopt;
    if (!sum) fail("is out of reach of " + excerpt(standing_.text));
    return written(*units, *sum, {own, other});
  }

  const Tree& standing_;
  const Tree& change_;
  std::string_view path_;
  const Mark& at_;
};

}  // namespace

bool is_relative(const Tree& value) { return value.kind == Tree::Kind::scalar && !value.quoted && read_change(value.text).has_value(); }

std::string apply_relative(const Tree& standing, const Tree& change, std::string_view path, const Mark& at) {
  return Application(standing, change, path, at).result();
}

}  // namespace marea
