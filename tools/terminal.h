// Standard output and error as a person sees them: colour or not, block characters or not, and what happens when they are closed.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "tools/options.h"

namespace marea::cli {

// Standard output was closed by its reader (`| head`): not an error, there is simply nobody to print for.
struct NobodyReads {};

// Writes to standard output. Throws NobodyReads, or StorageError when it cannot be written.
void print(std::string_view text);
// Everything is written out; the same errors.
void flush_output();
// A line for the person at the terminal, on standard error.
void note(std::string_view line);
// That a lock of the store `file` is being waited for.
void note_waiting(std::string_view file);

// How to dress text for standard output.
class Style {
 public:
  explicit Style(Color color);
  static Style plain();

  std::string heading(std::string_view text) const { return dress("1", text); }
  std::string dim(std::string_view text) const { return dress("2", text); }
  std::string good(std::string_view text) const { return dress("32", text); }
  std::string warn(std::string_view text) const { return dress("33", text); }
  std::string bad(std::string_view text) const { return dress("31", text); }
  std::string accent(std::string_view text) const { return dress("36", text); }

  // A bar of `width` columns filled to `fraction` in eighths (whole # without UTF-8).
  std::string bar(double fraction, int width) const;
  // A line of heights, one column each value, scaled to `top`.
  std::string spark(const std::vector<double>& values, double top) const;
  std::string rule(int width) const;
  bool blocks() const { return blocks_; }

 private:
  std::string dress(std::string_view code, std::string_view text) const;
  bool color_ = false;
  bool blocks_ = false;
};

bool error_is_terminal();
// Columns of the terminal that standard output is; 0 when it is none.
int terminal_width();

// Columns that text takes on a terminal (one for each code point; escapes none), and padding to a width.
int width(std::string_view text);
std::string left(std::string_view text, int columns);
std::string right(std::string_view text, int columns);
// Breaks text at blanks so that no line passes `columns`. All lines begin at column `indent`; the first one is taken to stand there
// already.
std::string wrap(std::string_view text, int columns, int indent);

}  // namespace marea::cli
