// Writing and resuming the CSV file of kernel timings.
#include "kernels/table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace marea::probe {

namespace {

std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + '"';
}

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

std::string Table::header() {
  std::string out = "device,operation,source,format,kv";
  for (const CountColumn& column : count_columns()) out += fmt::format(",{}", column.name);
  return out + ",microseconds,noise";
}

std::string Table::key(const std::string& device, const std::string& source, const Case& one) {
  std::string out = fmt::format("{},{},{},{},{},", cell(device), name_of(one.operation), cell(source), cell(one.format), cell(one.kv));
  for (const CountColumn& column : count_columns()) {
    if (const Case::Count& value = one.*column.value) out += fmt::format("{}", *value);
    out += ',';
  }
  return out;
}

Table::Table(const std::string& path, bool resume) : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0644);
  if (file_ < 0) fail(path_, "cannot be opened for writing");
  try {
    keep_rows();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Table::~Table() { ::close(file_); }

// Reads the rows that are there; a last line without its end, of a run that was killed, is cut off.
void Table::keep_rows() {
  std::ifstream stream(path_, std::ios::binary);
  std::ostringstream held;
  held << stream.rdbuf();
  const std::string text = held.str();
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole < text.size() && ::ftruncate(file_, static_cast<off_t>(whole)) != 0) fail(path_, "cannot be cut to whole rows");
  if (whole == 0) {
    append(header() + "\n");
    return;
  }
  std::istringstream lines(text.substr(0, whole));
  std::string line;
  std::getline(lines, line);
  if (line != header()) throw std::runtime_error(fmt::format("{}: is not a table of this program, nothing can be added to it", path_));
  while (std::getline(lines, line)) {  // the time and its noise are the two last cells, and are never quoted
    const std::size_t noise = line.rfind(',');
    const std::size_t time = noise == std::string::npos || noise == 0 ? std::string::npos : line.rfind(',', noise - 1);
    if (time != std::string::npos) rows_.insert(line.substr(0, time + 1));
  }
}

void Table::append(const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(file_, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) fail(path_, "cannot be written");
    done += static_cast<std::size_t>(wrote);
  }
}

bool Table::has(const std::string& device, const std::string& source, const Case& one) const {
  return rows_.count(key(device, source, one)) > 0;
}

void Table::write(const std::string& device, const std::string& source, const Case& one, const Measurement& time) {
  const std::string begin = key(device, source, one);
  append(fmt::format("{}{:.4f},{:.4f}\n", begin, time.median * 1e6, time.noise));
  rows_.insert(begin);
}

}  // namespace marea::probe
