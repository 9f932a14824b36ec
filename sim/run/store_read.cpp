// Reading runs back from a store: by id, key, fingerprint or name, and row by row for export.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/base/tree.h"
#include "sim/run/store.h"

namespace marea::run {

namespace {

constexpr std::string_view kRunColumns =
    "id, coalesce(key, ''), name, status, started, wall, version, commit_id, seed, replication, study, point, fingerprint, load_mode, "
    "quality_mark, calibration, machine, detail, settings";

RunRecord read_run(const Statement& row) {
  RunRecord run;
  run.id = row.integer(0);
  run.key = row.text(1);
  run.name = row.text(2);
  run.status = row.text(3);
  run.started = row.integer(4);
  run.wall = row.integer(5);
  run.version = row.text(6);
  run.commit = row.text(7);
  run.seed = static_cast<std::uint64_t>(row.integer(8));
  run.replication = static_cast<int>(row.integer(9));
  run.study = row.text(10);
  run.point = row.text(11);
  run.fingerprint = row.text(12);
  run.load_mode = row.text(13);
  run.quality_mark = row.text(14);
  run.calibration = row.text(15);
  run.machine = row.text(16);
  const std::string detail = row.text(17);
  for (const Detail known : {Detail::summary, Detail::sessions, Detail::requests, Detail::steps})
    if (name(known) == detail) run.detail = known;
  run.settings = settings_of(row.text(18));
  return run;
}

[[noreturn]] void no_such_run(std::string_view which, const std::vector<RunRecord>& runs, const std::string& file) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) names.push_back(run.name);
  const std::string near = nearest(which, names);
  throw ConfigError(
      {}, {},
      fmt::format("no run \"{}\" in {}{}; give an id, the first digits of a key or fingerprint, the name of a scenario, or \"last\"", which,
                  file, near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)));
}

}  // namespace

std::vector<std::string> settings_of(const std::string& column) {
  const nlohmann::json settings = nlohmann::json::parse(column, nullptr, false);
  std::vector<std::string> texts;
  for (const nlohmann::json& setting : settings)
    if (setting.is_string()) texts.push_back(setting);
  return texts;
}

std::vector<RunRecord> Store::runs() {
  std::vector<RunRecord> runs;
  Statement select(database_, fmt::format("SELECT {} FROM run ORDER BY id", kRunColumns));
  while (select.step()) runs.push_back(read_run(select));
  return runs;
}

RunRecord Store::find(std::string_view which) {
  const std::vector<RunRecord> all = runs();
  const auto with_text = [&](RunRecord run) {
    Statement select(database_, "SELECT scenario FROM run WHERE id = ?");
    select.bind(0, run.id);
    if (select.step()) run.scenario = select.text(0);
    return run;
  };
  if (all.empty()) throw ConfigError({}, {}, file() + " holds no runs yet; \"marea run SCENARIO\" stores one");
  if (which == "last") return with_text(all.back());
  for (const RunRecord& run : all)
    if (std::to_string(run.id) == which) return with_text(run);
  for (auto run = all.rbegin(); run != all.rend(); ++run)
    if (run->name == which) return with_text(*run);
  std::vector<RunRecord> matches;
  if (which.size() >= 4)
    for (const RunRecord& run : all)
      if (run.key.starts_with(which) || run.fingerprint.starts_with(which)) matches.push_back(run);
  if (matches.empty()) no_such_run(which, all, file());
  if (matches.size() > 1)
    throw ConfigError({}, {},
                      fmt::format("{} runs in {} have a key or fingerprint that begins with \"{}\" (ids {} and {}); give an id",
                                  matches.size(), file(), which, matches[0].id, matches[1].id));
  return with_text(matches.front());
}

metrics::Results Store::results(std::int64_t run) {
  metrics::Results results;
  const auto optional = [](const Statement& row, int index) {
    return row.is_null(index) ? std::nullopt : std::optional<double>(row.number(index));
  };
  Statement metric(database_, "SELECT name, label, value, low, high, samples FROM metric WHERE run = ?");
  for (metric.bind(0, run); metric.step();)
    results.metrics.push_back(
        {metric.text(0), metric.text(1), metric.number(2), optional(metric, 3), optional(metric, 4), metric.integer(5)});
  Statement ledger(database_, "SELECT ledger, unit, owner, cause, value FROM ledger WHERE run = ? ORDER BY ledger DESC, owner, cause");
  for (ledger.bind(0, run); ledger.step();) {
    if (results.ledgers.empty() || results.ledgers.back().name != ledger.text(0))
      results.ledgers.push_back({ledger.text(0), ledger.text(1), 0, {}});
    metrics::Ledger& book = results.ledgers.back();
    if (ledger.text(2).empty())
      book.total = ledger.integer(4);
    else
      book.rows.push_back({ledger.text(2), ledger.text(3), ledger.integer(4)});
  }
  Statement series(database_, "SELECT name, label, time, value FROM series WHERE run = ? ORDER BY name, label, time");
  for (series.bind(0, run); series.step();) {
    if (results.series.empty() || results.series.back().name != series.text(0) || results.series.back().label != series.text(1))
      results.series.push_back({series.text(0), series.text(1), {}});
    results.series.back().points.push_back({Time(Duration(series.integer(2))), series.number(3)});
  }
  Statement sketch(database_, "SELECT name, label, buckets, samples, sum, least, most FROM sketch WHERE run = ?");
  for (sketch.bind(0, run); sketch.step();) {
    metrics::SketchData data{sketch.text(0), sketch.text(1), {}, sketch.integer(3), sketch.number(4), sketch.number(5), sketch.number(6)};
    try {
      nlohmann::json::parse(sketch.text(2)).get_to(data.buckets);
    } catch (const nlohmann::json::exception&) {
      throw StorageError(
          fmt::format("{}: the sketch {} of run {} cannot be read; the store was changed or is damaged", file(), data.name, run));
    }
    results.sketches.push_back(std::move(data));
  }
  Statement note(database_, "SELECT text, count FROM note WHERE run = ? ORDER BY number");
  for (note.bind(0, run); note.step();) results.notes.push_back({note.text(0), note.integer(1)});
  Statement head(database_, "SELECT fingerprint, load_mode, window_start, window_end FROM run WHERE id = ?");
  head.bind(0, run);
  if (head.step()) {
    results.fingerprint = head.text(0);
    results.load_mode = head.text(1);
    results.window_start = kStart + Duration(head.integer(2));
    results.window_end = kStart + Duration(head.integer(3));
  }
  return results;
}

MemoryReport Store::memory(std::int64_t run) {
  MemoryReport memory;
  Statement account(database_, "SELECT pool, item, bytes, status FROM account WHERE run = ? ORDER BY number");
  for (account.bind(0, run); account.step();)
    memory.rows.push_back({account.text(0), account.text(1), account.integer(2), account.text(3)});
  return memory;
}

const std::vector<std::string>& Store::tables() {
  static const std::vector<std::string> tables{"metric", "ledger", "series", "sketch", "note", "account", "session", "request", "step"};
  return tables;
}

void Store::rows(std::string_view table, std::int64_t run, const std::function<void(const std::vector<std::string>&)>& header,
                 const std::function<void(const std::vector<Cell>&)>& row) {
  check(std::find(tables().begin(), tables().end(), table) != tables().end(), "export of a table that is not there");
  Statement select(database_, fmt::format("SELECT * FROM {} WHERE run = ?", table));
  select.bind(0, run);
  std::vector<std::string> names;
  for (int i = 0; i < select.columns(); ++i) names.push_back(select.column_name(i));
  header(names);
  std::vector<Cell> cells(names.size());
  while (select.step()) {
    for (int i = 0; i < select.columns(); ++i) {
      Cell& cell = cells[static_cast<std::size_t>(i)];
      cell.type = select.is_null(i)      ? Cell::Type::null
                  : select.is_integer(i) ? Cell::Type::integer
                  : select.is_text(i)    ? Cell::Type::text
                                         : Cell::Type::real;
      cell.text = cell.type == Cell::Type::real ? fmt::format("{}", select.number(i)) : select.text(i);
    }
    row(cells);
  }
}

}  // namespace marea::run
