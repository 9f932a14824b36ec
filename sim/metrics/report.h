// Where observers put their numbers. Refuses what the catalogue does not know and brings everything into the order of the catalogue.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics/results.h"
#include "sim/metrics/sketch.h"

namespace marea::metrics {

class Report {
 public:
  // A value under `name`, which must be a value or a share of the catalogue.
  void value(std::string_view name, std::string label, double value, std::int64_t samples);
  // numerator / denominator; nothing when the denominator is 0.
  void ratio(std::string_view name, std::string label, double numerator, double denominator, std::int64_t samples);
  // The statistics of a distribution and its sketch; nothing when it is empty. Of a metric in seconds the sketch holds nanoseconds.
  void distribution(std::string_view name, std::string label, const Sketch& sketch);
  void series(std::string_view name, std::string label, std::vector<SeriesPoint> points);
  void ledger(Ledger ledger);

  // Everything, metrics and sketches in the order of the catalogue (of one metric: in the order of emission).
  Results take();

 private:
  Results results_;
};

// Factor from what a sketch of this unit holds to the unit.
double sketch_scale(std::string_view unit);

// One statistic of a distribution in the unit of its metric.
double statistic_of(const Sketch& sketch, std::string_view suffix, double scale);

// Throws InternalError when the rows do not sum to the total.
void check_sum(const Ledger& ledger);

// Sorts metrics and sketches into the order of the catalogue, keeping the order among rows of one metric.
void sort_by_catalogue(Results& results);

}  // namespace marea::metrics
