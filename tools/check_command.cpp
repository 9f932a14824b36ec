// marea check: the resolved scenario on standard output, the account of memory on standard error; nothing is simulated.
#include <nlohmann/json.hpp>

#include "sim/run/simulate.h"
#include "tools/commands.h"
#include "tools/memory_table.h"
#include "tools/perform.h"
#include "tools/terminal.h"

namespace marea::cli {

int check_command(const Options& options) {
  const run::Scenario scenario = load_scenario(options.words.front(), options.settings);
  if (options.format == Format::csv) throw UsageError("--format csv: check prints YAML (table) or json");
  if (options.format == Format::table) {
    print(scenario.resolved());
    flush_output();
  }
  run::require_fit(scenario);
  const run::MemoryReport memory = run::memory_report(scenario);
  if (options.format == Format::table) {
    note(memory_table(memory, Style::plain()) + "\n" + run::fit_verdict(scenario));
    return 0;
  }
  nlohmann::ordered_json json{{"name", scenario.name()}, {"fits", true}, {"scenario", scenario.resolved()}};
  for (const run::MemoryRow& row : memory.rows)
    json["memory"].push_back({{"pool", row.pool}, {"item", row.item}, {"bytes", row.bytes}, {"status", row.status}});
  print(json.dump(2) + "\n");
  return 0;
}

}  // namespace marea::cli
