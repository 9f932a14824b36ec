// Terminal details behind terminal.h.
#include "tools/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/base/error.h"

namespace marea::cli {

namespace {

[[noreturn]] void output_failed() {
  if (errno == EPIPE) throw NobodyReads{};
  throw StorageError(fmt::format("cannot write standard output: {}", std::strerror(errno)));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) output_failed();
}

void flush_output() {
  if (std::fflush(stdout) != 0) output_failed();
}

void note(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

void note_waiting(std::string_view file) { note(fmt::format("{}: waiting for another process that is writing to it (up to 30 s)", file)); }

Style::Style(Color color) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  color_ =
      color == Color::always || (color == Color::automatic && (no_color == nullptr || *no_color == '\0') && !dumb && isatty(STDOUT_FILENO));
  blocks_ = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

Style Style::plain() { return Style(Color::never); }

std::string Style::dress(std::string_view code, std::string_view text) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string Style::bar(double fraction, int columns) const {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clipped = std::clamp(fraction, 0.0, 1.0);
  if (!blocks_) return dress("36", std::string(static_cast<std::size_t>(std::lround(clipped * columns)), '#'));
  std::string text;
  const int eighths = static_cast<int>(std::lround(clipped * columns * 8));
  for (int whole = 0; whole < eighths / 8; ++whole) text += "█";
  text += kEighths[eighths % 8];
  return dress("36", text);
}

std::string Style::spark(const std::vector<double>& values, double top) const {
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kAscii[] = {" ", ".", ".", ":", ":", "-", "=", "+", "#"};
  std::string text;
  for (const double value : values) {
    const double level = top > 0 ? std::clamp(value / top, 0.0, 1.0) * 8 : 0;
    const auto step = static_cast<std::size_t>(std::ceil(level - 1e-9));
    text += blocks_ ? kBlocks[step] : kAscii[step];
  }
  return dress("36", text);
}

std::string Style::rule(int columns) const {
  std::string text;
  for (int i = 0; i < columns; ++i) text += blocks_ ? "─" : "-";
  return dim(text);
}

bool error_is_terminal() { return isatty(STDERR_FILENO) != 0; }

int terminal_width() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

int width(std::string_view text) {
  int columns = 0;
  bool escape = false;
  for (const char c : text) {
    if (escape) {
      escape = c != 'm';
    } else if (c == '\x1b') {
      escape = true;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

std::string left(std::string_view text, int columns) {
  return std::string(text) + std::string(static_cast<std::size_t>(std::max(0, columns - width(text))), ' ');
}

std::string right(std::string_view text, int columns) {
  return std::string(static_cast<std::size_t>(std::max(0, columns - width(text))), ' ') + std::string(text);
}

std::string wrap(std::string_view text, int columns, int indent) {
  std::string result;
  int used = indent;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    text = blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
    if (used > indent && used + 1 + width(word) > columns) {
      result += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      used = indent;
    } else if (used > indent) {
      result += ' ';
      ++used;
    }
    result += word;
    used += width(word);
  }
  return result;
}

}  // namespace marea::cli
