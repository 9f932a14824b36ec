#include "sim/cluster/sessions.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/base/int128.h"

namespace marea::cluster {

SessionSlot Sessions::open() {
  if (free_sessions_.empty()) {
    sessions_.push_back(std::make_unique<SessionRow>());
    return SessionSlot{static_cast<std::uint32_t>(sessions_.size() - 1)};
  }
  const SessionSlot slot = free_sessions_.back();
  free_sessions_.pop_back();
  return slot;
}

void Sessions::close(SessionSlot slot) {
  const SessionRow& row = *sessions_[slot.value];
  check(!row.live && row.zombies == 0, "a session slot was freed while in use");
  free_sessions_.push_back(slot);
}

CallSlot Sessions::open_call() {
  if (free_calls_.empty()) {
    calls_.emplace_back();
    return CallSlot{static_cast<std::uint32_t>(calls_.size() - 1)};
  }
  const CallSlot slot = free_calls_.back();
  free_calls_.pop_back();
  calls_[slot.value] = CallRow{};
  return slot;
}

std::int64_t lost_tokens(const serving::Chunk& chunk, std::int64_t lost_mark) {
  return std::clamp<std::int64_t>(lost_mark - chunk.context, 0, chunk.tokens);
}

PrefillSplit split_prefill(Duration duration, const serving::Chunk& chunk, std::int64_t lost_mark) {
  const std::int64_t lost = lost_tokens(chunk, lost_mark);
  if (lost == 0) return {Duration{}, duration};
  const auto share = static_cast<Uint128>(duration.count()) * static_cast<std::uint64_t>(lost) / static_cast<std::uint64_t>(chunk.tokens);
  const Duration part{static_cast<Duration::rep>(share)};
  return {part, duration - part};
}

}  // namespace marea::cluster
