// Typed, strict reading of a Tree. A Section is one map: keys are taken from it one by one, and close() refuses whatever was not
// taken. So the code that reads a key is the only list of keys there is, and "did you mean" comes from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/tree.h"
#include "sim/base/units.h"

namespace marea {

struct Decimal;
struct DecimalText;
struct DimensionUnits;

// No duration in a file is longer: sums of a few of them stay on the clock.
inline constexpr Duration kLongestDuration = std::chrono::hours(24 * 365 * 100);

// One value with its path, ready to be read as a type. Every reader throws ConfigError at the value's place, saying what is accepted.
class Value {
 public:
  Value(const Tree& tree, std::string path);

  const Tree& tree() const { return *tree_; }
  const std::string& path() const { return path_; }
  const Mark& mark() const { return tree_->mark; }

  bool is_map() const { return tree_->kind == Tree::Kind::map; }
  bool is_list() const { return tree_->kind == Tree::Kind::list; }
  bool is_scalar() const { return tree_->kind == Tree::Kind::scalar; }

  std::string text() const;                                                                // a string; a number is refused only by its user
  bool boolean() const;                                                                    // true or false
  std::int64_t integer(std::int64_t least, std::int64_t most) const;                       // decimal digits only: 012 and 1e3 are refused
  double number(double least, double most) const;                                          // a plain finite number without a unit
  double fraction(double least = 0, double most = 1) const;                                // `90 %` or 0.9
  Duration duration(Duration least = {}) const;                                            // ns us ms s min h d
  Bytes bytes(Bytes least = Bytes{0}) const;                                               // B kB MB GB TB KiB MiB GiB TiB
  Tokens tokens(Tokens least = Tokens{0}) const;                                           // tok (k, M allowed before it: `8 ktok`)
  Rate rate(Rate least = Rate{0}) const;                                                   // /s /min /h
  Bandwidth bandwidth() const;                                                             // B/s kB/s ... TB/s, GiB/s ..., > 0
  FlopRate flops() const;                                                                  // GFLOP/s TFLOP/s PFLOP/s, > 0
  Watts watts() const;                                                                     // W kW
  DollarsPerHour dollars_per_hour() const;                                                 // $/h
  std::string one_of(const std::vector<std::string>& names, std::string_view what) const;  // a name, with "did you mean"
  std::vector<Value> items() const;                                                        // of a list (of anything else: an error)

  // "a list", "empty", "the text abc": for messages.
  std::string description() const;

  [[noreturn]] void fail(std::string_view message) const;

 private:
  DecimalText decimal_text(std::string_view due) const;
  Decimal quantity(const DimensionUnits& units, bool exponent_allowed) const;
  std::int64_t whole_quantity(const DimensionUnits& units) const;
  double positive_quantity(const DimensionUnits& units) const;

  const Tree* tree_;
  std::string path_;
};

class Section {
 public:
  // `value` must be a map (an error otherwise).
  explicit Section(const Value& value);

  const std::string& path() const { return value_.path(); }
  const Mark& mark() const { return value_.mark(); }

  // The value under `key`, which counts as taken from now on. `required` throws when it is missing, naming the place of the map.
  Value required(std::string_view key);
  std::optional<Value> optional(std::string_view key);
  bool has(std::string_view key) const;

  // All keys not taken so far, each counted as taken, in the order of the file: for maps whose keys are names.
  std::vector<std::pair<std::string, Value>> rest();

  // Throws for the first key that was never asked for, naming the nearest one that was.
  void close() const;

  [[noreturn]] void fail(std::string_view message) const { value_.fail(message); }

 private:
  Value value_;
  std::vector<std::string> asked_;
};

}  // namespace marea
