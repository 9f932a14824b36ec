// The vocabulary of the summary.
#include "tools/words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "sim/base/quantity.h"
#include "sim/metrics/catalogue.h"

namespace marea::cli {

namespace {

using Word = std::pair<std::string_view, std::string_view>;

template <std::size_t N>
std::string look_up(const std::array<Word, N>& words, std::string_view name) {
  for (const auto& [known, text] : words)
    if (known == name) return std::string(text);
  return std::string(name);
}

constexpr std::array<Word, 15> kCauseWords{{{"front_end", "front end"},
                                            {"queue_slots", "queue: all sequence slots taken"},
                                            {"queue_blocks", "queue: no free KV blocks"},
                                            {"queue_budget", "queue: token budget used up"},
                                            {"queue_boundary", "queue: until the next step"},
                                            {"kv_load", "KV coming up from a tier"},
                                            {"prefill_new", "prefill, new tokens"},
                                            {"prefill_lost", "prefill, tokens lost before"},
                                            {"decode", "decode"},
                                            {"preempted", "preempted"},
                                            {"tool", "tool running"},
                                            {"tool_queue", "tool queue (no free worker)"},
                                            {"backoff", "tool retry back-off"},
                                            {"person", "person"},
                                            {"agents", "sub-agents"}}};

constexpr std::array<Word, 9> kOwnerWords{{{"prefill", "running prefill"},
                                           {"decode", "running decode"},
                                           {"active", "session has a call open"},
                                           {"tool", "session waits for a tool"},
                                           {"person", "session waits for person"},
                                           {"agents", "session waits for agents"},
                                           {"ended", "session has ended"},
                                           {"shared", "shared by sessions"},
                                           {"nobody", "nobody"}}};

}  // namespace

std::string cause_words(std::string_view cause) { return look_up(kCauseWords, cause); }
std::string owner_words(std::string_view owner) { return look_up(kOwnerWords, owner); }

std::string count(std::int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::size_t place = digits.size(); place > 3;) digits.insert(place -= 3, ",");
  return value < 0 ? "-" + digits : digits;
}

std::string count(double value) { return count(static_cast<std::int64_t>(std::llround(value))); }

std::string plural(std::int64_t value, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count(value), value == 1 ? one : many);
}

std::string percent(double fraction, int digits) { return fmt::format("{:.{}f} %", fraction * 100, digits); }

std::string shown(double value, std::string_view unit) {
  if (unit == "s") return show(to_clock(Seconds(value)));
  if (unit == "tok") return show(Tokens(static_cast<std::int64_t>(std::llround(value))));
  const std::string number = value == std::floor(value) && std::abs(value) < 1e15 ? count(value) : fmt::format("{:.4g}", value);
  return unit == "1" ? number : fmt::format("{} {}", number, unit);
}

run::MetricText metric_text(std::string_view name) {
  const metrics::Found found = metrics::find(name);
  if (!found) return {};
  return {std::string(found.metric->unit), fmt::format("{} Over: {}.", found.metric->definition, found.metric->population)};
}

}  // namespace marea::cli
