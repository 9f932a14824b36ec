// The union of many contexts, with reference counts: how many unique tokens they hold when equal prefixes are held once.
#pragma once

#include <cstdint>

#include "sim/kv/prefix_tree.h"

namespace marea::metrics {

// Costs in proportion to the pieces of a context. Memory follows what is held, not what has passed.
class ContextTree {
 public:
  using Handle = kv::NodeId;  // the end of a context that is held; kNone: of none
  static constexpr Handle kNone = kv::kRoot;

  // Holds the first `tokens` tokens of `content` until the handle is released. kNone for no tokens.
  Handle hold(kv::ContentView content, std::int64_t tokens);
  void release(Handle handle);

  std::int64_t unique_tokens() const { return unique_; }

 private:
  kv::PrefixTree tree_{1};  // blocks of one token; the payload counts the contexts that end in a node or below it
  std::int64_t unique_ = 0;
};

}  // namespace marea::metrics
