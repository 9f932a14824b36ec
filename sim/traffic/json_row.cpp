// The SAX handler behind JsonRow.
#include "sim/traffic/json_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace marea::traffic {

using Json = nlohmann::json;

// Appends nodes in the order of the text; stack_ holds the open arrays and objects and each one's latest child.
class JsonSax {
 public:
  explicit JsonSax(JsonRow& row) : row_(row) {}

  bool null() { return add(JsonRow::Kind::null); }
  bool boolean(bool value) {
    add(JsonRow::Kind::boolean);
    row_.nodes_.back().integer = value;
    return true;
  }
  bool number_integer(std::int64_t value) {
    add(JsonRow::Kind::integer);
    row_.nodes_.back().integer = value;
    return true;
  }
  bool number_unsigned(std::uint64_t value) {
    if (value <= INT64_MAX) return number_integer(static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    add(JsonRow::Kind::real);
    row_.nodes_.back().real = value;
    return true;
  }
  bool string(std::string& value) {
    add(JsonRow::Kind::text);
    row_.nodes_.back().text = {static_cast<std::uint32_t>(row_.characters_.size()), static_cast<std::uint32_t>(value.size())};
    row_.characters_ += value;
    return true;
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(JsonRow::Kind::object); }
  bool start_array(std::size_t) { return open(JsonRow::Kind::array); }
  bool end_array() { return close(); }
  bool end_object() { return close(); }
  bool key(std::string& name) {
    const Open& open = stack_.back();
    for (std::uint32_t i = row_.nodes_[open.node].children ? open.node + 1 : 0; i != 0; i = row_.nodes_[i].next) {
      if (row_.key_of(row_.nodes_[i]) == name) return refuse(fmt::format("the key `{}` is given twice", name));
    }
    key_ = static_cast<std::uint32_t>(row_.characters_.size());
    key_length_ = static_cast<std::uint32_t>(name.size());
    row_.characters_ += name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    failed_at = static_cast<int>(std::min<std::size_t>(position, INT32_MAX));
    return refuse("not valid JSON: " + reason(error.what()));
  }

  std::string failure;
  int failed_at = 0;

 private:
  struct Open {
    std::uint32_t node = 0;
    std::uint32_t last = 0;
  };
  // What the parser says, in words: "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while parsing value -
  // invalid literal; last read: 'nop'; expected ..." without its own names, places (of no file) and what was read, which may be any bytes.
  static std::string reason(std::string text) {
    if (text.find("out_of_range") != std::string::npos) return "a number is too large";
    if (const std::size_t cut = text.find(": "); cut != std::string::npos) text.erase(0, cut + 2);
    if (const std::size_t read = text.find("; last read: "); read != std::string::npos) {
      const std::size_t expected = text.rfind("; expected ");
      text.erase(read, expected == std::string::npos || expected < read ? std::string::npos : expected - read);
    }
    return text;
  }
  bool refuse(std::string message) {
    failure = std::move(message);
    return false;
  }
  bool add(JsonRow::Kind kind) {
    JsonRow::Node node;
    node.kind = kind;
    const auto index = static_cast<std::uint32_t>(row_.nodes_.size());
    if (!stack_.empty()) {
      Open& open = stack_.back();
      node.parent = open.node;
      node.key = key_;
      node.key_length = key_length_;
      key_length_ = 0;
      if (open.last) row_.nodes_[open.last].next = index;
      open.last = index;
      ++row_.nodes_[open.node].children;
    }
    row_.nodes_.push_back(node);
    return true;
  }
  bool open(JsonRow::Kind kind) {
    if (stack_.size() >= 32) return refuse("nested deeper than 32");
    add(kind);
    stack_.push_back({static_cast<std::uint32_t>(row_.nodes_.size() - 1), 0});
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  JsonRow& row_;
  std::vector<Open> stack_;
  std::uint32_t key_ = 0, key_length_ = 0;
};

JsonValue JsonRow::parse(std::string_view line, const Mark& mark) {
  nodes_.clear();
  characters_.clear();
  mark_ = mark;
  JsonSax sax(*this);
  if (!Json::sax_parse(line.data(), line.data() + line.size(), &sax)) {
    throw ConfigError({mark.file, mark.line, sax.failed_at}, "", sax.failure.empty() ? "not valid JSON" : sax.failure);
  }
  if (nodes_.front().kind != Kind::object) throw ConfigError(mark, "", "a JSON object is expected on each line");
  return JsonValue(this, 0);
}

std::string JsonRow::path(std::uint32_t node) const {
  std::string path;
  while (node != 0) {
    const Node& parent = nodes_[nodes_[node].parent];
    std::string part;
    if (parent.kind == Kind::array) {
      int position = 0;
      for (std::uint32_t i = nodes_[node].parent + 1; i != node; i = nodes_[i].next) ++position;
      part = fmt::format("[{}]", position);
    } else {
      part = std::string(key_of(nodes_[node]));
    }
    path = path.empty() || path.front() == '[' ? part + path : part + "." + path;
    node = nodes_[node].parent;
  }
  return path;
}

void JsonValue::fail(std::string_view message) const { throw ConfigError(row_->mark_, row_->path(node_), message); }

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  const JsonRow::Node& node = row_->nodes_[node_];
  if (node.kind != JsonRow::Kind::object) fail("an object is expected");
  for (std::uint32_t i = node.children ? node_ + 1 : 0; i != 0; i = row_->nodes_[i].next) {
    if (row_->key_of(row_->nodes_[i]) != key) continue;
    if (row_->nodes_[i].kind == JsonRow::Kind::null) return std::nullopt;
    return JsonValue(row_, i);
  }
  return std::nullopt;
}

JsonValue JsonValue::at(std::string_view key) const {
  const auto found = find(key);
  if (!found) fail(fmt::format("`{}` is missing", key));
  return *found;
}

std::int64_t JsonValue::integer(std::int64_t least, std::int64_t most) const {
  const JsonRow::Node& node = row_->nodes_[node_];
  std::int64_t value = node.integer;
  if (node.kind == JsonRow::Kind::real) {
    if (node.real != std::floor(node.real) || std::abs(node.real) > 9e15)
      fail(fmt::format("a whole number from {} to {} is expected", least, most));
    value = static_cast<std::int64_t>(node.real);
  } else if (node.kind != JsonRow::Kind::integer) {
    fail(fmt::format("a whole number from {} to {} is expected", least, most));
  }
  if (value < least || value > most) fail(fmt::format("{} is out of range; {} to {} is accepted", value, least, most));
  return value;
}

double JsonValue::number(double least, double most) const {
  const JsonRow::Node& node = row_->nodes_[node_];
  if (node.kind != JsonRow::Kind::real && node.kind != JsonRow::Kind::integer) fail("a number is expected");
  const double value = node.kind == JsonRow::Kind::real ? node.real : static_cast<double>(node.integer);
  if (!(value >= least && value <= most)) fail(fmt::format("{:g} is out of range; {:g} to {:g} is accepted", value, least, most));
  return value;
}

std::string_view JsonValue::text() const {
  const JsonRow::Node& node = row_->nodes_[node_];
  if (node.kind != JsonRow::Kind::text) fail("a string is expected");
  return {row_->characters_.data() + node.text.at, node.text.length};
}

void JsonValue::require_array() const {
  if (row_->nodes_[node_].kind != JsonRow::Kind::array) fail("a list is expected");
}

std::size_t JsonValue::count() const {
  require_array();
  return row_->nodes_[node_].children;
}

}  // namespace marea::traffic
