#include "sim/base/random.h"

#include <Random123/philox.h>

#include "sim/base/error.h"

namespace marea {

namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter, const std::array<std::uint32_t, 2>& key) {
  const r123::Philox4x32::ctr_type in{{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type with{{key[0], key[1]}};
  const auto out = r123::Philox4x32()(in, with);
  return {out[0], out[1], out[2], out[3]};
}

// Entities below 2^32 fill the counter as they are, so their streams cannot overlap. Higher parts go into the key by way of the mixer.
RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t key = mix(mix(seed) ^ purpose.hash);
  if (const std::uint64_t parts = high(a) | high(b) | high(c); parts != 0) key = mix(mix(mix(key ^ high(a)) ^ high(b)) ^ high(c));
  key_ = {low(key), high(key)};
  counter_ = {0, low(a), low(b), low(c)};
}

void RandomStream::refill() {
  const auto out = philox(counter_, key_);
  block_ = {out[0] | static_cast<std::uint64_t>(out[1]) << 32, out[2] | static_cast<std::uint64_t>(out[3]) << 32};
  left_ = 2;
  ++counter_[0];
  check(counter_[0] != 0, "a random stream ends after 2^33 draws");
}

}  // namespace marea
