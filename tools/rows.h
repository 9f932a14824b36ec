// Plain rows in any of the output formats: lists of things, the runs of a store, exported tables.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/options.h"

namespace marea::cli {

// Prints a list of rows as they come: an aligned table needs them all, so it is written at the end; csv and json go out row by row. On a
// terminal the last column of a table is wrapped at its width; elsewhere each row stays one line.
class RowPrinter {
 public:
  RowPrinter(Format format, std::vector<std::string> columns);
  // Values in the order of the columns: strings, numbers or null.
  void row(const std::vector<nlohmann::json>& values);
  void end();

 private:
  Format format_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> table_;
  std::vector<bool> numeric_;
  bool first_ = true;
};

}  // namespace marea::cli
