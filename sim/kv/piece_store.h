// Storage for the many short piece lists of a prefix tree: one array, cut into slices whose capacity is a power of two and which are
// used again, so that a steady state allocates nothing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/base/error.h"
#include "sim/kv/content.h"

namespace marea::kv {

// A list of pieces in a PieceStore. An empty slice owns nothing.
struct PieceSlice {
  std::uint32_t at = 0;
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
};

class PieceStore {
 public:
  ContentView view(const PieceSlice& slice) const { return {pieces_.data() + slice.at, slice.size}; }

  void append(PieceSlice& slice, Piece piece) {
    if (piece.length == 0) return;
    if (slice.size > 0) {
      Piece& last = pieces_[slice.at + slice.size - 1];
      if (last.span == piece.span && last.first + last.length == piece.first) {
        last.length += piece.length;
        return;
      }
    }
    if (slice.size == slice.capacity) grow(slice);
    pieces_[slice.at + slice.size++] = piece;
  }

  // Drops everything behind the first `tokens` tokens.
  void trim(PieceSlice& slice, std::int64_t tokens) {
    for (std::uint32_t i = 0; i < slice.size; ++i) {
      Piece& piece = pieces_[slice.at + i];
      if (tokens < piece.length) {
        piece.length = tokens;
        slice.size = tokens > 0 ? i + 1 : i;
        return;
      }
      tokens -= piece.length;
    }
  }

  void release(PieceSlice& slice) {
    if (slice.capacity > 0) free_[std::countr_zero(slice.capacity)].push_back(slice.at);
    slice = {};
  }

 private:
  void grow(PieceSlice& slice) {
    const std::uint32_t capacity = slice.capacity == 0 ? 2 : slice.capacity * 2;
    std::vector<std::uint32_t>& free = free_[std::countr_zero(capacity)];
    PieceSlice larger{0, slice.size, capacity};
    if (!free.empty()) {
      larger.at = free.back();
      free.pop_back();
    } else {
      check(pieces_.size() + capacity <= UINT32_MAX, "a prefix tree outgrew its index");
      larger.at = static_cast<std::uint32_t>(pieces_.size());
      pieces_.resize(pieces_.size() + capacity);
    }
    for (std::uint32_t i = 0; i < slice.size; ++i) pieces_[larger.at + i] = pieces_[slice.at + i];
    release(slice);
    slice = larger;
  }

  std::vector<Piece> pieces_;
  std::array<std::vector<std::uint32_t>, 32> free_;
};

}  // namespace marea::kv
