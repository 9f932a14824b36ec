// The union of many contexts as a tree with reference counts: how many unique tokens a set of contexts holds when equal prefixes are held
// once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/kv/content.h"

namespace marea::metrics {

// Costs in proportion to the pieces of a context. Memory follows what is held, not what has passed.
class ContextTree {
 public:
  using Handle = std::uint32_t;  // the end of a context that is held
  static constexpr Handle kNone = 0;

  ContextTree() : nodes_(1) {}

  // Holds the first `tokens` tokens of `content` until the handle is released. kNone for no tokens.
  Handle hold(kv::ContentView content, std::int64_t tokens);
  void release(Handle handle);

  std::int64_t unique_tokens() const { return unique_; }

 private:
  struct Node {
    Handle parent = kNone;
    std::int64_t holds = 0;  // contexts that end here or below
    kv::Content edge;        // tokens between the parent and here
  };
  // A child is found by the first token of its edge.
  struct Key {
    Handle parent;
    std::uint64_t span;
    std::int64_t first;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = key.span * 0x9e3779b97f4a7c15U ^ static_cast<std::uint64_t>(key.first);
      h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9U + key.parent;
      return static_cast<std::size_t>((h ^ (h >> 32)) * 0x94d049bb133111ebU);
    }
  };
  // Where the walk along a context stands.
  struct Cursor {
    kv::ContentView content;
    std::size_t piece = 0;
    std::int64_t offset = 0;  // into that piece
    std::int64_t left = 0;    // tokens still to go
    kv::Piece next() const;   // the run of tokens at the cursor
    void advance(std::int64_t tokens);
  };

  Handle make(Handle parent);
  // Follows the edge of `node` as far as it agrees; returns the tokens that did.
  std::int64_t follow(Handle node, Cursor& cursor) const;
  // Cuts the edge of `node` after `tokens`; returns the new node above the cut. `node` keeps its end, so handles stay valid.
  Handle split(Handle node, std::int64_t tokens);
  Key key(Handle node) const { return {nodes_[node].parent, nodes_[node].edge.front().span, nodes_[node].edge.front().first}; }

  std::vector<Node> nodes_;  // [0] is the root
  std::vector<Handle> free_;
  std::unordered_map<Key, Handle, KeyHash> children_;  // looked up, never walked
  std::int64_t unique_ = 0;
};

}  // namespace marea::metrics
