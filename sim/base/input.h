// Line and table input for traces: plain or gzip, streamed, with the place of every field for errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"

namespace marea {

// A whole file as it is. Throws ConfigError when it cannot be opened or read, is a directory or holds more than `most` bytes.
std::string read_text(const std::string& file, std::size_t most);

// Lines of a text file, transparently gunzipped (by content, not by name). One line at a time; memory is one line.
class LineReader {
 public:
  // Throws ConfigError when the file cannot be opened. `longest` bounds one line.
  explicit LineReader(const std::string& file, std::size_t longest = 64u << 20);
  ~LineReader();
  LineReader(LineReader&&) noexcept;

  // The next line without its end (CR LF accepted; a byte order mark is dropped), valid until the next call; false at the end. Throws
  // ConfigError on a broken gzip stream, a NUL byte or a line longer than the bound.
  bool next(std::string_view& line);
  Mark mark(int column = 0) const;  // of the current line

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A CSV table with a header row (RFC 4180 quoting). Fields are found by column name.
class CsvReader {
 public:
  // Throws ConfigError when the file has no header or names a column twice.
  explicit CsvReader(const std::string& file);

  const std::vector<std::string>& columns() const { return columns_; }
  // Index of a column; throws ConfigError naming the nearest column when there is none.
  std::size_t column(std::string_view name) const;
  bool has(std::string_view name) const;

  // Moves to the next row; false at the end. Blank lines are passed over; a row with another number of fields is a ConfigError.
  bool next();
  std::string_view field(std::size_t column) const { return fields_[column]; }
  // The field as a number within bounds; ConfigError with row and column otherwise (empty, NaN, overflow, trailing text).
  std::int64_t integer(std::size_t column, std::int64_t least, std::int64_t most) const;
  double number(std::size_t column, double least, double most) const;
  Mark mark(std::size_t column) const;

 private:
  struct Span {
    std::size_t begin = 0;
    std::size_t size = 0;
    std::size_t source = 0;  // where the field starts in the record, its opening quote included
  };

  bool read_record();
  void split_quoted();
  bool extend();
  [[noreturn]] void fail(std::size_t column, std::string_view problem) const;
  std::string_view name(std::size_t column) const {
    return column < columns_.size() ? std::string_view(columns_[column]) : std::string_view();
  }

  LineReader lines_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
  std::vector<Span> spans_;
  std::string_view record_;  // the current record: a line, or joined_ when a quoted field holds line ends
  std::string joined_;
  std::string unquoted_;  // fields freed of their quotes
  Mark first_;            // of the record's first line; without a file name until it is needed
};

}  // namespace marea
