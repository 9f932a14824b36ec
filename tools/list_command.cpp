// marea list: what there is to choose from, each from the place that knows it.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "sim/base/tree.h"
#include "sim/metrics/catalogue.h"
#include "sim/run/plugins.h"
#include "tools/commands.h"
#include "tools/rows.h"
#include "tools/shipped.h"
#include "tools/terminal.h"

namespace marea::cli {

namespace {

// Names of YAML files and what they say about themselves. A file that cannot be read says why; the others are listed all the same.
void list_files(run::Kind kind, Format format) {
  const run::SearchPath path = search_path();
  const std::vector<std::string> names = path.names(kind);
  if (names.empty()) throw StorageError(fmt::format("there are no {}: {}", run::folder(kind), path.places(kind)));
  RowPrinter rows(format, {"name", "about"});
  for (const std::string& name : names) {
    std::string about;
    try {
      const Tree tree = read_yaml(path.find(kind, name, ".")->string());
      if (const Tree* text = tree.find("about"); text != nullptr) about = text->text;
    } catch (const ConfigError& error) {
      about = error.what();
    }
    rows.row({name, about});
  }
  rows.end();
}

void list_metrics(Format format) {
  if (format == Format::table) {
    RowPrinter rows(format, {"name", "unit", "by", "over"});
    for (const metrics::Metric& metric : metrics::catalogue())
      rows.row({std::string(metric.name) + (metric.kind == metrics::Kind::distribution ? "_*" : ""), metric.unit, metric.labels,
                metric.population});
    rows.end();
    std::string statistics;
    for (const metrics::Statistic& statistic : metrics::kStatistics) statistics += fmt::format(" {}", statistic.suffix);
    print(fmt::format("\n_* stands for each of:{}; so ttft_p95 is a name. Names that end in _series are series.\n", statistics));
    return;
  }
  RowPrinter rows(format, {"name", "unit", "by", "over", "definition"});
  for (const metrics::Metric& metric : metrics::catalogue()) {
    const auto add = [&](const std::string& name) { rows.row({name, metric.unit, metric.labels, metric.population, metric.definition}); };
    if (metric.kind != metrics::Kind::distribution)
      add(std::string(metric.name));
    else
      for (const metrics::Statistic& statistic : metrics::kStatistics) add(fmt::format("{}_{}", metric.name, statistic.suffix));
  }
  rows.end();
}

template <class Table>
void list_plugins(const Table& table, Format format) {
  RowPrinter rows(format, {"name", "about"});
  for (const auto& plugin : table) rows.row({plugin.name, plugin.summary});
  rows.end();
}

}  // namespace

int list_command(const Options& options) {
  const Format format = options.format;
  const std::vector<std::pair<std::string, std::function<void()>>> kinds{
      {"models", [=] { list_files(run::Kind::model, format); }},        {"devices", [=] { list_files(run::Kind::device, format); }},
      {"nodes", [=] { list_files(run::Kind::node, format); }},          {"engines", [=] { list_files(run::Kind::engine, format); }},
      {"scenarios", [=] { list_files(run::Kind::scenario, format); }},  {"metrics", [=] { list_metrics(format); }},
      {"schedulers", [=] { list_plugins(run::schedulers(), format); }}, {"traces", [=] { list_plugins(run::trace_formats(), format); }},
      {"routers", [=] { list_plugins(run::routers(), format); }},
  };
  std::vector<std::string> names;
  for (const auto& [name, list] : kinds) {
    if (name == options.words.front()) {
      list();
      return 0;
    }
    names.push_back(name);
  }
  const std::string near = nearest(options.words.front(), names);
  throw UsageError(fmt::format("there is no list of {}; there are {}{}", options.words.front(), fmt::join(names, ", "),
                               near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace marea::cli
