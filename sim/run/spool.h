// Rows of a run, kept in a private file while it goes on, so that the store is written in one short transaction at its end. The file
// has no name once it is open: whatever happens to the process, nothing is left behind.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/run/simulate.h"

namespace marea::run {

// Rows are integers (ns, tokens, codes), written as variable-length numbers: about 90 bytes for a call.
class RowSpool : public RowSink {
 public:
  enum class Row : std::uint8_t { session = 1, call = 2, step = 3 };
  static constexpr int kMostColumns = 64;
  static constexpr std::int64_t kNone = INT64_MIN;  // a time that was not reached

  // Keeps what `detail` asks for. The file lies in `folder`, where the store's file is, since that is where room will be needed. `classes`
  // and `replicas`: names by id. Throws StorageError when it cannot be made or written.
  RowSpool(const std::string& folder, Detail detail, std::vector<std::string> classes, std::vector<std::string> replicas);
  ~RowSpool() override;
  RowSpool(const RowSpool&) = delete;
  RowSpool& operator=(const RowSpool&) = delete;

  void session(const cluster::SessionEnded& session) override;
  void call(const cluster::CallEnded& call) override;
  void step(const cluster::StepsRun& steps) override;

  // Reading: from the first row on, each row once. `columns` holds as many numbers as the row has. False at the end.
  void rewind();
  bool next(Row& row, std::array<std::int64_t, kMostColumns>& columns);

  Detail detail() const { return detail_; }
  const std::string& class_name(std::int64_t id) const;
  const std::string& replica_name(std::int64_t id) const;

 private:
  void put_causes(const std::array<Duration, cluster::kCauses>& booked, int count);
  void put(std::int64_t value);
  void flush();
  bool fill();

  std::string folder_;
  Detail detail_;
  std::vector<std::string> classes_;
  std::vector<std::string> replicas_;
  int file_ = -1;
  std::vector<std::uint8_t> buffer_;
  std::size_t used_ = 0;  // writing: bytes in the buffer; reading: bytes taken from it
  std::size_t held_ = 0;  // reading: bytes in the buffer
};

}  // namespace marea::run
