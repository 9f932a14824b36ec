// What a context holds, as runs of tokens. Two tokens are equal exactly if span and position are equal, and the KV of a
// token can be shared only where the whole context before it is equal too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"

namespace marea::kv {

// Tokens first, first + 1, ..., first + length - 1 of one span.
struct Piece {
  std::uint64_t span = 0;
  std::int64_t first = 0;
  std::int64_t length = 0;
  bool operator==(const Piece&) const = default;
};

using ContentView = std::span<const Piece>;
using Content = std::vector<Piece>;

// Appends a piece, merging it with the last one where it continues it. A piece of length 0 is ignored.
inline void append(Content& content, Piece piece) {
  if (piece.length == 0) return;
  if (!content.empty()) {
    Piece& last = content.back();
    if (last.span == piece.span && last.first + last.length == piece.first) {
      last.length += piece.length;
      return;
    }
  }
  content.push_back(piece);
}

// The first `tokens` tokens.
inline Content prefix(ContentView content, std::int64_t tokens) {
  Content head;
  for (const Piece& piece : content) {
    if (tokens <= 0) break;
    head.push_back({piece.span, piece.first, piece.length < tokens ? piece.length : tokens});
    tokens -= piece.length;
  }
  return head;
}

inline std::int64_t length(ContentView content) {
  std::int64_t total = 0;
  for (const Piece& piece : content) total += piece.length;
  return total;
}

// Number of leading tokens that two contents have in common.
std::int64_t common_prefix(ContentView a, ContentView b);

}  // namespace marea::kv
