// Whether a step lies within what the coefficients behind its price were fitted on, so that a run can say how much of it does not.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/cost/step.h"
#include "sim/spec/coefficients.h"

namespace marea::cost {

// What of a step a fit may not have seen.
enum class Beyond : std::uint8_t {
  shape,      // of the model's matrices, heads or experts on one rank: the same for every step
  tokens,     // new tokens of the step
  sequences,  // that decode
  context,    // mean length of those, or the length of a prompt
  prefix,     // cached before a prompt's chunk
  ranks,      // of tensors or experts: the same for every step
};
inline constexpr int kBeyond = 6;
std::string_view name(Beyond what);

// The ranges that hold for all laws of one deployment.
struct FittedRange {
  bool shape = true;  // every shape lies within the range of its fit
  bool ranks = true;  // a table covers as many ranks
  spec::Range tokens;
  spec::Range sequences;
  spec::Range context;
  spec::Range prompt;
  spec::Range prefix;

  // Narrows a range to what a fit saw as well.
  static void narrow(spec::Range& range, const spec::Range& seen);
  void require(const spec::Range& seen, double value) { shape = shape && seen.holds(value); }
  // By Beyond: whether the step lies outside in that respect. A fit of prompts is asked about the largest context + chunk, and about the
  // least that must have been cached before a chunk for the sums to be what they are: exact for one chunk, a bound for several.
  std::array<bool, kBeyond> beyond(const StepSums& sums) const;
};

}  // namespace marea::cost
