// The one table of everything a run can say about itself: name, unit, population, definition. The store, `list metrics` and the
// documentation are made from it, and nothing that is not in it can be emitted.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace marea::metrics {

enum class Kind { value, share, distribution, series };  // a share lies between 0 and 1
enum class Better { smaller, larger, neither };
enum class Across { mean, sum };  // what combining replications does to a value; distributions are merged, series are not combined

struct Metric {
  std::string_view name;
  std::string_view unit;        // of the values; sketches of a metric in s hold ns
  std::string_view labels;      // what it is broken down by, beside the total
  std::string_view population;  // over what
  std::string_view definition;  // one sentence, with the divergences of the field
  Kind kind = Kind::value;
  Better better = Better::neither;
  Across across = Across::mean;
};

std::span<const Metric> catalogue();

// A distribution is emitted as one value for each of these, named "ttft_p95".
struct Statistic {
  std::string_view suffix;
  double quantile;  // < 0: not a quantile
};
inline constexpr std::array<Statistic, 6> kStatistics = {
    {{"mean", -1}, {"std", -1}, {"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}}};

// The metric behind an emitted name, "ttft_p95" included; nothing when there is none. `statistic` is null for a plain value or a series.
struct Found {
  const Metric* metric = nullptr;
  const Statistic* statistic = nullptr;
  explicit operator bool() const { return metric != nullptr; }
};
Found find(std::string_view emitted);

// The table as Markdown, for docs/metrics.md.
std::string catalogue_markdown();

}  // namespace marea::metrics
