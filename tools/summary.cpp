// Laying the summary out. Order: what was run, the sessions (the service), latencies, time, memory, what to know, where it is.
#include "tools/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/quantity.h"
#include "sim/base/section.h"
#include "sim/base/text.h"
#include "sim/base/tree.h"
#include "tools/ledger_table.h"
#include "tools/memory_table.h"
#include "tools/words.h"

namespace marea::cli {

namespace {

constexpr int kColumns = 80;
constexpr int kLabel = 16;
constexpr std::size_t kLongestSettings = 1000;

bool was_interrupted(const Told& told) { return told.run.status != "done"; }

// The numbers of a run by name.
class Numbers {
 public:
  explicit Numbers(const metrics::Results& results) : results_(&results) {}
  const metrics::MetricValue* find(std::string_view name, std::string_view label = {}) const {
    for (const metrics::MetricValue& value : results_->metrics)
      if (value.name == name && value.label == label) return &value;
    return nullptr;
  }
  double value(std::string_view name, std::string_view label = {}) const {
    const metrics::MetricValue* found = find(name, label);
    return found != nullptr ? found->value : 0;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const metrics::Results& results() const { return *results_; }

 private:
  const metrics::Results* results_;
};

// A scalar of the resolved scenario, as written there.
std::string setting(const Tree& scenario, std::initializer_list<std::string_view> path) {
  const Tree* at = &scenario;
  for (const std::string_view key : path) {
    at = at->find(key);
    if (at == nullptr) return {};
  }
  return at->kind == Tree::Kind::scalar ? at->text : std::string();
}

std::string line(std::string_view label, std::string_view text) {
  return "  " + left(label, kLabel - 2) + wrap(text, kColumns, kLabel) + "\n";
}

std::string head(const Told& told, const Tree& scenario, const Style& style) {
  const std::string origin = fmt::format("marea {}, seed {}{}", told.run.version, told.run.seed,
                                         told.replications > 1      ? fmt::format(", {} replications", told.replications)
                                         : told.run.replication > 0 ? fmt::format(", replication {}", told.run.replication)
                                                                    : "");
  const int room = kColumns - width(origin) - 2;
  std::string text = style.heading(left(told.run.name, room)) + "  " + style.dim(origin) + "\n";
  if (const std::string about = setting(scenario, {"about"}); !about.empty()) text += wrap(about, kColumns, 0) + "\n";
  text += style.rule(kColumns) + "\n";
  if (was_interrupted(told)) text += style.warn("Interrupted: everything below covers only what had been simulated.") + "\n";
  return text;
}

std::string what_was_run(const Told& told, const Tree& scenario, const Numbers& numbers) {
  std::string text = line("load", told.results.load_mode);
  if (!told.run.settings.empty()) text += line("changed", excerpt(fmt::format("{}", fmt::join(told.run.settings, ", ")), kLongestSettings));
  const Duration start = since_start(told.results.window_start);
  const Duration end = since_start(told.results.window_end);
  std::string window = show(end);
  if (const Tree* run = scenario.find("run"); run != nullptr && run->find("duration") != nullptr) {
    if (const Duration asked = Value(*run->find("duration"), "run.duration").duration(); end < asked) window += " of " + show(asked);
  } else {
    window += was_interrupted(told) ? " until it was interrupted" : ", to the end of the traffic";
  }
  if (start > Duration{}) window += ", measured after the first " + show(start);
  text += line("simulated", fmt::format("{}: {} sessions, {} calls, {} engine steps", window, count(numbers.value("sessions_started")),
                                        count(numbers.value("calls_started")), count(numbers.value("engine_steps"))));
  const double wall = static_cast<double>(told.run.wall) * 1e-9;
  if (wall > 0) text += line("took", show(Duration(told.run.wall)));
  return text;
}

std::string targets(const Tree& scenario) {
  std::string text;
  for (const char* key : {"ttft", "tpot", "resume"})
    if (const std::string value = setting(scenario, {"service", "targets", key}); !value.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
  return text;
}

std::string interval(const metrics::MetricValue* value, const auto& shape) {
  if (value == nullptr || !value->low || !value->high) return {};
  return fmt::format(" ({} to {})", shape(*value->low), shape(*value->high));
}

std::string sessions(const Tree& scenario, const Numbers& numbers, const Style& style) {
  std::string ends = fmt::format("{} completed", count(numbers.value("sessions_completed")));
  for (const auto& [name, word] :
       {std::pair{"sessions_failed", "failed"}, {"sessions_abandoned", "abandoned"}, {"sessions_cut", "cut at the end of the run"}})
    if (numbers.value(name) > 0) ends += fmt::format(", {} {}", count(numbers.value(name)), word);
  std::string text = "\n" + style.heading("Sessions") + "\n" + line("ended", ends);
  const std::string asked = targets(scenario);
  const auto rate = [](double value) { return fmt::format("{:.4g} /s", value); };
  const auto share = [](double value) { return percent(value); };
  if (numbers.has("session_goodput")) {
    std::string good = rate(numbers.value("session_goodput")) + interval(numbers.find("session_goodput"), rate);
    if (numbers.has("session_attainment"))
      good += fmt::format(", {} of the sessions{}", percent(numbers.value("session_attainment")),
                          interval(numbers.find("session_attainment"), share));
    good += asked.empty() ? " (no targets set: every completed session counts)" : fmt::format(" (targets: {})", asked);
    text += line("goodput", good);
  }
  if (numbers.has("tool_wait_share")) {
    std::string waits = fmt::format("{} of the time of completed sessions is spent on tools", percent(numbers.value("tool_wait_share")));
    if (numbers.has("critical_path_share"))
      waits += fmt::format("; {} is tools and people on the critical path, which no GPU can shorten",
                           percent(numbers.value("critical_path_share")));
    text += line("waits", waits);
  }
  return text;
}

// A demand that the end of the window finds so far above its middle is no steady state.
bool still_rising(const Numbers& numbers) {
  constexpr double kRising = 1.25;
  return numbers.value("kv_demand_trend") > kRising;
}

struct LatencyRow {
  const char* metric;
  const char* words;
};
constexpr LatencyRow kLatencies[] = {{"session_completion_time", "whole session"},
                                     {"resume", "resume after a wait"},
                                     {"ttft_first", "first token, first call"},
                                     {"ttft", "first token, every call"},
                                     {"turn_ttft_warm", "  context still cached"},
                                     {"turn_ttft_cold", "  context lost"},
                                     {"tpot", "per output token (tpot)"},
                                     {"itl", "between tokens (itl)"},
                                     {"queue_time", "queue"},
                                     {"e2e", "whole call"}};

std::string latencies(const Numbers& numbers, const Style& style) {
  std::string text = "\n" + style.heading("Latency") + std::string(18, ' ');
  for (const char* title : {"mean", "p50", "p90", "p95", "p99"}) text += style.dim(right(title, 11));
  text += "\n";
  bool intervals = false;
  for (const LatencyRow& row : kLatencies) {
    if (!numbers.has(std::string(row.metric) + "_mean")) continue;
    text += "  " + left(row.words, 23);
    for (const char* statistic : {"mean", "p50", "p90", "p95", "p99"}) {
      const metrics::MetricValue* value = numbers.find(fmt::format("{}_{}", row.metric, statistic));
      text += right(value != nullptr ? shown(value->value, "s") : "", 11);
      intervals |= value != nullptr && value->low.has_value();
    }
    text += "\n";
  }
  if (intervals) {
    text += style.dim("  95 % intervals over replications") + "\n";
    for (const LatencyRow& row : kLatencies) {
      const metrics::MetricValue* value = numbers.find(std::string(row.metric) + "_p95");
      if (value == nullptr || !value->low || !value->high) continue;
      text += "  " + left(row.words, 23) +
              style.dim(right("p95 " + show_range(to_clock(Seconds(*value->low)), to_clock(Seconds(*value->high))), 44)) + "\n";
    }
  }
  return text;
}

// The values of a series inside the measuring window.
std::vector<double> inside_window(const metrics::Series& series, const metrics::Results& results) {
  std::vector<double> values;
  for (const metrics::SeriesPoint& point : series.points)
    if (point.at >= results.window_start && point.at < results.window_end) values.push_back(point.value);
  return values;
}

// At most `columns` values, each the mean of its share of the points.
std::vector<double> thin(const std::vector<double>& all, int columns) {
  std::vector<double> values;
  const std::size_t points = all.size();
  const std::size_t groups = std::min(points, static_cast<std::size_t>(columns));
  for (std::size_t group = 0; group < groups; ++group) {
    double sum = 0;
    const std::size_t from = group * points / groups;
    const std::size_t to = (group + 1) * points / groups;
    for (std::size_t i = from; i < to; ++i) sum += all[i];
    values.push_back(sum / static_cast<double>(to - from));
  }
  return values;
}

std::string kv(const Numbers& numbers, const Style& style) {
  std::string text;
  if (numbers.has("kv_demand")) {
    const double demand = numbers.value("kv_demand");
    const std::string verdict = demand > 1              ? "the cluster is " + style.warn("past its memory")
                                : still_rising(numbers) ? style.warn("still rising, no steady state")
                                                        : "the cluster is " + style.good("within its memory");
    text += line("KV demand", fmt::format("{:.2f} x the pool, peak {:.2f}: {}", demand, numbers.value("kv_demand_peak"), verdict));
    for (const metrics::Series& series : numbers.results().series) {
      if (series.name != "kv_demand_series") continue;
      const std::vector<double> values = inside_window(series, numbers.results());
      if (values.size() < 2) continue;
      text += line("", style.spark(thin(values, 60), *std::max_element(values.begin(), values.end())));
    }
  }
  if (numbers.has("prefix_hit_rate")) {
    std::string hits = fmt::format("{} of prompt tokens found in the cache", percent(numbers.value("prefix_hit_rate")));
    if (numbers.has("hit_rate_ceiling"))
      hits += fmt::format(" ({} had been computed before by their session)", percent(numbers.value("hit_rate_ceiling")));
    text += line("prefix cache", hits);
  }
  if (numbers.has("tier_hit_rate")) {
    std::string moved;
    for (const metrics::MetricValue& written : numbers.results().metrics)
      if (written.name == "tier_written_bytes")
        moved += fmt::format("; {}: {} down, {} up", written.label.substr(written.label.find('=') + 1),
                             show(Bytes(static_cast<std::int64_t>(written.value))),
                             show(Bytes(static_cast<std::int64_t>(numbers.value("tier_read_bytes", written.label)))));
    text += line("tiers", fmt::format("{} of prompt tokens came up from a tier{}", percent(numbers.value("tier_hit_rate")), moved));
  }
  if (const double again = numbers.value("recompute_tokens"); again > 0) {
    std::string causes;
    for (const auto& [label, words] :
         {std::pair{"cause=eviction", "evicted"}, {"cause=other_replica", "on another replica"}, {"cause=preemption", "preempted"}})
      if (const double part = numbers.value("recompute_tokens", label); part > 0)
        causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", percent(part / again), words);
    text += line("lost", fmt::format("{} computed again{}", shown(again, "tok"), causes.empty() ? "" : ": " + causes));
  }
  return text;
}

// What the time of the steps is made of, by labels of one kind, largest first; what is below half a percent is left out.
std::string shares(const Numbers& numbers, std::string_view kind) {
  std::vector<std::pair<double, std::string>> parts;
  for (const metrics::MetricValue& metric : numbers.results().metrics)
    if (metric.name == "step_time_share" && metric.label.starts_with(kind) && metric.value >= 0.005)
      parts.emplace_back(metric.value, metric.label.substr(kind.size()));
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [share, what] : parts) words.push_back(fmt::format("{:.0f} % {}", 100 * share, what));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string engine(const Told& told, const Numbers& numbers, const Style& style) {
  std::string text = "\n" + style.heading("Engines") + "\n";
  if (numbers.has("busy_share"))
    text += line("busy",
                 fmt::format("{} of the time; a step takes {} and holds {:.1f} sequences on average", percent(numbers.value("busy_share")),
                             shown(numbers.value("step_time"), "s"), numbers.value("batch_size")));
  text += line("throughput", fmt::format("{:.4g} calls/s, {} output tok/s, {} prompt tok/s", numbers.value("request_throughput"),
                                         count(numbers.value("output_token_throughput")), count(numbers.value("prompt_token_throughput"))));
  if (numbers.value("call_preemptions") > 0) text += line("preemptions", count(numbers.value("call_preemptions")));
  if (const std::string parts = shares(numbers, "component="); !parts.empty()) text += line("step time", parts);
  if (const std::string statuses = shares(numbers, "status="); !statuses.empty())
    text += line("rests on", statuses + " coefficients" +
                                 (told.run.calibration.empty() ? "" : " (calibration and host: " + told.run.calibration + ")"));
  return text;
}

std::string notes(const Told& told, const Numbers& numbers, const Style& style) {
  std::string text;
  const auto add = [&](const std::string& mark, const std::string& words) { text += "  " + mark + " " + wrap(words, kColumns, 4) + "\n"; };
  if (!told.run.quality_mark.empty()) add(style.warn("!"), "quality: " + told.run.quality_mark);
  if (const double refused = numbers.value("calls_refused"); refused > 0)
    add(style.warn("!"), count(refused) + " calls were refused: longer than the model or the memory allows");
  if (const double cut = numbers.value("sessions_cut"); cut > 0)
    add(style.warn("!"),
        fmt::format("{} of the {} measured sessions had not ended when the run {}; they are in no distribution{}", count(cut),
                    count(numbers.value("sessions_started")), was_interrupted(told) ? "was interrupted" : "did",
                    was_interrupted(told) ? "" : " (a longer run.drain waits for them)"));
  if (const double cut = numbers.value("calls_cut"); cut > 0)
    add(style.dim("-"), fmt::format("{} of the {} measured calls had not ended when the run {}", count(cut),
                                    count(numbers.value("calls_started")), was_interrupted(told) ? "was interrupted" : "did"));
  if (still_rising(numbers))
    add(style.warn("!"), fmt::format("the load was still rising: KV demand in the last fifth of the window was {:.2f} x that of its middle "
                                     "fifth, so a longer run gives other numbers (take less load, or start: stationary and a longer run)",
                                     numbers.value("kv_demand_trend")));
  for (const auto& [reason, words] : {std::pair{"shape", "a matrix, head or expert of a shape"},
                                      {"tokens", "a number of new tokens"},
                                      {"sequences", "a number of decoding sequences"},
                                      {"context", "a length of context"},
                                      {"prefix", "a cached prefix of a prompt"},
                                      {"ranks", "a number of ranks"}})
    if (const double share = numbers.value("steps_beyond_fit_share", fmt::format("reason={}", reason)); share >= 0.005)
      add(style.warn("!"), fmt::format("{} of the steps hold {} outside what their coefficients were fitted on", percent(share), words));
  for (const metrics::Note& note : told.results.notes) add(style.dim("-"), fmt::format("{}: {}", note.text, count(note.count)));
  return text.empty() ? text : "\n" + style.heading("To know") + "\n" + text;
}

std::string ending(const Told& told, const Style& style) {
  std::string text = "\n" + style.dim("fingerprint") + " " + told.results.fingerprint + "\n";
  if (told.stored.empty()) return text + style.dim("not stored") + "\n";
  text += told.stored + "\n";
  if (told.run.id == 0) return text;
  const std::string rows = told.run.detail < run::Detail::requests ? fmt::format("marea rerun {} --detail requests", told.run.id)
                                                                   : fmt::format("marea export {} --table request", told.run.id);
  text += style.dim("next") + fmt::format("  marea export {} --table ledger    {}", told.run.id, rows) + "\n";
  return text;
}

}  // namespace

std::string summary(const Told& told, const Style& style) {
  const Numbers numbers(told.results);
  const Tree scenario = parse_yaml(told.run.scenario, told.run.name);
  std::string text = head(told, scenario, style) + what_was_run(told, scenario, numbers) + sessions(scenario, numbers, style) +
                     latencies(numbers, style) + engine(told, numbers, style);
  for (const metrics::Ledger& ledger : told.results.ledgers)
    if (ledger.name == "time") text += "\n" + time_table(ledger, style);
  for (const metrics::Ledger& ledger : told.results.ledgers)
    if (ledger.name == "memory") text += "\n" + memory_ledger_table(ledger, style);
  text += "\n" + kv(numbers, style);
  if (!told.memory.rows.empty()) text += "\n" + memory_table(told.memory, style);
  return text + notes(told, numbers, style) + ending(told, style);
}

}  // namespace marea::cli
