// One line of JSON as a flat list of nodes, built by nlohmann's SAX parser over storage that the next line uses again: nothing is allocated
// per line, and every value knows its path for errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"

namespace marea::traffic {

class JsonRow;

// A value in the current line. Readers throw ConfigError with the line and the value's path.
class JsonValue {
 public:
  std::optional<JsonValue> find(std::string_view key) const;  // member of an object; null counts as missing
  JsonValue at(std::string_view key) const;                   // the same; throws when it is missing
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;
  std::string_view text() const;  // a string

  // Elements of an array (anything else throws).
  template <class Each>
  void each(const Each& each) const;
  std::size_t count() const;

  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class JsonRow;
  JsonValue(const JsonRow* row, std::uint32_t node) : row_(row), node_(node) {}
  void require_array() const;
  const JsonRow* row_;
  std::uint32_t node_;
};

class JsonRow {
 public:
  // Reads one line, which must be an object. `mark` is its place. Throws ConfigError for anything that is not JSON, deeper than 32 or holds
  // a key twice.
  JsonValue parse(std::string_view line, const Mark& mark);

 private:
  friend class JsonValue;
  friend class JsonSax;
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, array, object };
  struct Text {
    std::uint32_t at, length;
  };
  struct Node {
    Kind kind = Kind::null;
    std::uint32_t parent = 0;
    std::uint32_t next = 0;                 // next sibling; 0: none
    std::uint32_t children = 0;             // of an array or object; the first one, if any, is the node after it
    std::uint32_t key = 0, key_length = 0;  // in characters_
    union {
      std::int64_t integer;
      double real;
      Text text;
    };
    Node() : integer(0) {}
  };
  std::string_view key_of(const Node& node) const { return {characters_.data() + node.key, node.key_length}; }
  std::string path(std::uint32_t node) const;

  std::vector<Node> nodes_;
  std::string characters_;
  Mark mark_;
};

template <class Each>
void JsonValue::each(const Each& each) const {
  require_array();
  for (std::uint32_t i = row_->nodes_[node_].children ? node_ + 1 : 0; i != 0; i = row_->nodes_[i].next) each(JsonValue(row_, i));
}

}  // namespace marea::traffic
