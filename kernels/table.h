// The kernel-timing table: a CSV file with one row for each measured kernel. Each row reaches the file whole and at once, so that a run
// that is killed leaves a valid table, and another run can go on from it.
#pragma once

#include <set>
#include <string>

#include "kernels/case.h"
#include "kernels/measure.h"

namespace marea::probe {

class Table {
 public:
  // Opens PATH for writing; what it held is lost. With `resume` the rows stay, and `has` knows them. Throws std::runtime_error with the
  // path when the file cannot be opened or written, or holds another table.
  Table(const std::string& path, bool resume);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  bool has(const std::string& device, const std::string& source, const Case& one) const;
  void write(const std::string& device, const std::string& source, const Case& one, const Measurement& time);

  static std::string header();
  // The cells of a row up to the time, quoted where they must be (RFC 4180), ending in a comma.
  static std::string key(const std::string& device, const std::string& source, const Case& one);

 private:
  void keep_rows();
  void append(const std::string& line);

  std::string path_;
  int file_ = -1;
  std::set<std::string> rows_;  // keys
};

}  // namespace marea::probe
