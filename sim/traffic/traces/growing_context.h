// The contents of a session whose trace tells lengths only: each call keeps a leading part of the context before and adds new tokens.
#pragma once

#include <algorithm>

#include "sim/traffic/trace_builder.h"

namespace marea::traffic::traces {

class GrowingContext {
 public:
  // A new session, whose contexts start with `prefix` tokens of a shared span (0: none).
  void start(std::uint64_t prefix_span = 0, std::int64_t prefix = 0) {
    context_.clear();
    kv::append(context_, {prefix_span, 0, prefix});
    length_ = prefix;
    position_ = 0;
    epoch_ = 0;
  }

  // Tokens of the context: prompt and output of the latest call, or the shared prefix.
  std::int64_t length() const { return length_; }

  // Content of a call that keeps the first `kept` tokens. As long as all is kept, new tokens go on in one span, so a long session stays one
  // piece.
  kv::ContentView next(const TraceBuilder& trace, std::int64_t kept, std::int64_t prompt, std::int64_t output) {
    if (kept < length_) {
      ++epoch_;
      position_ = 0;
      cut(kept);
    }
    const std::int64_t fresh = prompt + output - kept;
    kv::append(context_, {trace.own(epoch_), position_, fresh});
    position_ += fresh;
    length_ = prompt + output;
    return context_;
  }

 private:
  void cut(std::int64_t kept) {
    std::size_t pieces = 0;
    for (; pieces < context_.size() && kept > 0; ++pieces) {
      context_[pieces].length = std::min(context_[pieces].length, kept);
      kept -= context_[pieces].length;
    }
    context_.resize(pieces);
  }

  kv::Content context_;
  std::int64_t length_ = 0;
  std::int64_t position_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace marea::traffic::traces
