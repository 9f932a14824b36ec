// marea run: simulate, store, print.
#include <fmt/format.h>

#include <algorithm>

#include "sim/metrics/combine.h"
#include "tools/commands.h"
#include "tools/document.h"
#include "tools/interrupt.h"
#include "tools/perform.h"
#include "tools/terminal.h"

namespace marea::cli {

namespace {

// Several replications as one: distributions merged, values with their intervals.
Told combined(const std::vector<Told>& runs, const std::string& db) {
  Told told;
  told.run = runs.front().run;
  told.run.id = 0;
  told.memory = runs.front().memory;
  std::vector<metrics::Results> results;
  for (const Told& one : runs) {
    results.push_back(one.results);
    told.run.wall += &one == &runs.front() ? 0 : one.run.wall;
  }
  told.results = metrics::combine(results);
  told.results.window_start = results.front().window_start;
  for (const metrics::Results& one : results) told.results.window_end = std::max(told.results.window_end, one.window_end);
  told.replications = static_cast<int>(runs.size());
  std::int64_t last = 0;
  for (const Told& one : runs) last = std::max(last, one.run.id);
  if (last != 0) told.stored = fmt::format("replications stored as runs {} to {} in {}", runs.front().run.id, last, db);
  return told;
}

void print_all(const std::vector<Told>& runs, const Options& options) {
  const bool several = runs.size() > 1;
  switch (options.format) {
    case Format::table:
      print(summary(several ? combined(runs, options.db) : runs.front(), Style(options.color)));
      break;
    case Format::csv:
      print(metrics_csv(several ? combined(runs, options.db).results : runs.front().results));
      break;
    case Format::json: {
      nlohmann::ordered_json json = document(several ? combined(runs, options.db) : runs.front());
      if (several) {
        json["runs"] = nlohmann::ordered_json::array();
        for (const Told& told : runs) json["runs"].push_back(document(told));
      }
      print(json.dump(2) + "\n");
      break;
    }
  }
}

}  // namespace

int run_command(const Options& options) {
  const run::Scenario scenario = load_scenario(options.words.front(), options.settings);
  const Performed performed = perform(scenario, options.seed.value_or(scenario.seed()), 0, options.replications, options);
  if (!performed.runs.empty()) print_all(performed.runs, options);
  flush_output();
  const auto stored = std::count_if(performed.runs.begin(), performed.runs.end(), [](const Told& told) { return told.run.id != 0; });
  if (performed.interrupted)
    note(performed.runs.empty() ? "interrupted; nothing had finished, nothing is stored"
                                : fmt::format("interrupted; {} of {} runs stored", stored, options.replications));
  if (!performed.not_stored.empty()) throw StorageError(performed.not_stored);
  return performed.interrupted ? kInterrupted : 0;
}

}  // namespace marea::cli
