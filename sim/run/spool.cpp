// The spool file: rows as variable-length integers behind a kind byte, buffered in both directions.
#include "sim/run/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sim/base/error.h"

namespace marea::run {

namespace {

constexpr std::size_t kBuffer = 1u << 18;
constexpr std::size_t kLongestNumber = 10;  // bytes of a 64-bit number, 7 bits each

int open_unnamed(const std::string& folder) {
#ifdef O_TMPFILE
  if (const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); file >= 0) return file;
#endif
  std::string name = folder + "/.marea-rows-XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file >= 0) ::unlink(name.c_str());
  return file;
}

[[noreturn]] void fail(const std::string& folder, const char* doing) {
  throw StorageError(fmt::format(
      "{}: cannot {} the rows of the run while it goes on: {}; free some space or choose another folder with --db, or ask for less "
      "with --detail summary",
      folder, doing, std::strerror(errno)));
}

std::int64_t ticks(Time time) { return time == kNever ? RowSpool::kNone : time.time_since_epoch().count(); }

}  // namespace

RowSpool::RowSpool(const std::string& folder, Detail detail, std::vector<std::string> classes, std::vector<std::string> replicas)
    : folder_(folder), detail_(detail), classes_(std::move(classes)), replicas_(std::move(replicas)), buffer_(kBuffer) {
  file_ = open_unnamed(folder);
  if (file_ < 0) fail(folder_, "keep");
}

RowSpool::~RowSpool() {
  if (file_ >= 0) ::close(file_);
}

const std::string& RowSpool::class_name(std::int64_t id) const {
  check(id >= 0 && static_cast<std::size_t>(id) < classes_.size(), "a row names a traffic class that the scenario does not have");
  return classes_[static_cast<std::size_t>(id)];
}

const std::string& RowSpool::replica_name(std::int64_t id) const {
  check(id >= 0 && static_cast<std::size_t>(id) < replicas_.size(), "a row names a replica that the scenario does not have");
  return replicas_[static_cast<std::size_t>(id)];
}

void RowSpool::put(std::int64_t value) {
  // Small magnitudes of either sign become small numbers; kNone becomes the largest.
  std::uint64_t rest = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  while (rest >= 0x80) {
    buffer_[used_++] = static_cast<std::uint8_t>(rest) | 0x80;
    rest >>= 7;
  }
  buffer_[used_++] = static_cast<std::uint8_t>(rest);
}

void RowSpool::flush() {
  for (std::size_t done = 0; done < used_;) {
    const ssize_t written = ::write(file_, buffer_.data() + done, used_ - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(folder_, "write");
    done += static_cast<std::size_t>(written);
  }
  used_ = 0;
}

// The first `count` causes in the order of their columns.
void RowSpool::put_causes(const std::array<Duration, cluster::kCauses>& booked, int count) {
  for (int cause = 0; cause < count; ++cause)
    if (cause != static_cast<int>(cluster::Cause::kv_load)) put(booked[static_cast<std::size_t>(cause)].count());
  put(booked[static_cast<std::size_t>(cluster::Cause::kv_load)].count());
}

void RowSpool::session(const cluster::SessionEnded& session) {
  if (detail_ < Detail::sessions) return;
  if (used_ + (kMostColumns + 2) * kLongestNumber > kBuffer) flush();
  put(static_cast<std::int64_t>(Row::session));
  put(7 + cluster::kCauses);  // kv_load last: its column came later
  put(session.traffic.value);
  put(static_cast<std::int64_t>(session.index));
  put(static_cast<std::int64_t>(session.end));
  put(session.calls_planned);
  put(ticks(session.started));
  put(ticks(session.at));
  put(session.critical_path.count());
  put_causes(session.booked, cluster::kCauses);
}

void RowSpool::call(const cluster::CallEnded& call) {
  if (detail_ < Detail::requests) return;
  if (used_ + (kMostColumns + 2) * kLongestNumber > kBuffer) flush();
  constexpr int kCallCauses = static_cast<int>(cluster::Cause::preempted) + 1;  // the later ones are never a call's
  put(static_cast<std::int64_t>(Row::call));
  put(25 + kCallCauses);
  put(call.traffic.value);
  put(static_cast<std::int64_t>(call.session_index));
  put(call.thread);
  put(call.index);
  put(static_cast<std::int64_t>(call.end));
  put(static_cast<std::int64_t>(call.after));
  put(call.replica ? static_cast<std::int64_t>(call.replica.value) : kNone);
  put(call.prompt);
  put(call.output);
  put(call.generated);
  put(call.hit);
  put(call.known);
  for (const std::int64_t lost : call.lost) put(lost);
  put(call.preemptions);
  put(call.compaction ? 1 : 0);
  put(ticks(call.issued));
  put(ticks(call.queued));
  put(ticks(call.scheduled));
  put(ticks(call.first_token));
  put(ticks(call.last_token));
  put(ticks(call.at));
  put_causes(call.booked, kCallCauses);
  put(call.loaded);
}

void RowSpool::step(const cluster::StepsRun& steps) {
  if (detail_ < Detail::steps) return;
  if (used_ + (kMostColumns + 2) * kLongestNumber > kBuffer) flush();
  put(static_cast<std::int64_t>(Row::step));
  put(10);
  put(steps.replica.value);
  put(ticks(steps.start));
  put(ticks(steps.ends.back()));
  put(static_cast<std::int64_t>(steps.ends.size()));
  put(steps.sums.tokens);
  put(steps.sums.decode_sequences);
  put(steps.sums.decode_context);
  put(steps.sums.prefill_sequences);
  put(steps.sums.prefill_tokens);
  put(steps.sums.admissions);
}

void RowSpool::rewind() {
  flush();
  if (::lseek(file_, 0, SEEK_SET) != 0) fail(folder_, "read");
  used_ = held_ = 0;
}

bool RowSpool::fill() {
  std::memmove(buffer_.data(), buffer_.data() + used_, held_ - used_);
  held_ -= used_;
  used_ = 0;
  while (held_ < kBuffer) {
    const ssize_t got = ::read(file_, buffer_.data() + held_, kBuffer - held_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(folder_, "read");
    if (got == 0) break;
    held_ += static_cast<std::size_t>(got);
  }
  return held_ > 0;
}

bool RowSpool::next(Row& row, std::array<std::int64_t, kMostColumns>& columns) {
  if (held_ - used_ < (kMostColumns + 2) * kLongestNumber && !fill()) return false;
  const auto take = [this] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t byte = buffer_[used_++];
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
    }
  };
  if (held_ == used_) return false;
  row = static_cast<Row>(take());
  const std::int64_t count = take();
  for (std::int64_t i = 0; i < count; ++i) columns[static_cast<std::size_t>(i)] = take();
  return true;
}

}  // namespace marea::run
