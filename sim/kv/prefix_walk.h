// A walk down a prefix tree along a content, node by node: which of its blocks the tree has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/kv/cursor.h"
#include "sim/kv/prefix_tree.h"

namespace marea::kv {

// The node that it stands on may be split between two steps.
class PrefixWalk {
 public:
  // Looks at the first `most` blocks of the content.
  PrefixWalk(const PrefixTree& tree, ContentView content, std::int64_t most) : tree_(tree), at_(content), most_(most) {}

  // Goes on to the next node that holds blocks of the content. False if there is none.
  bool next() {
    if (over_ || hi_ == most_) return false;
    const NodeId next = tree_.child(node_, at_);
    if (next == kNone) return false;
    const std::int64_t wanted = std::min(tree_[next].hi, most_) - hi_;
    const std::int64_t found = tree_.match(next, at_, wanted * tree_.block()) / tree_.block();
    over_ = found < wanted;
    node_ = next;
    lo_ = hi_;
    hi_ += found;
    return true;
  }

  // The node, and which blocks [lo, hi) of the content it holds: its own from its first on. Before the first step: the root.
  NodeId node() const { return node_; }
  std::int64_t lo() const { return lo_; }
  std::int64_t hi() const { return hi_; }

 private:
  const PrefixTree& tree_;
  PieceCursor at_;
  std::int64_t most_;
  NodeId node_ = kRoot;
  std::int64_t lo_ = 0;
  std::int64_t hi_ = 0;
  bool over_ = false;
};

}  // namespace marea::kv
