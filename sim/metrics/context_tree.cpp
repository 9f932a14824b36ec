#include "sim/metrics/context_tree.h"

#include <algorithm>

#include "sim/base/error.h"

namespace marea::metrics {

ContextTree::Handle ContextTree::hold(kv::ContentView content, std::int64_t tokens) {
  kv::PieceCursor at(content);
  Handle node = kNone;
  std::int64_t done = 0;
  while (done < tokens) {
    const kv::NodeId below = tree_.child(node, at);
    if (below == kv::kNone) {
      node = tree_.add(node, done, tokens, at, tokens - done);
      tree_[node].payload = 0;
      unique_ += tokens - done;
      break;
    }
    const std::int64_t whole = tree_[below].hi - done;
    const std::int64_t agreed = tree_.match(below, at, std::min(whole, tokens - done));
    done += agreed;
    node = below;
    if (agreed < whole) {
      node = tree_.split(below, done);
      tree_[node].payload = tree_[below].payload;
    }
  }
  for (Handle up = node; up != kNone; up = tree_[up].parent) ++tree_[up].payload;
  return node;
}

void ContextTree::release(Handle handle) {
  while (handle != kNone) {
    const Handle parent = tree_[handle].parent;
    check(tree_[handle].payload > 0, "a context was released twice");
    if (--tree_[handle].payload == 0) {
      unique_ -= tree_[handle].hi - tree_[handle].lo;
      tree_.remove(handle);
    }
    handle = parent;
  }
}

}  // namespace marea::metrics
