// The largest values that inputs may state: more is a slip, and far below what 64-bit sums could not hold.
#pragma once

#include <cstdint>

namespace marea::traffic {

inline constexpr std::int64_t kMostTokens = 100'000'000;              // of one prompt, output or prefix; also of things that are counted
inline constexpr std::int64_t kMostBlock = 1 << 14;                   // tokens of a trace's block
inline constexpr std::int64_t kMostId = (std::int64_t{1} << 48) - 1;  // block and token ids
inline constexpr double kMostSeconds = 1e9;                           // times and waits in traces, about 31 years

}  // namespace marea::traffic
