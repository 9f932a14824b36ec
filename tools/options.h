// The command line, read once into plain values. Options mean the same in every command that takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/simulate.h"

namespace marea::cli {

enum class Format { table, json, csv };
enum class Color { automatic, always, never };

// Wrong use of the command line (exit status 2).
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<std::string> words;  // what is not an option
  std::vector<std::string> settings;
  std::optional<std::uint64_t> seed;
  int replications = 1;
  int jobs = 1;
  std::string db = "marea.sqlite";
  run::Detail detail = run::Detail::summary;
  Format format = Format::table;
  Color color = Color::automatic;
  std::string what = "metric";  // export: the table
  std::string device;           // calibrate: what was measured
  std::string base;             // calibrate: where the rest comes from
  std::string out;              // calibrate: the file to write; empty: standard output
  bool quiet = false;
  bool progress = true;
  bool help = false;
};

// The options a command can take, to be combined with |.
namespace takes {
inline constexpr unsigned settings = 1, seed = 2, replications = 4, db = 8, detail = 16, format = 32, progress = 64, what = 128,
                          device = 256;
}

struct Command {
  std::string_view name;
  std::string_view words;    // "SCENARIO"
  std::string_view summary;  // one line
  std::string_view about;    // a paragraph of --help
  std::string_view examples;
  unsigned takes;
  std::size_t least_words;
  std::size_t most_words;
  int (*run)(const Options& options);  // the exit status
};

// Reads what stands after the command's name. Throws UsageError.
Options read_options(const Command& command, const std::vector<std::string>& arguments);

// What `marea COMMAND --help` prints.
std::string help(const Command& command);

}  // namespace marea::cli
