// marea calibrate: kernel timings in, a device's calibration out, the errors of every fit on standard error.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "sim/base/text.h"
#include "sim/base/tree.h"
#include "sim/cost/fit/calibration.h"
#include "sim/cost/fit/public_tables.h"
#include "tools/commands.h"
#include "tools/shipped.h"
#include "tools/terminal.h"

namespace marea::cli {

namespace {

std::filesystem::path found(run::Kind kind, const std::string& name, const char* option) {
  const run::SearchPath path = search_path();
  if (const auto file = path.find(kind, name, ".")) return *file;
  throw UsageError(fmt::format("--{} {}: there is no such device{}", option, name, did_you_mean(name, path.names(kind))));
}

std::string table_of(const cost::Calibration& calibration) {
  std::string text = fmt::format("{:<34}{:>8}{:>8}   {:<24}{}\n", "fit", "rows", "shapes", "held out p50/p90/p99", "in sample");
  const auto errors = [](const spec::ErrorQuantiles& q) {
    return fmt::format("{:.1f} / {:.1f} / {:.0f} %", q.median * 100, q.p90 * 100, q.p99 * 100);
  };
  for (const cost::Block& block : calibration.blocks) {
    if (block.record.rows == 0) continue;
    text += fmt::format("{:<34}{:>8}{:>8}   {:<24}{}\n", block.law + " " + block.format, block.record.rows, block.record.shapes,
                        errors(block.record.held_out), errors(block.record.in_sample));
  }
  return text;
}

// The costs of a device that stands in for what was not measured.
Tree base_costs(const std::string& name) {
  Tree device = read_yaml(found(run::Kind::device, name, "base").string());
  Tree costs;
  costs.kind = Tree::Kind::map;
  if (const Tree* calibration = device.find("calibration"); calibration != nullptr && calibration->kind == Tree::Kind::scalar) {
    const Tree tree = read_yaml(found(run::Kind::calibration, calibration->text, "base").string());
    if (const Tree* fitted = tree.find("costs")) costs = *fitted;
  }
  if (const Tree* own = device.find("costs")) spec::lay_over(costs, *own);
  return costs;
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw StorageError(fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
}

}  // namespace

int calibrate_command(const Options& options) {
  if (options.device.empty()) throw UsageError("say what was measured: --device NAME, such as --device h100-sxm");
  const Tree tree = read_yaml(found(run::Kind::device, options.device, "device").string());
  const spec::Device device = spec::read_hardware(Value(tree, ""));
  cost::Timings timings;
  for (const std::string& file : options.words) cost::read_table(file, timings);
  for (const std::string& measured : timings.devices)
    if (measured != device.name) note(fmt::format("warning: rows of {} are fitted as those of {}", excerpt(measured), device.name));
  cost::Calibration calibration = cost::calibrate(timings, device, {options.words.front()});
  if (!options.base.empty()) cost::complete_from(calibration, base_costs(options.base), options.base);
  const std::string yaml = cost::to_yaml(calibration);
  note(table_of(calibration));
  if (options.out.empty())
    print(yaml);
  else
    write(options.out, yaml);
  return 0;
}

}  // namespace marea::cli
