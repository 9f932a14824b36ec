// Scalars read as types: strict forms, units by name, ranges; and the messages that say what would be right.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/decimal.h"
#include "sim/base/quantity.h"
#include "sim/base/section.h"
#include "sim/base/text.h"
#include "sim/base/unit_table.h"

namespace marea {

Value::Value(const Tree& tree, std::string path) : tree_(&tree), path_(std::move(path)) {}

void Value::fail(std::string_view message) const { throw ConfigError(mark(), path_, message); }

std::string Value::description() const {
  switch (tree_->kind) {
    case Tree::Kind::null:
      return "empty";
    case Tree::Kind::scalar:
      return (tree_->quoted ? "the text " : "") + excerpt(tree_->text);
    case Tree::Kind::list:
      return "a list";
    case Tree::Kind::map:
      return "a map";
  }
  return {};
}

std::string Value::text() const {
  if (!is_scalar()) fail("is " + description() + ", but a text is due here");
  return tree_->text;
}

bool Value::boolean() const {
  if (is_scalar() && !tree_->quoted && tree_->text == "true") return true;
  if (is_scalar() && !tree_->quoted && tree_->text == "false") return false;
  fail("is " + description() + "; write true or false");
}

// The number at the start of the scalar, or an error that says what is due.
DecimalText Value::decimal_text(std::string_view due) const {
  if (!is_scalar()) fail("is " + description() + ", but " + std::string(due) + " is due here");
  const auto number = read_decimal(tree_->text);
  if (!number) {
    const std::string bare = tree_->text.substr(0, 1) == "+"
                                 ? tree_->text.substr(1)
                                 : tree_->text.substr(std::min(tree_->text.find_first_not_of('0'), tree_->text.size()));
    const bool prefixed = bare.size() < tree_->text.size() && read_decimal(bare);
    fail(excerpt(tree_->text) + " is not " + std::string(due) + (prefixed ? "; write " + excerpt(bare) : ""));
  }
  if (tree_->quoted) fail("is " + description() + " in quotes, but " + std::string(due) + " is due here; leave out the quotes");
  return *number;
}

std::int64_t Value::integer(std::int64_t least, std::int64_t most) const {
  const DecimalText number = decimal_text("a whole number in decimal digits");
  const std::optional<std::int64_t> value = whole(number.value);
  const bool plain = number.rest.empty() && number.digits.find_first_of(".eE") == std::string_view::npos;
  if (!number.rest.empty() || (!plain && !value))
    fail(excerpt(tree_->text) + " is not a whole number in decimal digits" + (dimension_of(number.rest) ? "; no unit belongs here" : ""));
  if (!plain) fail(excerpt(tree_->text) + " is not a whole number in decimal digits; write " + std::to_string(*value));
  if (!value || *value < least || *value > most) {
    const bool open = most == std::numeric_limits<std::int64_t>::max();
    const std::string range =
        open ? "give " + std::to_string(least) + " or more" : "give " + std::to_string(least) + " to " + std::to_string(most);
    fail(excerpt(tree_->text) + " is out of range; " + range);
  }
  return *value;
}

namespace {

std::string plain(double value) { return shortest(value); }

std::string range_text(double least, double most) {
  const bool below = least == -std::numeric_limits<double>::infinity() || least == std::numeric_limits<double>::lowest();
  const bool above = most == std::numeric_limits<double>::infinity() || most == std::numeric_limits<double>::max();
  if (above && below) return "give a finite number";
  if (above) return "give " + plain(least) + " or more";
  if (below) return "give " + plain(most) + " or less";
  return "give " + plain(least) + " to " + plain(most);
}

}  // namespace

double Value::number(double least, double most) const {
  const DecimalText number = decimal_text("a number");
  if (!number.rest.empty())
    fail(excerpt(tree_->text) + " is not a plain number" + (dimension_of(number.rest) ? "; no unit belongs here" : ""));
  const double value = nearest_double(number.value);
  if (!std::isfinite(value) || value < least || value > most) fail(excerpt(tree_->text) + " is out of range; " + range_text(least, most));
  return value;
}

double Value::fraction(double least, double most) const {
  DecimalText number = decimal_text("a fraction");
  if (!number.rest.empty() && number.rest != "%") fail(excerpt(tree_->text) + " is not a fraction; write it like 90 % or 0.9");
  if (number.rest == "%" && number.value.mantissa != 0) number.value.exponent -= 2;
  const double value = nearest_double(number.value);
  if (!std::isfinite(value) || value < least || value > most)
    fail(excerpt(tree_->text) + " is out of range; " + range_text(least, most) + " (" + plain(least * 100) + " % to " + plain(most * 100) +
         " %)");
  return value;
}

// The scalar as an exact number of base units, and the number as written.
Decimal Value::quantity(const DimensionUnits& units, bool exponent_allowed) const {
  const std::string due(units.what);
  const DecimalText number = decimal_text(due);
  const std::string digits(number.digits);
  const std::string choice = "write it with one of " + unit_names(units);
  if (number.rest.empty()) {
    const std::string example = excerpt(digits) + " " + std::string(units.example);
    if (units.units.size() == 1) fail(excerpt(tree_->text) + " has no unit; write it as " + example);
    fail(excerpt(tree_->text) + " has no unit; " + choice + " (for example " + example + ")");
  }
  const Unit* unit = find_unit(units, number.rest);
  if (!unit) {
    std::vector<std::string> names;
    for (const Unit& one : units.units) names.emplace_back(one.name);
    const DimensionUnits* other = dimension_of(number.rest);
    if (other) fail(excerpt(tree_->text) + " is " + std::string(other->what) + ", but " + due + " is due here; " + choice);
    fail(excerpt(tree_->text) + " has the unknown unit " + excerpt(number.rest) + "; " + choice + did_you_mean(number.rest, names));
  }
  if (number.exponent && !exponent_allowed)
    fail(excerpt(tree_->text) + " is written with an exponent; write plain digits and a larger unit");
  if (number.value.mantissa < 0) fail(excerpt(tree_->text) + " is negative; give " + due + " of 0 or more");
  const auto base = multiply(number.value, decimal(unit->size));
  if (!base) fail(excerpt(tree_->text) + " has too many digits");
  return *base;
}

std::int64_t Value::whole_quantity(const DimensionUnits& units) const {
  const Decimal base = quantity(units, false);
  const auto value = whole(base);
  const std::string unit(units.units.front().name);
  if (!value && base.exponent < 0) fail(excerpt(tree_->text) + " is not a whole number of " + unit + ", the smallest unit");
  if (!value)
    fail(excerpt(tree_->text) + " is too large; the most is " + std::to_string(std::numeric_limits<std::int64_t>::max()) + " " + unit);
  return *value;
}

double Value::positive_quantity(const DimensionUnits& units) const {
  const double value = nearest_double(quantity(units, true));
  if (!(value > 0) || !std::isfinite(value)) fail(excerpt(tree_->text) + " is out of range; give " + std::string(units.what) + " above 0");
  return value;
}

Duration Value::duration(Duration least) const {
  const Duration value{whole_quantity(units_of(Dimension::duration))};
  if (value < least) fail(excerpt(tree_->text) + " is too short; give " + exact(least) + " or more");
  if (value > kLongestDuration) fail(excerpt(tree_->text) + " is too long; at most 100 years (876000 h) are accepted");
  return value;
}

Bytes Value::bytes(Bytes least) const {
  const Bytes value{whole_quantity(units_of(Dimension::bytes))};
  if (value < least) fail(excerpt(tree_->text) + " is too small; give " + exact(least) + " or more");
  return value;
}

Tokens Value::tokens(Tokens least) const {
  const Tokens value{whole_quantity(units_of(Dimension::tokens))};
  if (value < least) fail(excerpt(tree_->text) + " is too small; give " + exact(least) + " or more");
  return value;
}

Rate Value::rate(Rate least) const {
  // The base unit is per hour. What is finite per second is divided exactly, so that "0.1 /s" is the double 0.1.
  const Decimal per_hour = quantity(units_of(Dimension::rate), true);
  const auto per_second = divide(per_hour, 3600, 1000);
  const Rate value{per_second ? nearest_double(*per_second) : nearest_double(per_hour) / 3600};
  if (!std::isfinite(value.value) || value < least) fail(excerpt(tree_->text) + " is out of range; give " + exact(least) + " or more");
  return value;
}

Bandwidth Value::bandwidth() const { return Bandwidth{positive_quantity(units_of(Dimension::bandwidth))}; }
FlopRate Value::flops() const { return FlopRate{positive_quantity(units_of(Dimension::flops))}; }

Watts Value::watts() const { return Watts{nearest_double(quantity(units_of(Dimension::watts), true))}; }

DollarsPerHour Value::dollars_per_hour() const {
  return DollarsPerHour{nearest_double(quantity(units_of(Dimension::dollars_per_hour), true))};
}

std::string Value::one_of(const std::vector<std::string>& names, std::string_view what) const {
  if (!is_scalar()) fail("is " + description() + ", but the name of a " + std::string(what) + " is due here: " + joined(names, 40));
  if (std::find(names.begin(), names.end(), tree_->text) != names.end()) return tree_->text;
  const std::string slip = did_you_mean(tree_->text, names);
  fail("no " + std::string(what) + " is called " + excerpt(tree_->text) + (slip.empty() ? "; there are " + joined(names, 40) : slip));
}

std::vector<Value> Value::items() const {
  if (!is_list()) fail("is " + description() + ", but a list is due here");
  std::vector<Value> out;
  for (std::size_t i = 0; i < tree_->items.size(); ++i) {
    const Tree* name = tree_->items[i].find("name");
    const bool named = name && name->kind == Tree::Kind::scalar && !name->text.empty();
    out.emplace_back(tree_->items[i], path_ + '[' + (named ? excerpt(name->text) : std::to_string(i)) + ']');
  }
  return out;
}

}  // namespace marea
