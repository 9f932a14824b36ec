#include "sim/metrics/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "sim/base/error.h"

namespace marea::metrics {

namespace {

// What kind of fact follows.
enum Tag : std::uint64_t { kSession = 1, kCall, kTool, kMemory, kRun, kSteps, kCopy };

std::uint64_t word(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t word(Time time) { return word(since_start(time).count()); }
std::uint64_t word(Duration duration) { return word(duration.count()); }

template <std::size_t N>
void put(std::array<std::uint64_t, N>& words, std::size_t at, const std::array<Duration, cluster::kCauses>& booked) {
  for (const Duration duration : booked) words[at++] = word(duration);
}

std::string hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

Fingerprint::Fingerprint(std::size_t replicas) : state_(XXH3_createState()), buffer_(kBuffer), steps_(replicas, 0) {
  check(state_ != nullptr && XXH3_128bits_reset(state_.get()) == XXH_OK, "no state for the fingerprint");
}
Fingerprint::~Fingerprint() = default;
Fingerprint::Fingerprint(Fingerprint&&) noexcept = default;

void Fingerprint::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

// Words gather in a buffer, because the hash takes long input several times faster than short.
template <std::size_t N>
void Fingerprint::add(const std::array<std::uint64_t, N>& words) {
  static_assert(N <= kBuffer);
  if (used_ + N > kBuffer) flush();
  std::copy(words.begin(), words.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += N;
}

void Fingerprint::flush() {
  if constexpr (std::endian::native == std::endian::big)
    for (std::uint64_t& word : buffer_) word = __builtin_bswap64(word);
  XXH3_128bits_update(state_.get(), buffer_.data(), used_ * sizeof(std::uint64_t));
  used_ = 0;
}

void Fingerprint::on(const cluster::SessionEnded& session) {
  std::array<std::uint64_t, 8 + cluster::kCauses> words = {kSession,
                                                           session.traffic.value,
                                                           session.index,
                                                           static_cast<std::uint64_t>(session.end),
                                                           word(session.started),
                                                           word(session.at),
                                                           word(session.critical_path),
                                                           word(session.calls_planned)};
  put(words, 8, session.booked);
  add(words);
}

void Fingerprint::on(const cluster::CallEnded& call) {
  constexpr std::size_t kFixed = 21;
  std::array<std::uint64_t, kFixed + cluster::kLossCauses + cluster::kCauses> words = {kCall,
                                                                                       call.traffic.value,
                                                                                       call.session_index,
                                                                                       call.thread,
                                                                                       call.index,
                                                                                       static_cast<std::uint64_t>(call.end),
                                                                                       static_cast<std::uint64_t>(call.after),
                                                                                       call.replica.value,
                                                                                       word(call.prompt),
                                                                                       word(call.output),
                                                                                       word(call.generated),
                                                                                       word(call.hit),
                                                                                       word(call.known),
                                                                                       word(call.preemptions),
                                                                                       word(call.issued),
                                                                                       word(call.queued),
                                                                                       word(call.scheduled),
                                                                                       word(call.first_token),
                                                                                       word(call.last_token),
                                                                                       word(call.at),
                                                                                       call.compaction ? 1U : 0U};
  for (std::size_t cause = 0; cause < call.lost.size(); ++cause) words[kFixed + cause] = word(call.lost[cause]);
  put(words, kFixed + call.lost.size(), call.booked);
  add(words);
}

void Fingerprint::on(const cluster::ToolEnded& tool) {
  add(std::array<std::uint64_t, 7>{kTool, tool.tool.value, tool.traffic.value, word(tool.queued), word(tool.ran), tool.failed ? 1U : 0U,
                                   word(tool.at)});
}

void Fingerprint::on(const cluster::CopyEnded& copy) {
  add(std::array<std::uint64_t, 7>{kCopy, copy.replica.value, copy.tier, copy.load ? 1U : 0U, word(copy.blocks), word(copy.submitted),
                                   word(copy.at)});
}

void Fingerprint::on(const cluster::MemoryBooked& booked) {
  add(std::array<std::uint64_t, 6>{kMemory, booked.replica.value, static_cast<std::uint64_t>(booked.state),
                                   static_cast<std::uint64_t>(booked.owner), static_cast<std::uint64_t>(booked.token_nanoseconds),
                                   static_cast<std::uint64_t>(booked.token_nanoseconds >> 64)});
}

// Without `events` and `changed_steps`, which tell how the run was computed.
void Fingerprint::on(const cluster::RunEnded& run) {
  add(std::array<std::uint64_t, 7>{kRun, word(run.at), word(run.window_start), word(run.window_end), word(run.steps),
                                   word(run.evicted_blocks), word(run.preemptions)});
}

std::string Fingerprint::digits() {
  for (std::size_t replica = 0; replica < steps_.size(); ++replica) add(std::array<std::uint64_t, 3>{kSteps, replica, steps_[replica]});
  flush();
  return hex(XXH3_128bits_digest(state_.get()));
}

std::string combined_fingerprint(const std::vector<std::string>& fingerprints) {
  std::string all;
  for (const std::string& fingerprint : fingerprints) all += fingerprint;
  return hex(XXH3_128bits(all.data(), all.size()));
}

}  // namespace marea::metrics
