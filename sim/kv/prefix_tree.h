// A radix tree over contexts, cut at whole blocks. It knows content and shape; what a node means (copies in memory, live contexts) is
// the business of its user, who keeps one number in it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/cursor.h"
#include "sim/kv/piece_store.h"

namespace marea::kv {

using NodeId = std::uint32_t;
inline constexpr NodeId kRoot = 0;
inline constexpr std::uint32_t kNone = UINT32_MAX;

class PrefixTree {
 public:
  // Covers blocks [lo, hi) of one chain of content. Its pieces start at block lo and reach at least to hi; a node that may still grow
  // (hi is then the user's to say) has them as far as it may grow, and always one whole block.
  struct Node {
    NodeId parent = kNone;
    std::uint32_t children = 0;
    std::int64_t lo = 0;
    std::int64_t hi = 0;
    PieceSlice pieces;
    std::uint64_t hash = 0;         // of parent and first block
    std::uint32_t payload = kNone;  // the user's
    std::uint32_t grower = kNone;   // the user's: who makes it longer
  };

  explicit PrefixTree(std::int64_t block);

  std::int64_t block() const { return block_; }
  Node& operator[](NodeId id) { return nodes_[id]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size() - free_.size()) - 1; }  // without the root

  // The child of `parent` whose first block holds the next block of `at`, or kNone.
  NodeId child(NodeId parent, const PieceCursor& at) const;
  // Tokens that `at` and the node have in common from the node's start, `most` at the utmost. Moves `at` over them.
  std::int64_t match(NodeId id, PieceCursor& at, std::int64_t most) const;

  // A new child covering [lo, hi) with the next `tokens` tokens of `at`. No child with the same first block may exist.
  NodeId add(NodeId parent, std::int64_t lo, std::int64_t hi, PieceCursor at, std::int64_t tokens);
  // Cuts a node in two at block `at`, lo < at. The new node returned is the upper part; `id` stays the deeper one, with its children.
  NodeId split(NodeId id, std::int64_t at);
  // Joins a leaf to its parent, of which it is the only child. `id` is gone.
  void absorb(NodeId id);
  // Undoes a split: joins a node, with its children, to its parent, of which it is the only child. The parent is gone.
  void join(NodeId id);
  // Takes a leaf out.
  void remove(NodeId id);

  // The first `blocks` blocks (counted from the root) of the chain that ends in the node.
  Content prefix(NodeId id, std::int64_t blocks) const;

 private:
  static std::uint64_t key(NodeId parent, std::uint64_t hash) { return PieceCursor::mix(hash + parent * 0x9e3779b97f4a7c15u); }
  // Open addressing. The low half of a node's hash stands beside it, so that a search touches only nodes that may be the right ones.
  struct Entry {
    NodeId id = kNone;  // kNone: empty
    std::uint32_t hash = 0;
  };

  NodeId make();
  void enter(NodeId id);
  void enter(Entry entry);
  void leave(NodeId id);
  void rehash();

  std::int64_t block_;
  PieceStore store_;
  std::vector<Node> nodes_;
  std::vector<NodeId> free_;
  std::vector<Entry> table_;  // load at most one half
  std::uint64_t mask_ = 0;
};

}  // namespace marea::kv
