// Longest computed prefix among the calls that come before.
#include "sim/traffic/known.h"

#include <algorithm>

namespace marea::traffic {

void Precedence::reset(std::size_t steps, bool single_thread) {
  words_ = single_thread ? 0 : (steps + 63) / 64;
  bits_.assign(steps * words_, 0);
}

void Precedence::add(std::size_t from, std::size_t to) {
  if (words_ == 0) return;
  for (std::size_t w = 0; w < words_; ++w) bits_[to * words_ + w] |= bits_[from * words_ + w];
  bits_[to * words_ + from / 64] |= std::uint64_t{1} << (from % 64);
}

void append_known(std::vector<KnownCall>& calls, KnownCall call) {
  call.longest = std::max(call.computed, calls.empty() ? 0 : calls.back().longest);
  calls.push_back(call);
}

std::int64_t known_tokens(std::span<const KnownCall> earlier, const KnownCall& call, const Precedence& precedence) {
  std::int64_t best = 0;
  const std::int64_t most = call.prompt - 1;
  for (std::size_t i = earlier.size(); i-- > 0 && best < most;) {
    const KnownCall& old = earlier[i];
    if (old.longest <= best) break;
    if (old.computed <= best || !precedence.before(old.step, call.step)) continue;
    best = std::max(best, std::min({kv::common_prefix(old.content, call.content), old.computed, most}));
  }
  return best;
}

}  // namespace marea::traffic
