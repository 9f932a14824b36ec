// Maps: which keys were asked for, which are missing and which nobody knows.
#include "sim/base/section.h"

#include <algorithm>

#include "sim/base/text.h"

namespace marea {

namespace {

std::string under(const std::string& path, std::string_view key) {
  const std::string name = key.find_first_of(".[]") == std::string_view::npos ? excerpt(key) : '[' + excerpt(key) + ']';
  if (path.empty() || name.front() == '[') return path + name;
  return path + '.' + name;
}

}  // namespace

Section::Section(const Value& value) : value_(value) {
  if (!value.is_map()) value.fail("is " + value.description() + ", but a map with keys is due here");
}

std::optional<Value> Section::optional(std::string_view key) {
  asked_.emplace_back(key);
  const Tree* tree = value_.tree().find(key);
  if (!tree) return std::nullopt;
  return Value(*tree, under(path(), key));
}

Value Section::required(std::string_view key) {
  if (std::optional<Value> found = optional(key)) return *std::move(found);
  std::vector<std::string> others;
  for (const TreeEntry& entry : value_.tree().entries)
    if (std::find(asked_.begin(), asked_.end(), entry.key) == asked_.end()) others.push_back(entry.key);
  const std::string slip = nearest(key, others);
  value_.fail("the key " + std::string(key) + " is missing" + (slip.empty() ? "" : "; is " + excerpt(slip) + " a slip of it?"));
}

bool Section::has(std::string_view key) const { return value_.tree().find(key) != nullptr; }

std::vector<std::pair<std::string, Value>> Section::rest() {
  std::vector<std::pair<std::string, Value>> out;
  const std::size_t asked_before = asked_.size();
  for (const TreeEntry& entry : value_.tree().entries) {
    const auto end = asked_.begin() + static_cast<std::ptrdiff_t>(asked_before);
    if (std::find(asked_.begin(), end, entry.key) == end) out.emplace_back(entry.key, Value(entry.value, under(path(), entry.key)));
  }
  for (const auto& [key, value] : out) asked_.push_back(key);
  return out;
}

void Section::close() const {
  for (const TreeEntry& entry : value_.tree().entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) != asked_.end()) continue;
    std::vector<std::string> known;
    for (const std::string& key : asked_)
      if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
    const std::string slip = did_you_mean(entry.key, known);
    const std::string right = slip.empty() ? "; known here: " + joined(known, 40) : slip;
    throw ConfigError(entry.mark, under(path(), entry.key), "unknown key" + (known.empty() ? "; no key is known here" : right));
  }
}

}  // namespace marea
