#include "sim/cost/fitted_range.h"

#include <algorithm>

namespace marea::cost {

std::string_view name(Beyond what) {
  static constexpr std::array<std::string_view, kBeyond> names{"shape", "tokens", "sequences", "context", "prefix", "ranks"};
  return names[static_cast<std::size_t>(what)];
}

void FittedRange::narrow(spec::Range& range, const spec::Range& seen) {
  range.least = std::max(range.least, seen.least);
  range.most = std::min(range.most, seen.most);
}

std::array<bool, kBeyond> FittedRange::beyond(const StepSums& sums) const {
  std::array<bool, kBeyond> out{};
  const auto mark = [&out](Beyond what, bool is) { out[static_cast<std::size_t>(what)] = out[static_cast<std::size_t>(what)] || is; };
  mark(Beyond::shape, !shape);
  mark(Beyond::ranks, !ranks);
  mark(Beyond::tokens, !tokens.holds(static_cast<double>(sums.tokens)));
  if (sums.decode_sequences > 0) {
    const auto count = static_cast<double>(sums.decode_sequences);
    mark(Beyond::sequences, !sequences.holds(count));
    mark(Beyond::context, !context.holds(static_cast<double>(sums.decode_context) / count));
  }
  if (sums.prefill_sequences > 0) {
    const auto chunk = static_cast<double>(sums.prefill_tokens);
    const auto longest = static_cast<double>(sums.longest_prefill);
    mark(Beyond::context, longest > prompt.most);
    mark(Beyond::prefix, std::max(longest - chunk, sums.prefill_pairs / chunk - (chunk + 1) / 2) > prefix.most);
  }
  return out;
}

}  // namespace marea::cost
