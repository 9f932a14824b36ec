// Random draws keyed by what they are for. A stream is a pure function of (seed, purpose, entity), so adding one
// stream moves no other and two policies face exactly the same traffic.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace marea {

// A counter-based stream (Philox 4x32-10 of Random123). Cheap to make; copy it to replay it.
class RandomStream {
 public:
  // `purpose` names the use ("tool latency"); a, b, c identify the entity (traffic class, session index, call index).
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);

  // The next 64 random bits.
  std::uint64_t bits();
  // Uniform on the open interval (0, 1): never 0 and never 1, so any quantile function may be applied to it.
  double uniform();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint64_t, 2> block_{};
  int left_ = 0;
};

}  // namespace marea
