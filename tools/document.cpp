// Results as JSON and CSV. Numbers keep every digit that matters; a value that is not finite becomes null.
#include "tools/document.h"

#include <fmt/format.h>

#include "tools/words.h"

namespace marea::cli {

using Json = nlohmann::ordered_json;

namespace {

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json about(const run::RunRecord& run) {
  Json json;
  if (run.id != 0) json["id"] = run.id;
  json["name"] = run.name;
  json["status"] = run.status;
  json["key"] = run.key;
  json["fingerprint"] = run.fingerprint;
  json["load_mode"] = run.load_mode;
  json["quality_mark"] = run.quality_mark;
  json["calibration"] = run.calibration;
  json["version"] = run.version;
  json["commit"] = run.commit;
  json["settings"] = run.settings;
  json["seed"] = run.seed;
  json["replication"] = run.replication;
  json["detail"] = run::name(run.detail);
  json["started_ns"] = run.started;
  json["wall_ns"] = run.wall;
  json["machine"] = run.machine;
  return json;
}

}  // namespace

Json document(const Told& told) {
  Json json;
  json["run"] = about(told.run);
  if (told.replications > 1) json["replications"] = told.replications;
  json["window"] = {{"start_ns", since_start(told.results.window_start).count()}, {"end_ns", since_start(told.results.window_end).count()}};
  Json& metrics = json["metrics"] = Json::array();
  for (const metrics::MetricValue& value : told.results.metrics)
    metrics.push_back({{"name", value.name},
                       {"label", value.label},
                       {"unit", metric_text(value.name).unit},
                       {"value", value.value},
                       {"low", optional(value.low)},
                       {"high", optional(value.high)},
                       {"samples", value.samples}});
  Json& ledgers = json["ledgers"] = Json::array();
  for (const metrics::Ledger& ledger : told.results.ledgers) {
    Json rows = Json::array();
    for (const metrics::LedgerRow& row : ledger.rows) rows.push_back({{"owner", row.owner}, {"cause", row.cause}, {"value", row.value}});
    ledgers.push_back({{"name", ledger.name}, {"unit", ledger.unit}, {"total", ledger.total}, {"rows", rows}});
  }
  Json& account = json["memory"] = Json::array();
  for (const run::MemoryRow& row : told.memory.rows)
    account.push_back({{"pool", row.pool}, {"item", row.item}, {"bytes", row.bytes}, {"status", row.status}});
  Json& notes = json["notes"] = Json::array();
  for (const metrics::Note& note : told.results.notes) notes.push_back({{"text", note.text}, {"count", note.count}});
  return json;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string metrics_csv(const metrics::Results& results) {
  std::string text = "name,label,unit,value,low,high,samples\n";
  const auto optional = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : std::string(); };
  for (const metrics::MetricValue& value : results.metrics)
    text += fmt::format("{},{},{},{},{},{},{}\n", value.name, csv_field(value.label), metric_text(value.name).unit, value.value,
                        optional(value.low), optional(value.high), value.samples);
  return text;
}

}  // namespace marea::cli
