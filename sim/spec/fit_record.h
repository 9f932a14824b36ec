// What a fit says about itself beside the coefficients: how many rows, how far off, and the range of work that it saw. Results warn with it
// when a run leaves that range.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "sim/spec/number.h"

namespace marea::spec {

// The measures of one kernel that a range can be stated for.
enum class Extent : std::uint8_t {
  m,
  n,
  k,
  batch,
  tokens,
  context,
  heads,
  kv_heads,
  head_dim,
  hidden,
  experts,
  chosen,
  width,
  expert_ranks,
  bytes
};
inline constexpr int kExtents = 15;
std::string_view name(Extent extent);

struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool holds(double value) const { return value >= least && value <= most; }
};

// Quantiles of |predicted / measured - 1|.
struct ErrorQuantiles {
  double median = 0;
  double p90 = 0;
  double p99 = 0;
};

struct FitRecord {
  std::int64_t rows = 0;    // 0: no fit stands behind the block
  std::int64_t shapes = 0;  // groups of rows that were held out together
  ErrorQuantiles held_out;
  ErrorQuantiles in_sample;
  std::array<Range, kExtents> ranges{};  // unbounded where the fit states none
  const Range& range(Extent extent) const { return ranges[static_cast<std::size_t>(extent)]; }
};

// Takes `fit` from a block of coefficients; a block without it has an empty record.
FitRecord read_fit_record(Section& block);

}  // namespace marea::spec
