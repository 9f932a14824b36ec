// What each command takes and how it is explained.
#include "tools/commands.h"

namespace marea::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      {"run", "SCENARIO", "simulate a scenario, store the run, print what came out",
       "SCENARIO is a YAML file or the name of a shipped one (\"marea list scenarios\").\n"
       "The run is stored whole or not at all. Running the same thing again checks that\n"
       "the same result comes out.\n",
       "  marea run first-run\n"
       "  marea run first-run --set serving.sequences=8\n"
       "  marea run my.yaml --replications 8 -j 4 --detail requests --db my.sqlite\n"
       "  marea show last --format json | jq '.metrics[] | select(.name == \"ttft_p95\")'\n",
       takes::settings | takes::seed | takes::replications | takes::detail | takes::db | takes::format | takes::progress, 1, 1,
       run_command},
      {"check", "SCENARIO", "resolve a scenario and say whether it fits",
       "Prints the complete scenario: every file spliced in, every default written out.\n"
       "Running what it prints gives the same fingerprint. The account of memory and, as\n"
       "the last line, the verdict go to standard error.\n",
       "  marea check first-run\n"
       "  marea check first-run --set service.weights=fp8 > resolved.yaml\n",
       takes::settings | takes::format, 1, 1, check_command},
      {"calibrate", "TABLE...", "fit a device's cost laws to measured kernel times",
       "TABLE is a CSV of kernel timings, plain or gzip, as marea-probe writes it, or a\n"
       "public table (docs/calibration.md). The device gives peak rates and bandwidth; what\n"
       "no table covers is left out, or taken from --base with status assumed. A device's\n"
       "file names the result under `calibration`. Without --out the result is printed.\n",
       "  marea calibrate timings.csv --device h100-sxm --out hardware/calibration/h100-sxm.yaml\n"
       "  marea calibrate gemm.csv.gz attention.csv.gz --device my-card --base l40s\n",
       takes::device | takes::format, 1, 1000, calibrate_command},
      {"list", "KIND", "what there is to choose from",
       "KIND is one of models, devices, nodes, engines, scenarios, metrics, schedulers,\n"
       "routers, traces. On a terminal long texts are wrapped; in a pipe each row is one\n"
       "line. With --format csv or json every name under which a metric is stored has a\n"
       "row of its own (ttft_mean, ttft_p95, ...), with its definition.\n",
       "  marea list models\n"
       "  marea list metrics --format json\n",
       takes::format, 1, 1, list_command},
      {"runs", "", "the runs in the store", "Newest last.\n",
       "  marea runs\n"
       "  marea runs --db my.sqlite --format csv\n",
       takes::db | takes::format, 0, 0, runs_command},
      {"show", "RUN", "print a stored run again",
       "RUN is an id, the first digits of a key or fingerprint, the name of a scenario\n"
       "(its newest run) or \"last\".\n",
       "  marea show last\n"
       "  marea show 3 --format json\n",
       takes::db | takes::format, 0, 1, show_command},
      {"rerun", "RUN", "simulate a stored run again and compare the fingerprint",
       "Uses the scenario, seed and replication kept with the run. More detail replaces\n"
       "the stored rows.\n",
       "  marea rerun last\n"
       "  marea rerun 3 --detail requests\n",
       takes::db | takes::detail | takes::format | takes::progress, 0, 1, rerun_command},
      {"export", "RUN", "the rows of a stored run as CSV or JSON",
       "--table is one of metric, ledger, series, sketch, note, account, session,\n"
       "request, step. Sessions, requests and steps are there when the run was made with\n"
       "that --detail.\n",
       "  marea export last --table request > requests.csv\n"
       "  marea export 3 --table ledger --format json\n",
       takes::db | takes::what | takes::format, 0, 1, export_command},
  };
  return table;
}

}  // namespace marea::cli
