// Longest computed prefix among the calls that come before.
#include "sim/traffic/known.h"

#include <algorithm>

namespace marea::traffic {

void Precedence::reset(std::size_t steps) {
  words_ = (steps + 63) / 64;
  bits_.assign(steps * words_, 0);
}

void Precedence::add(std::size_t from, std::size_t to) {
  for (std::size_t w = 0; w < words_; ++w) bits_[to * words_ + w] |= bits_[from * words_ + w];
  bits_[to * words_ + from / 64] |= std::uint64_t{1} << (from % 64);
}

std::int64_t known_tokens(std::span<const KnownCall> earlier, const KnownCall& call, const Precedence& precedence) {
  std::int64_t best = 0;
  const std::int64_t most = call.prompt - 1;
  for (std::size_t i = earlier.size(); i-- > 0 && best < most;) {
    const KnownCall& old = earlier[i];
    if (old.computed <= best || !precedence.before(old.step, call.step)) continue;
    best = std::max(best, std::min({kv::common_prefix(old.content, call.content), old.computed, most}));
  }
  return best;
}

}  // namespace marea::traffic
