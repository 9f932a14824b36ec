// A place inside a list of pieces, for comparing and hashing content token by token at the cost of one step a piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/kv/content.h"

namespace marea::kv {

class PieceCursor {
 public:
  PieceCursor() = default;
  // Stands on token `at` of `content`, 0 <= at <= length.
  explicit PieceCursor(ContentView content, std::int64_t at = 0) : piece_(content.data()), end_(content.data() + content.size()) {
    settle();
    if (at > 0) advance(at);
  }

  bool done() const { return piece_ == end_; }
  // What is left of the current piece; not to be called when done().
  Piece rest() const { return {piece_->span, piece_->first + offset_, piece_->length - offset_}; }

  // Moves on by `tokens`, stopping at the end.
  void advance(std::int64_t tokens) {
    while (piece_ != end_ && tokens > 0) {
      const std::int64_t step = std::min(tokens, piece_->length - offset_);
      offset_ += step;
      tokens -= step;
      settle();
    }
  }

  // Moves both on over their common tokens, `most` of them at the utmost, and returns how many there were.
  static std::int64_t match(PieceCursor& a, PieceCursor& b, std::int64_t most) {
    std::int64_t common = 0;
    while (common < most && !a.done() && !b.done()) {
      const Piece x = a.rest();
      const Piece y = b.rest();
      if (x.span != y.span || x.first != y.first) break;
      const std::int64_t step = std::min({x.length, y.length, most - common});
      a.advance(step);
      b.advance(step);
      common += step;
    }
    return common;
  }

  // A hash of the next `tokens` tokens, the same however the pieces are cut.
  std::uint64_t hash(std::int64_t tokens) const {
    PieceCursor at = *this;
    std::uint64_t value = 0x9e3779b97f4a7c15u;
    while (tokens > 0 && !at.done()) {
      Piece run = at.rest();
      run.length = std::min(run.length, tokens);
      at.advance(run.length);
      while (run.length < tokens && !at.done()) {
        const Piece next = at.rest();
        if (next.span != run.span || next.first != run.first + run.length) break;
        const std::int64_t step = std::min(next.length, tokens - run.length);
        run.length += step;
        at.advance(step);
      }
      tokens -= run.length;
      value = mix(value ^ run.span);
      value = mix(value + static_cast<std::uint64_t>(run.first) * 0xd6e8feb86659fd93u + static_cast<std::uint64_t>(run.length));
    }
    return value;
  }

  static std::uint64_t mix(std::uint64_t x) {  // finaliser of splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

 private:
  void settle() {
    while (piece_ != end_ && offset_ == piece_->length) {
      ++piece_;
      offset_ = 0;
    }
  }

  const Piece* piece_ = nullptr;
  const Piece* end_ = nullptr;
  std::int64_t offset_ = 0;
};

}  // namespace marea::kv
