#include "sim/cost/fitted_range.h"

#include <algorithm>

namespace marea::cost {

std::string_view name(Beyond what) {
  static constexpr std::array<std::string_view, kBeyond> names{"shape", "tokens", "sequences", "context"};
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
  mark(Beyond::tokens, !tokens.holds(static_cast<double>(sums.tokens)));
  if (sums.decode_sequences > 0) {
    const auto count = static_cast<double>(sums.decode_sequences);
    mark(Beyond::sequences, !sequences.holds(count));
    mark(Beyond::context, !context.holds(static_cast<double>(sums.decode_context) / count));
  }
  if (sums.prefill_sequences > 0) mark(Beyond::context, static_cast<double>(sums.longest_prefill) > prompt.most);
  return out;
}

}  // namespace marea::cost
