// Number formats of weights and KV, and how far a number can be trusted.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "sim/base/section.h"

namespace marea::spec {

enum class Format : std::uint8_t { fp32, bf16, fp16, fp8, int8, mxfp4, nvfp4, int4 };
inline constexpr int kFormats = 8;
inline constexpr std::array<Format, kFormats> kAllFormats{Format::fp32, Format::bf16,  Format::fp16,  Format::fp8,
                                                          Format::int8, Format::mxfp4, Format::nvfp4, Format::int4};
std::string_view name(Format format);

// Bytes of one number with its block scales: mxfp4 0.53125 (a scale byte per 32), nvfp4 0.5625 (per 16), int4 0.515625 (16-bit scale per
// 128).
double bytes_per_number(Format format);
inline bool is_four_bit(Format format) { return format == Format::mxfp4 || format == Format::nvfp4 || format == Format::int4; }

// A format by name. Errors name the nearest.
Format read_format(const Value& value);

// How a number came to be: measured as such, fitted to measurements, printed by the maker, or assumed.
enum class Status : std::uint8_t { measured, fitted, datasheet, assumed };
inline constexpr int kStatuses = 4;
std::string_view name(Status status);

struct Origin {
  Status status = Status::assumed;
  std::string source;  // in words
};

// The `sources` of one file: short names for where its numbers come from.
class Sources {
 public:
  // Takes `sources: {name: words}` from the map of a file; it may be missing.
  explicit Sources(Section& file);
  // Takes `sources` from another file's map as well. A name that both files have is an error unless both mean the same by it.
  void add(Section& file);
  // Takes `status` and `source` from a block. `source` is a name of the file's `sources` (an error otherwise) and may only be missing where
  // the status is `assumed`; a block without both has the origin of `above`.
  Origin read(Section& block, const Origin& above = {}) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string, std::less<>> words_;
};

// A duration that may be a fraction of a nanosecond ("1.7 ns"), as coefficients are. At least 0.
Seconds read_seconds(const Value& value);

}  // namespace marea::spec
