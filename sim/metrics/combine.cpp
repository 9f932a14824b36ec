#include "sim/metrics/combine.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "sim/metrics/catalogue.h"
#include "sim/metrics/fingerprint.h"
#include "sim/metrics/report.h"
#include "sim/metrics/sketch.h"

namespace marea::metrics {

namespace {

using Key = std::pair<std::string, std::string>;  // name, label

// Half the width of the t interval of a mean. Requires two values or more.
double half_width(const std::vector<double>& values, double confidence) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const boost::math::students_t distribution(count - 1);
  return boost::math::quantile(distribution, (1 + confidence) / 2) * std::sqrt(squares / (count - 1) / count);
}

// One emitted metric in all replications that have it.
struct Gathered {
  std::vector<double> values;
  std::int64_t samples = 0;
};

MetricValue combine_value(const Key& key, const Gathered& gathered, const std::map<Key, Sketch>& sketches, double confidence) {
  const Found found = find(key.first);
  check(static_cast<bool>(found), "replications hold a metric that is not in the catalogue");
  MetricValue combined{key.first, key.second, 0, {}, {}, gathered.samples};
  const auto count = static_cast<double>(gathered.values.size());
  const bool sum = found.metric->across == Across::sum;
  if (found.statistic != nullptr) {
    combined.value =
        statistic_of(sketches.at({std::string(found.metric->name), key.second}), found.statistic->suffix, sketch_scale(found.metric->unit));
  } else {
    for (const double value : gathered.values) combined.value += sum ? value : value / count;
  }
  if (gathered.values.size() < 2) return combined;
  const double width = half_width(gathered.values, confidence) * (sum ? count : 1);
  // No metric can be negative and no share above 1, though a t interval knows nothing of that.
  combined.low = std::max(0.0, combined.value - width);
  combined.high = combined.value + width;
  if (found.metric->kind == Kind::share) combined.high = std::min(1.0, *combined.high);
  return combined;
}

std::vector<Ledger> sum_ledgers(const std::vector<Results>& replications) {
  std::vector<Ledger> sums;
  for (const Results& results : replications)
    for (const Ledger& ledger : results.ledgers) {
      auto sum = std::find_if(sums.begin(), sums.end(), [&](const Ledger& other) { return other.name == ledger.name; });
      if (sum == sums.end()) sum = sums.insert(sums.end(), {ledger.name, ledger.unit, 0, {}});
      sum->total += ledger.total;
      for (const LedgerRow& row : ledger.rows) {
        const auto same = std::find_if(sum->rows.begin(), sum->rows.end(),
                                       [&](const LedgerRow& other) { return other.owner == row.owner && other.cause == row.cause; });
        if (same == sum->rows.end()) {
          sum->rows.push_back(row);
        } else {
          same->value += row.value;
        }
      }
    }
  for (const Ledger& ledger : sums) check_sum(ledger);
  return sums;
}

std::vector<Note> sum_notes(const std::vector<Results>& replications) {
  std::vector<Note> sums;
  for (const Results& results : replications)
    for (const Note& note : results.notes) {
      const auto same = std::find_if(sums.begin(), sums.end(), [&](const Note& other) { return other.text == note.text; });
      if (same == sums.end()) {
        sums.push_back(note);
      } else {
        same->count += note.count;
      }
    }
  return sums;
}

}  // namespace

Results combine(const std::vector<Results>& replications, double confidence) {
  check(!replications.empty(), "no replications to combine");
  if (replications.size() == 1) return replications.front();
  std::vector<Key> order;  // of first appearance, which is that of the catalogue within one replication
  std::map<Key, Gathered> gathered;
  std::map<Key, Sketch> sketches;
  Results combined;
  std::vector<std::string> fingerprints;
  for (const Results& results : replications) {
    for (const MetricValue& metric : results.metrics) {
      const auto [row, is_new] = gathered.try_emplace({metric.name, metric.label});
      if (is_new) order.push_back(row->first);
      row->second.values.push_back(metric.value);
      row->second.samples += metric.samples;
    }
    for (const SketchData& sketch : results.sketches) sketches[{sketch.name, sketch.label}].merge(Sketch::from(sketch));
    fingerprints.push_back(results.fingerprint);
  }
  for (const Key& key : order) combined.metrics.push_back(combine_value(key, gathered.at(key), sketches, confidence));
  for (const auto& [key, sketch] : sketches) combined.sketches.push_back(sketch.data(key.first, key.second));
  combined.ledgers = sum_ledgers(replications);
  combined.series = replications.front().series;
  combined.notes = sum_notes(replications);
  combined.fingerprint = combined_fingerprint(fingerprints);
  combined.load_mode = replications.front().load_mode;
  sort_by_catalogue(combined);
  return combined;
}

}  // namespace marea::metrics
