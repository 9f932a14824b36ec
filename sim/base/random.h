// Random draws keyed by what they are for. A stream is a pure function of (seed, purpose, entity), so adding one
// stream moves no other and two policies face exactly the same traffic.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace marea {

// What a stream is for ("tool latency"), reduced to 64 bits (FNV-1a). Literals are reduced while compiling.
struct Purpose {
  std::uint64_t hash;

  template <std::size_t N>
  consteval Purpose(const char (&name)[N]) : hash(reduce({name, N - 1})) {}
  Purpose(std::string_view name) : hash(reduce(name)) {}
  Purpose(const std::string& name) : hash(reduce(name)) {}

 private:
  static constexpr std::uint64_t reduce(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
  }
};

// One call of Philox 4x32-10 (Salmon, Moraes, Dror and Shaw 2011; the implementation is Random123's).
std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter, const std::array<std::uint32_t, 2>& key);

// A counter-based stream. Cheap to make (no state is warmed up); copy it to replay it.
class RandomStream {
 public:
  // `purpose` names the use ("tool latency"); a, b, c identify the entity (traffic class, session index, call index).
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);

  // The next 64 random bits.
  std::uint64_t bits() {
    if (left_ == 0) refill();
    return block_[--left_];
  }

  // Uniform on the open interval (0, 1): never 0 and never 1, so any quantile function may be applied to it. 52 bits and a half: with 53
  // the half would be lost to rounding at the upper end and give 1.
  double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

 private:
  void refill();

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint64_t, 2> block_{};
  std::uint32_t left_ = 0;
};

}  // namespace marea
