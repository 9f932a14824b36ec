// Reading the command line with Boost.Program_options.
#include "kernels/options.h"

#include <fmt/format.h>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/program_options.hpp>
#include <charconv>
#include <sstream>
#include <vector>

namespace marea::probe {

namespace po = boost::program_options;

namespace {

po::options_description describe_options() {
  po::options_description out("options", 100, 60);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  out.add_options()("backend", text("KIND"), "host: this machine's CPU (the default); cuda: its GPU");
  out.add_options()("out", text("FILE"), "the CSV file to write; FILE.json beside it says on what and how it was measured");
  out.add_options()("budget", text("TIME"), "stop after this long, such as 90s or 8min (8min)");
  out.add_options()("operations", text("LIST"), "only these, such as gemm,decode_attention (all)");
  out.add_options()("formats", text("LIST"), "only these number formats, such as bf16,fp8 (all that the device supports)");
  out.add_options()("quick", "a handful of small cases, for trying out");
  out.add_options()("list", "print the cases and measure nothing");
  out.add_options()("check", "check the kernels against references on odd shapes and measure nothing");
  out.add_options()("resume", "keep the rows of FILE and measure only what is missing");
  out.add_options()("device", text("NAME"), "the name for the column `device`, instead of the one found");
  out.add_options()("seed", text("N"), "seed of the operands (drawn anew)");
  out.add_options()("file-folder", text("DIR"), "where file_read puts its file (the folder of FILE)");
  out.add_options()("quiet", "no line for each case");
  out.add_options()("help,h", "this text");
  return out;
}

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> out;
  boost::algorithm::split(out, list, boost::algorithm::is_any_of(","));
  return out;
}

std::set<Operation> read_operations(const std::string& list) {
  std::set<Operation> out;
  for (const std::string& name : items_of(list)) {
    const std::optional<Operation> operation = operation_named(name);
    if (!operation) {
      std::string names;
      for (const Operation one : all_operations()) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(one));
      throw UsageError(fmt::format("--operations: no operation is called '{}'; there are {}", name, names));
    }
    out.insert(*operation);
  }
  return out;
}

std::set<std::string> read_formats(const std::string& list) {
  std::set<std::string> out;
  for (const std::string& name : items_of(list)) {
    try {
      bytes_per_value(name);
    } catch (const std::invalid_argument&) {
      throw UsageError(fmt::format("--formats: no number format is called '{}'; there are fp32, bf16, fp16, fp8, int8, nvfp4", name));
    }
    out.insert(name);
  }
  return out;
}

std::uint64_t read_seed(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(fmt::format("--seed {}: not a whole number from 0 to 2^64 - 1", text));
  return value;
}

Options::Do read_what(const po::variables_map& given) {
  if (given.count("help") > 0) return Options::Do::help;
  if (given.count("list") > 0 && given.count("check") > 0) throw UsageError("--list and --check exclude each other");
  if (given.count("list") > 0) return Options::Do::list;
  return given.count("check") > 0 ? Options::Do::check : Options::Do::measure;
}

}  // namespace

double read_duration(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  while (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  const double seconds = unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || seconds == 0 || !(value > 0) || value * seconds > 7 * 24 * 3600)
    throw UsageError(fmt::format("--budget {}: not a time of at most a week with its unit, such as 90s, 8min or 1h", text));
  return value * seconds;
}

Options read_options(int count, const char* const* arguments) {
  po::variables_map given;
  try {
    const po::positional_options_description none;
    po::store(po::command_line_parser(count, arguments).options(describe_options()).positional(none).run(), given);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  const auto text = [&](const char* name, const std::string& otherwise) {
    return given.count(name) > 0 ? given[name].as<std::string>() : otherwise;
  };
  Options out;
  out.what = read_what(given);
  out.backend = text("backend", out.backend);
  if (out.backend != "host" && out.backend != "cuda")
    throw UsageError(fmt::format("--backend {}: host or cuda would be right", out.backend));
  out.out = text("out", "");
  if (out.what == Options::Do::measure && out.out.empty()) throw UsageError("--out is missing: the file for the table");
  if (given.count("budget") > 0) out.budget = read_duration(text("budget", ""));
  if (given.count("operations") > 0) out.operations = read_operations(text("operations", ""));
  if (given.count("formats") > 0) out.formats = read_formats(text("formats", ""));
  if (given.count("seed") > 0) out.seed = read_seed(text("seed", ""));
  out.device = text("device", "");
  out.folder = text("file-folder", "");
  out.quick = given.count("quick") > 0;
  out.resume = given.count("resume") > 0;
  out.quiet = given.count("quiet") > 0;
  return out;
}

std::string help_text() {
  std::ostringstream out;
  out << "usage: marea-probe [--backend host|cuda] --out FILE [options]\n\n"
         "Measures what tokens cost on this machine, kernel by kernel, and writes a table that `marea calibrate` reads.\n\n"
      << describe_options();
  return out.str();
}

bool wanted(const Options& options, const Case& one) {
  if (!options.operations.empty() && options.operations.count(one.operation) == 0) return false;
  if (options.formats.empty() || (one.format.empty() && one.kv.empty())) return true;
  return options.formats.count(one.format) > 0 || options.formats.count(one.kv) > 0;
}

}  // namespace marea::probe
