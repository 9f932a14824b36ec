// CSV records over lines: split, unquoted, counted and read as numbers with the place of every field.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "sim/base/input.h"
#include "sim/base/quantity.h"
#include "sim/base/text.h"

namespace marea {

CsvReader::CsvReader(const std::string& file) : lines_(file) {
  if (!read_record()) throw ConfigError({file}, "", "is empty; a table starts with a row of column names");
  for (const std::string_view field : fields_) {
    if (field.empty()) throw ConfigError(mark(columns_.size()), "", "a column without a name");
    const auto first = std::find(columns_.begin(), columns_.end(), field);
    if (first != columns_.end()) throw ConfigError(mark(columns_.size()), excerpt(field), "this column is named twice");
    columns_.emplace_back(field);
  }
}

bool CsvReader::has(std::string_view name) const { return std::find(columns_.begin(), columns_.end(), name) != columns_.end(); }

std::size_t CsvReader::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  const std::string slip = did_you_mean(name, columns_);
  throw ConfigError({lines_.mark().file, 1, 0}, "",
                    "there is no column " + excerpt(name) + (slip.empty() ? "; there are " + joined(columns_) : slip));
}

bool CsvReader::next() {
  if (!read_record()) return false;
  if (fields_.size() == columns_.size()) return true;
  throw ConfigError(
      mark(fields_.size()), "",
      "this row has " + std::to_string(fields_.size()) + " fields, but there are " + std::to_string(columns_.size()) + " columns");
}

// The next record into fields_; blank lines are passed over.
bool CsvReader::read_record() {
  do {
    if (!lines_.next(record_)) return false;
  } while (record_.empty());
  first_ = Mark{};
  first_.line = lines_.mark().line;
  fields_.clear();
  spans_.clear();
  if (record_.find('"') != std::string_view::npos) {
    split_quoted();
    return true;
  }
  const char* at = record_.data();
  const char* const end = at + record_.size();
  while (true) {
    const auto* comma = static_cast<const char*>(std::memchr(at, ',', static_cast<std::size_t>(end - at)));
    fields_.emplace_back(at, static_cast<std::size_t>((comma ? comma : end) - at));
    if (!comma) return true;
    at = comma + 1;
  }
}

// Adds the next line to the record, for a quoted field that goes on there.
bool CsvReader::extend() {
  if (record_.data() != joined_.data()) joined_.assign(record_);
  std::string_view line;
  if (!lines_.next(line)) return false;
  constexpr std::size_t kLongestRecord = 64u << 20;
  if (joined_.size() + line.size() > kLongestRecord) return false;
  joined_.append("\n").append(line);
  record_ = joined_;
  return true;
}

void CsvReader::split_quoted() {
  unquoted_.clear();
  const auto fail_here = [&](std::size_t at, const char* problem) {
    throw ConfigError({lines_.mark().file, first_.line, record_.data() == joined_.data() ? 0 : static_cast<int>(at) + 1}, "", problem);
  };
  for (std::size_t at = 0;; ++at) {
    Span span{unquoted_.size(), 0, at};
    if (at < record_.size() && record_[at] == '"') {
      ++at;
      while (true) {
        const std::size_t quote = record_.find('"', at);
        if (quote == std::string_view::npos) {
          if (!extend()) fail_here(span.source, "a quoted field that is never closed");
          continue;
        }
        unquoted_.append(record_.substr(at, quote - at));
        at = quote + 1;
        if (at >= record_.size() || record_[at] != '"') break;
        unquoted_ += '"';
        ++at;
      }
      if (at < record_.size() && record_[at] != ',') fail_here(at, "text after a closing quote; a comma is due");
    } else {
      const std::size_t end = std::min(record_.find(',', at), record_.size());
      const std::string_view text = record_.substr(at, end - at);
      if (text.find('"') != std::string_view::npos)
        fail_here(at, "a quote inside a field; quote the whole field and double the quotes in it");
      unquoted_.append(text);
      at = end;
    }
    span.size = unquoted_.size() - span.begin;
    spans_.push_back(span);
    if (at >= record_.size()) break;
  }
  for (const Span& span : spans_) fields_.emplace_back(unquoted_.data() + span.begin, span.size);
}

Mark CsvReader::mark(std::size_t column) const {
  Mark mark{lines_.mark().file, first_.line, 0};
  if (record_.data() == joined_.data()) return mark;  // the record spans lines
  std::size_t at = record_.size();
  if (column < spans_.size()) {
    at = spans_[column].source;
  } else if (spans_.empty() && column < fields_.size()) {
    at = static_cast<std::size_t>(fields_[column].data() - record_.data());
  }
  mark.column = static_cast<int>(std::min<std::size_t>(at, 1u << 30)) + 1;
  return mark;
}

void CsvReader::fail(std::size_t column, std::string_view problem) const {
  const std::string_view text = field(column);
  throw ConfigError(mark(column), excerpt(name(column)), (text.empty() ? "an empty field" : excerpt(text)) + std::string(problem));
}

std::int64_t CsvReader::integer(std::size_t column, std::int64_t least, std::int64_t most) const {
  const std::string_view text = field(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!whole) fail(column, " is not a whole number");
  if (error != std::errc() || value < least || value > most)
    fail(column, " is out of range; give " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double CsvReader::number(std::size_t column, double least, double most) const {
  const std::string_view text = field(column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = end == text.data() + text.size() && error != std::errc::invalid_argument && !std::isnan(value);
  if (!number) fail(column, " is not a number");
  if (error != std::errc() || !std::isfinite(value) || value < least || value > most)
    fail(column, " is out of range; give " + shortest(least) + " to " + shortest(most));
  return value;
}

}  // namespace marea
