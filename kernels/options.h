// The command line of marea-probe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "kernels/case.h"

namespace marea::probe {

// What is wrong with the command line, in the words of the user.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Options {
  enum class Do { measure, check, list, help };

  Do what = Do::measure;
  std::string backend = "host";
  std::string out;                 // the table; empty where nothing is measured
  std::string device;              // instead of the name that the backend finds
  std::string folder;              // for the file of file reads; empty: the folder of `out`, or the working directory
  double budget = 480;             // seconds
  std::set<Operation> operations;  // empty: all
  std::set<std::string> formats;   // of weights, activations or KV; empty: all
  std::optional<std::uint64_t> seed;
  bool quick = false;
  bool resume = false;
  bool quiet = false;
};

// Throws UsageError.
Options read_options(int count, const char* const* arguments);
std::string help_text();

// Seconds of "90 s", "8min", "1.5 min" or "1 h". Throws UsageError.
double read_duration(const std::string& text);

// Whether the options ask for this case. A format given matches the weights', the activations' or the KV cache's; a case without any
// matches all.
bool wanted(const Options& options, const Case& one);

}  // namespace marea::probe
