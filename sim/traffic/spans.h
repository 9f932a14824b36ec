// Names of token spans. A span is a 64-bit hash of what the tokens are: a group's prefix in a sharing domain, or one thread of one session.
// With ten million spans two of them coincide with a chance of about 3 in a million.
#pragma once

#include <cstdint>
#include <string_view>

namespace marea::traffic {

// Mixes two keys; the finaliser of splitmix64 (Steele, Lea, Flood 2014) over their sum in a fixed order.
constexpr std::uint64_t combine(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Hash of a name (FNV-1a, then mixed).
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t x = 0xcbf29ce484222325ULL;
  for (const char c : name) x = (x ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return combine(x, name.size());
}

}  // namespace marea::traffic
