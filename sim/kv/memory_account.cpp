// Booking into the memory account.
#include "sim/kv/memory_account.h"

namespace marea::kv {

void MemoryAccount::book(std::int64_t passed) {
  const auto time = static_cast<TokenTime>(passed);
  at(KvState::referenced, KvOwner::prefill) += static_cast<TokenTime>(levels.referenced[0]) * time;
  at(KvState::referenced, KvOwner::decode) += static_cast<TokenTime>(levels.referenced[1]) * time;
  at(KvState::referenced, KvOwner::shared) += static_cast<TokenTime>(levels.shared) * time;
  at(KvState::partial, KvOwner::prefill) += static_cast<TokenTime>(levels.partial[0]) * time;
  at(KvState::partial, KvOwner::decode) += static_cast<TokenTime>(levels.partial[1]) * time;
  at(KvState::free, KvOwner::nobody) += static_cast<TokenTime>(levels.free) * time;
}

void MemoryAccount::cached(KvState fate, std::int64_t tokens, const OwnerTimes& since, const OwnerTimes& until) {
  // The states of a lone owner follow `prefill` and `decode` in the list of owners, in the same order.
  constexpr int kFirst = static_cast<int>(KvOwner::active);
  for (int state = 0; state < kOwnerStates; ++state) {
    const std::int64_t spent = until[state] - since[state];
    if (spent != 0) totals_[static_cast<int>(fate)][kFirst + state] += static_cast<TokenTime>(tokens) * static_cast<TokenTime>(spent);
  }
}

void MemoryAccount::cached_shared(KvState fate, std::int64_t tokens, Time since, Time until) {
  at(fate, KvOwner::shared) += static_cast<TokenTime>(tokens) * static_cast<TokenTime>((until - since).count());
}

TokenTime MemoryAccount::total() const {
  TokenTime sum = 0;
  for (const auto& row : totals_)
    for (const TokenTime value : row) sum += value;
  return sum;
}

}  // namespace marea::kv
