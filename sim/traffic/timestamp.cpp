// Parsing of calendar times.
#include "sim/traffic/timestamp.h"

#include <chrono>

namespace marea::traffic {
namespace {

// Reads exactly `digits` digits and the separator after them (0: none); -1 when they are not there.
int take(std::string_view& text, std::size_t digits, char separator) {
  if (text.size() < digits + (separator ? 1 : 0)) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  if (separator && text[digits] != separator && !(separator == ' ' && text[digits] == 'T')) return -1;
  text.remove_prefix(digits + (separator ? 1 : 0));
  return value;
}

}  // namespace

std::optional<Duration> parse_timestamp(std::string_view text) {
  const int year = take(text, 4, '-'), month = take(text, 2, '-'), day = take(text, 2, ' ');
  const int hour = take(text, 2, ':'), minute = take(text, 2, ':'), second = take(text, 2, 0);
  if (year < 1970 || year > 2200 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 59) {
    return std::nullopt;
  }
  std::int64_t fraction = 0;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    std::int64_t unit = 100'000'000;
    if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), unit /= 10) {
      if (unit == 0) return std::nullopt;
      fraction += (text[0] - '0') * unit;
    }
  }
  if (text == "Z") text = {};
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!text.empty() || !date.ok()) return std::nullopt;
  return Duration(std::chrono::sys_days(date).time_since_epoch()) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + Duration{fraction};
}

}  // namespace marea::traffic
