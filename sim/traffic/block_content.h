// Contents of calls whose trace names the full blocks of their inputs: what becomes of the rest of the input and of the output.
#pragma once

#include <span>
#include <vector>

#include "sim/kv/content.h"

namespace marea::traffic {

// A call of a thread: `content` holds the full blocks that the trace names and grows to prompt + output tokens.
struct BlockCall {
  kv::Content content;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
};

// Completes the contents of a thread's calls, the last one first. A trace hashes inputs only: if the next call's named blocks begin with
// all of this one's, this call's partial tail and output are the next call's tokens at their positions, as far as its prompt reaches.
// Everything else is private: tokens of span `private_span(call)`.
template <class PrivateSpan>
void complete_contents(std::span<BlockCall> calls, const PrivateSpan& private_span) {
  std::vector<std::int64_t> named(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) named[i] = kv::length(calls[i].content);
  for (std::size_t i = calls.size(); i-- > 0;) {
    BlockCall& call = calls[i];
    std::int64_t at = named[i];
    const std::int64_t end = call.prompt + call.output;
    if (i + 1 < calls.size() && at > 0 && named[i + 1] >= at && kv::common_prefix(call.content, calls[i + 1].content) >= at) {
      const std::int64_t to = std::min(end, calls[i + 1].prompt);
      std::int64_t begin = 0;
      for (const kv::Piece& piece : calls[i + 1].content) {
        const std::int64_t low = std::max(at, begin), high = std::min(to, begin + piece.length);
        if (low < high) kv::append(call.content, {piece.span, piece.first + low - begin, high - low});
        begin += piece.length;
        if (begin >= to) break;
      }
      at = std::max(at, to);
    }
    kv::append(call.content, {private_span(i), 0, end - at});
  }
}

}  // namespace marea::traffic
