#include "sim/metrics/report.h"

#include <algorithm>
#include <limits>

#include "sim/metrics/catalogue.h"

namespace marea::metrics {

namespace {

const Metric& expect(std::string_view name, Kind kind) {
  for (const Metric& metric : catalogue())
    if (metric.name == name) {
      check((metric.kind == Kind::share ? Kind::value : metric.kind) == kind,
            "a metric was emitted as something other than the catalogue says");
      return metric;
    }
  check(false, "a metric was emitted that is not in the catalogue");
  return catalogue().front();
}

}  // namespace

double sketch_scale(std::string_view unit) { return unit == "s" ? 1e-9 : 1; }

double statistic_of(const Sketch& sketch, std::string_view suffix, double scale) {
  if (suffix == "mean") return sketch.mean() * scale;
  if (suffix == "std") return sketch.deviation() * scale;
  for (const Statistic& statistic : kStatistics)
    if (statistic.suffix == suffix) return sketch.quantile(statistic.quantile) * scale;
  check(false, "an unknown statistic");
  return std::numeric_limits<double>::quiet_NaN();
}

void Report::value(std::string_view name, std::string label, double value, std::int64_t samples) {
  expect(name, Kind::value);
  results_.metrics.push_back({std::string(name), std::move(label), value, {}, {}, samples});
}

void Report::ratio(std::string_view name, std::string label, double numerator, double denominator, std::int64_t samples) {
  expect(name, Kind::value);
  if (denominator > 0) value(name, std::move(label), numerator / denominator, samples);
}

void Report::distribution(std::string_view name, std::string label, const Sketch& sketch) {
  const Metric& metric = expect(name, Kind::distribution);
  if (sketch.count() == 0) return;
  const double scale = sketch_scale(metric.unit);
  for (const Statistic& statistic : kStatistics)
    results_.metrics.push_back({std::string(name) + "_" + std::string(statistic.suffix),
                                label,
                                statistic_of(sketch, statistic.suffix, scale),
                                {},
                                {},
                                sketch.count()});
  results_.sketches.push_back(sketch.data(std::string(name), std::move(label)));
}

void Report::series(std::string_view name, std::string label, std::vector<SeriesPoint> points) {
  expect(name, Kind::series);
  results_.series.push_back({std::string(name), std::move(label), std::move(points)});
}

void Report::ledger(Ledger ledger) {
  check_sum(ledger);
  results_.ledgers.push_back(std::move(ledger));
}

Results Report::take() {
  sort_by_catalogue(results_);
  return std::move(results_);
}

void check_sum(const Ledger& ledger) {
  std::int64_t sum = 0;
  for (const LedgerRow& row : ledger.rows) sum += row.value;
  check(sum == ledger.total, "the parts of a ledger do not sum to its total");
}

void sort_by_catalogue(Results& results) {
  const auto place = [](std::string_view name) {
    const auto by_name = [&](std::string_view wanted) {
      return std::find_if(catalogue().begin(), catalogue().end(), [&](const Metric& metric) { return metric.name == wanted; }) -
             catalogue().begin();
    };
    const Found found = find(name);
    return found ? found.metric - catalogue().data() : by_name(name);
  };
  std::stable_sort(results.metrics.begin(), results.metrics.end(),
                   [&](const MetricValue& a, const MetricValue& b) { return place(a.name) < place(b.name); });
  std::stable_sort(results.sketches.begin(), results.sketches.end(),
                   [&](const SketchData& a, const SketchData& b) { return place(a.name) < place(b.name); });
}

}  // namespace marea::metrics
