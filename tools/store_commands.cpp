// marea runs, show, rerun, export: reading the store back.
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "sim/base/quantity.h"
#include "sim/base/text.h"
#include "sim/run/simulate.h"
#include "tools/commands.h"
#include "tools/document.h"
#include "tools/interrupt.h"
#include "tools/perform.h"
#include "tools/rows.h"
#include "tools/shipped.h"
#include "tools/terminal.h"
#include "tools/words.h"

namespace marea::cli {

namespace {

run::Store open_store(const Options& options, run::Store::Mode mode) {
  if (options.db == ":memory:") throw UsageError("--db :memory: holds no runs to read; name a store");
  return run::Store(options.db, mode, std::chrono::seconds(30), [file = options.db] { note_waiting(file); });
}

std::string which(const Options& options) { return options.words.empty() ? "last" : options.words.front(); }

std::string date(std::int64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
  return text;
}

// "capacity=1.5x, replicas=2": the last step of each path, and no more than fits a column.
std::string changes(const std::vector<std::string>& settings) {
  constexpr std::size_t kLongest = 32;
  std::string text;
  for (const std::string& setting : settings) {
    const std::string path = setting.substr(0, setting.find('='));
    const std::size_t step = path.find_last_of(".[");
    if (!text.empty()) text += ", ";
    text += step == std::string::npos ? setting : setting.substr(step + 1);
  }
  text = excerpt(text, 4 * kLongest);
  return text.size() > kLongest ? text.substr(0, kLongest - 3) + "..." : text;
}

// All of them in one cell, for machines.
std::string joined_settings(const std::vector<std::string>& settings) { return fmt::format("{}", fmt::join(settings, "\n")); }

// What a second run says about the first.
std::string verdict(const run::RunRecord& before, const Told& told) {
  if (before.status != "done")
    return fmt::format("was interrupted, so there is nothing to compare; this one went to its end, fingerprint {}",
                       told.results.fingerprint);
  if (told.results.fingerprint == before.fingerprint) return "same fingerprint " + before.fingerprint;
  return fmt::format("was {}, is {}", before.fingerprint, told.results.fingerprint);
}

nlohmann::json cell_value(const run::Store::Cell& cell) {
  using Type = run::Store::Cell::Type;
  switch (cell.type) {
    case Type::null:
      return nullptr;
    case Type::integer:
      return std::stoll(cell.text);
    case Type::real:
      return std::stod(cell.text);
    case Type::text:
      return cell.text;
  }
  return nullptr;
}

}  // namespace

int runs_command(const Options& options) {
  run::Store store = open_store(options, run::Store::Mode::read);
  const bool brief = options.format == Format::table;
  RowPrinter rows(options.format,
                  brief ? std::vector<std::string>{"id", "name", "started (UTC)", "seed", "rep", "detail", "took", "fingerprint", "changed"}
                        : std::vector<std::string>{"id", "key", "name", "status", "started_ns", "wall_ns", "version", "commit", "seed",
                                                   "replication", "detail", "load_mode", "quality_mark", "fingerprint", "settings"});
  for (const run::RunRecord& run : store.runs()) {
    if (brief)
      rows.row({run.id, run.status == "done" ? run.name : run.name + " (interrupted)", date(run.started), run.seed, run.replication,
                run::name(run.detail), show(Duration(run.wall)), run.fingerprint.substr(0, 8), changes(run.settings)});
    else
      rows.row({run.id, run.key, run.name, run.status, run.started, run.wall, run.version, run.commit, run.seed, run.replication,
                run::name(run.detail), run.load_mode, run.quality_mark, run.fingerprint, joined_settings(run.settings)});
  }
  rows.end();
  return 0;
}

int show_command(const Options& options) {
  run::Store store = open_store(options, run::Store::Mode::read);
  Told told;
  told.run = store.find(which(options));
  told.results = store.results(told.run.id);
  told.memory = store.memory(told.run.id);
  told.stored = fmt::format("run {} of {}, made {} UTC by marea {} ({})", told.run.id, options.db, date(told.run.started), told.run.version,
                            told.run.commit);
  switch (options.format) {
    case Format::table:
      print(summary(told, Style(options.color)));
      break;
    case Format::json:
      print(document(told).dump(2) + "\n");
      break;
    case Format::csv:
      print(metrics_csv(told.results));
      break;
  }
  return 0;
}

int rerun_command(const Options& asked) {
  Options options = asked;
  const run::RunRecord before = open_store(options, run::Store::Mode::read).find(which(options));
  const run::Scenario scenario =
      run::Scenario::load({fmt::format("run {} of {}", before.id, options.db), {}, before.scenario}, search_path());
  options.settings = before.settings;  // they are in the scenario already, and stay known
  const Performed performed = perform(scenario, before.seed, before.replication, 1, options);
  if (performed.interrupted) {
    note("interrupted before the end; there is nothing to compare");
    return kInterrupted;
  }
  const Told& told = performed.runs.front();
  const bool same = told.results.fingerprint == before.fingerprint;
  const bool comparable = before.status == "done";
  if (options.format == Format::json) {
    nlohmann::ordered_json json = document(told);
    json["rerun_of"] = before.id;
    json["same"] = comparable ? nlohmann::ordered_json(same) : nlohmann::ordered_json(nullptr);
    print(json.dump(2) + "\n");
  } else if (options.format == Format::csv) {
    print(metrics_csv(told.results));
  } else {
    print(fmt::format("run {} of {}: {}\n{}\n", before.id, options.db, verdict(before, told),
                      told.stored.empty() ? "not stored" : told.stored));
  }
  flush_output();
  if (!performed.not_stored.empty()) throw StorageError(performed.not_stored);
  if (same || !comparable) return 0;
  if (before.version != told.run.version || before.commit != told.run.commit) {
    note(fmt::format(
        "the run was made by marea {} ({}), this is {} ({}): another version may give another result; see CHANGES.md, Changed results",
        before.version, before.commit, told.run.version, told.run.commit));
    return 3;
  }
  throw InternalError("the same run gave another fingerprint");
}

int export_command(const Options& options) {
  run::Store store = open_store(options, run::Store::Mode::read);
  const run::RunRecord run = store.find(which(options));
  std::optional<RowPrinter> rows;
  std::int64_t count = 0;
  const Format format = options.format == Format::table ? Format::csv : options.format;
  store.rows(
      options.what, run.id, [&](const std::vector<std::string>& columns) { rows.emplace(format, columns); },
      [&](const std::vector<run::Store::Cell>& cells) {
        std::vector<nlohmann::json> values;
        for (const run::Store::Cell& cell : cells) values.push_back(cell_value(cell));
        rows->row(values);
        ++count;
      });
  rows->end();
  const bool by_detail = options.what == "session" || options.what == "request" || options.what == "step";
  if (count == 0 && by_detail)
    note(fmt::format("run {} was made with --detail {}, which keeps no {} rows; marea rerun {} --detail {}s adds them", run.id,
                     run::name(run.detail), options.what, run.id, options.what));
  return 0;
}

}  // namespace marea::cli
