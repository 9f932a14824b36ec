// Ledgers, summed over owners and laid out in 80 columns.
#include "tools/ledger_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "sim/base/quantity.h"
#include "tools/words.h"

namespace marea::cli {

namespace {

constexpr int kBar = 28;
constexpr double kLeast = 0.0005;  // what rounds to 0.0 % is summed up in one line

double part(std::int64_t value, std::int64_t total) { return total != 0 ? static_cast<double>(value) / static_cast<double>(total) : 0; }

struct State {
  std::string_view title;
  int columns;
  std::vector<std::string_view> states;
};
const std::array<State, 5>& state_columns() {
  static const std::array<State, 5> columns{{{"in use", 8, {"referenced", "partial"}},
                                             {"hit later", 11, {"cached_hit"}},
                                             {"never hit", 11, {"cached_never"}},
                                             {"at end", 8, {"cached_unknown"}},
                                             {"free", 8, {"free"}}}};
  return columns;
}

}  // namespace

std::string time_table(const metrics::Ledger& ledger, const Style& style) {
  std::map<std::string, std::int64_t> causes;
  for (const metrics::LedgerRow& row : ledger.rows) causes[row.cause] += row.value;
  std::vector<std::pair<std::string, std::int64_t>> sorted(causes.begin(), causes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text =
      style.heading(left("Where the time of the sessions goes", 48)) + style.dim("all of it: ") + show(Duration(ledger.total)) + "\n";
  std::int64_t rest = 0;
  const double top = sorted.empty() ? 1 : std::max(part(sorted.front().second, ledger.total), 1e-9);
  for (const auto& [cause, value] : sorted) {
    const double share = part(value, ledger.total);
    if (share < kLeast) {
      rest += value;
      continue;
    }
    text += "  " + left(cause_words(cause), 34) + right(percent(share), 9) + "  " + style.bar(share / top, kBar) + "\n";
  }
  if (rest > 0) text += "  " + left("all other causes", 34) + right("< 0.1 %", 9) + "\n";
  return text;
}

std::string memory_ledger_table(const metrics::Ledger& ledger, const Style& style) {
  static constexpr std::array<std::string_view, 9> kOwners{"decode", "prefill", "shared", "active", "tool",
                                                           "person", "agents",  "ended",  "nobody"};
  std::map<std::string_view, std::map<std::string_view, std::int64_t>> cells;  // owner, state
  std::int64_t fixed = 0;                                                      // weights and the like, which have no owner
  for (const metrics::LedgerRow& row : ledger.rows) {
    const std::string_view cause = row.cause;
    const std::size_t slash = cause.find('/');
    if (slash == std::string_view::npos)
      fixed += row.value;
    else
      cells[cause.substr(slash + 1)][cause.substr(0, slash)] += row.value;
  }
  const auto cell = [&](std::int64_t value, int columns) {
    const double share = part(value, ledger.total);
    return right(share >= kLeast ? percent(share) : value > 0 ? "< 0.1 %" : "", columns);
  };
  std::string text = style.heading(left("Where memory goes", 26));
  for (const State& state : state_columns()) text += style.dim(right(state.title, state.columns));
  text += style.dim(right("all", 8)) + "\n";
  if (fixed > 0) text += "  " + left("weights, reserve and runtime", 70) + cell(fixed, 8) + "\n";
  for (const std::string_view owner : kOwners) {
    std::int64_t all = 0;
    std::string columns;
    for (const State& state : state_columns()) {
      std::int64_t value = 0;
      for (const std::string_view name : state.states) value += cells[owner][name];
      all += value;
      columns += cell(value, state.columns);
    }
    if (all > 0) text += "  " + left(owner_words(owner), 24) + columns + cell(all, 8) + "\n";
  }
  return text + style.dim("  shares of byte-time; cached content is hit later, never, or there at the end") + "\n";
}

}  // namespace marea::cli
