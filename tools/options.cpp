// Reading options with Boost.Program_options, and saying what is wrong in the words of the user.
#include "tools/options.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <charconv>
#include <filesystem>
#include <memory>

#include "sim/base/tree.h"
#include "sim/run/store.h"
#include "tools/terminal.h"

namespace marea::cli {

namespace po = boost::program_options;

namespace {

po::options_description describe(const Command& command) {
  po::options_description options;
  const auto text = [] { return po::value<std::string>(); };
  // The library owns a value from the moment it is added, and only then.
  const auto add = [&](unsigned wanted, const char* name, po::value_semantic* value, const char* about) {
    std::unique_ptr<po::value_semantic> owned(value);
    if (wanted == 0 || (command.takes & wanted) != 0) options.add_options()(name, owned.release(), about);
  };
  add(takes::settings, "set", po::value<std::vector<std::string>>()->value_name("PATH=VALUE"),
      "change one value of the scenario, such as serving.sequences=64 or cluster.node.device.memory.capacity=1.5x; may be repeated");
  add(takes::seed, "seed", text()->value_name("N"), "seed of all random draws, 0 to 2^63 - 1, instead of the scenario's");
  add(takes::replications, "replications", text()->value_name("R"), "run R times with different draws; prints confidence intervals");
  add(takes::replications, "jobs,j", text()->value_name("N"), "threads that share the replications (1; 0: one for each core)");
  add(takes::detail, "detail", text()->value_name("LEVEL"), "rows kept with the run: summary, sessions, requests or steps");
  add(takes::db, "db", text()->value_name("FILE"), "the store (marea.sqlite); :memory: stores nothing");
  add(takes::what, "table", text()->value_name("NAME"), "which rows (metric)");
  add(takes::device, "device", text()->value_name("NAME"), "the device that was measured: its file gives peak rates and bandwidth");
  add(takes::device, "base", text()->value_name("NAME"), "a device whose coefficients stand in for what no table covers");
  add(takes::device, "out", text()->value_name("FILE"), "the calibration to write (printed)");
  add(takes::format, "format", text()->value_name("KIND"), "table, json or csv");
  add(takes::progress, "quiet", po::bool_switch(), "print the result and errors, nothing else");
  add(takes::progress, "no-progress", po::bool_switch(), "no progress line (there is none unless standard error is a terminal)");
  add(0, "color", text()->value_name("WHEN"), "auto, always or never");
  add(0, "help,h", po::bool_switch(), "this text");
  return options;
}

template <class Number>
Number number(const std::string& text, const char* option, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw UsageError(fmt::format("--{} {}: not a whole number from {} to {}", option, text, least, most));
  return value;
}

template <class Value>
Value one_of(const std::string& text, const char* option, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  const std::string near = nearest(text, names);
  throw UsageError(fmt::format("--{} {}: must be one of {}{}", option, text, fmt::join(names, ", "),
                               near.empty() ? "" : "; did you mean " + near + "?"));
}

void read_values(const po::variables_map& values, Options& options) {
  const auto text = [&](const char* option) -> const std::string* {
    return values.count(option) != 0 ? &values[option].as<std::string>() : nullptr;
  };
  const auto flag = [&](const char* option) { return values.count(option) != 0 && values[option].as<bool>(); };
  if (values.count("set") != 0) options.settings = values["set"].as<std::vector<std::string>>();
  for (const std::string& setting : options.settings)
    if (setting.find('=') == std::string::npos || setting.front() == '=')
      throw UsageError(fmt::format("--set {}: must be PATH=VALUE, such as serving.sequences=64", setting));
  if (const auto* seed = text("seed")) options.seed = number<std::uint64_t>(*seed, "seed", 0, INT64_MAX);
  if (const auto* count = text("replications")) options.replications = number(*count, "replications", 1, 100000);
  if (const auto* jobs = text("jobs")) options.jobs = number(*jobs, "jobs", 0, 4096);
  if (const auto* db = text("db")) options.db = *db;
  if (options.db.empty()) throw UsageError("--db: must name a file");
  if (const auto* detail = text("detail")) {
    using run::Detail;
    options.detail = one_of<Detail>(
        *detail, "detail",
        {{"summary", Detail::summary}, {"sessions", Detail::sessions}, {"requests", Detail::requests}, {"steps", Detail::steps}});
  }
  if (const auto* format = text("format"))
    options.format = one_of<Format>(*format, "format", {{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}});
  if (const auto* color = text("color"))
    options.color = one_of<Color>(*color, "color", {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}});
  if (const auto* table = text("table")) {
    std::vector<std::pair<std::string, std::string>> tables;
    bool known = false;
    for (const std::string& name : run::Store::tables()) {
      tables.emplace_back(name, name);
      if (*table == name + "s") options.what = name, known = true;  // as --detail has it
    }
    if (!known) options.what = one_of(*table, "table", tables);
  }
  if (const auto* device = text("device")) options.device = *device;
  if (const auto* base = text("base")) options.base = *base;
  if (const auto* out = text("out")) options.out = *out;
  options.quiet = flag("quiet");
  options.progress = !options.quiet && !flag("no-progress");
  options.help = flag("help");
}

}  // namespace

Options read_options(const Command& command, const std::vector<std::string>& arguments) {
  po::options_description all = describe(command);
  po::options_description hidden;
  hidden.add(all).add_options()("word", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("word", -1);
  po::variables_map values;
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(hidden).positional(positional).style(style).run(), values);
  } catch (const po::unknown_option& unknown) {
    std::vector<std::string> names;
    for (const auto& option : all.options()) names.push_back("--" + option->long_name());
    const std::string name = unknown.get_option_name();
    const std::string near = nearest(name, names);
    throw UsageError(fmt::format("there is no option {}{}", name, near.empty() ? "" : "; did you mean " + near + "?"));
  } catch (const po::multiple_occurrences& twice) {
    throw UsageError(fmt::format("{} is given twice", twice.get_option_name()));
  } catch (const po::error_with_option_name& wrong) {
    throw UsageError(fmt::format("{} needs a value", wrong.get_option_name()));
  } catch (const po::error& wrong) {
    throw UsageError(wrong.what());
  }
  Options options;
  read_values(values, options);
  if (values.count("word") != 0) options.words = values["word"].as<std::vector<std::string>>();
  if (options.help) return options;
  if (options.words.size() < command.least_words) throw UsageError(fmt::format("say which: marea {} {}", command.name, command.words));
  if (options.words.size() > command.most_words)
    throw UsageError(
        fmt::format("\"{}\" is one word too many: marea {} {}", options.words[command.most_words], command.name, command.words));
  return options;
}

std::string help(const Command& command) {
  constexpr int kColumns = 80, kText = 26;
  const po::options_description described = describe(command);
  std::string options = "options:\n";
  for (const auto& option : described.options()) {
    std::string name = option->format_name();
    if (const std::string value = option->format_parameter(); !value.empty()) name += " " + value;
    const bool wide = width(name) + 3 > kText;
    options += wide ? "  " + name + "\n" + std::string(kText, ' ') : left("  " + name, kText);
    options += wrap(option->description(), kColumns, kText) + "\n";
  }
  return fmt::format("marea {}{}{} [options]\n  {}\n\n{}\n{}\nexamples:\n{}", command.name, command.words.empty() ? "" : " ", command.words,
                     command.summary, command.about, options, command.examples);
}

}  // namespace marea::cli
