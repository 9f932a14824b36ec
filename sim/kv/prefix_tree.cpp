// Shape of the prefix tree: children are found through one open-addressing table keyed by parent and first block.
#include "sim/kv/prefix_tree.h"

namespace marea::kv {

PrefixTree::PrefixTree(std::int64_t block) : block_(block), nodes_(1), table_(64), mask_(63) {
  check(block >= 1, "a block holds at least one token");
}

NodeId PrefixTree::child(NodeId parent, const PieceCursor& at) const {
  if (nodes_[parent].children == 0) return kNone;
  const std::uint64_t wanted = key(parent, at.hash(block_));
  for (std::uint64_t slot = wanted & mask_; table_[slot].id != kNone; slot = (slot + 1) & mask_) {
    const NodeId id = table_[slot].id;
    if (table_[slot].hash != static_cast<std::uint32_t>(wanted) || nodes_[id].hash != wanted || nodes_[id].parent != parent) continue;
    PieceCursor probe = at;
    if (match(id, probe, block_) == block_) return id;
  }
  return kNone;
}

std::int64_t PrefixTree::match(NodeId id, PieceCursor& at, std::int64_t most) const {
  PieceCursor own(store_.view(nodes_[id].pieces));
  return PieceCursor::match(own, at, most);
}

NodeId PrefixTree::add(NodeId parent, std::int64_t lo, std::int64_t hi, PieceCursor at, std::int64_t tokens) {
  const NodeId id = make();
  Node& node = nodes_[id];
  node.parent = parent;
  node.lo = lo;
  node.hi = hi;
  node.hash = key(parent, at.hash(block_));
  while (tokens > 0 && !at.done()) {
    Piece piece = at.rest();
    piece.length = std::min(piece.length, tokens);
    store_.append(node.pieces, piece);
    at.advance(piece.length);
    tokens -= piece.length;
  }
  check(tokens == 0, "a node reaches beyond its content");
  ++nodes_[parent].children;
  enter(id);
  return id;
}

NodeId PrefixTree::split(NodeId id, std::int64_t at) {
  const NodeId upper = make();
  leave(id);
  Node& deep = nodes_[id];
  Node& top = nodes_[upper];
  const std::int64_t kept = (at - deep.lo) * block_;
  top.parent = deep.parent;
  top.children = 1;
  top.lo = deep.lo;
  top.hi = at;
  top.hash = deep.hash;
  top.pieces = deep.pieces;
  deep.pieces = {};
  std::int64_t skip = kept;
  for (std::uint32_t i = 0; i < top.pieces.size; ++i) {
    Piece piece = store_.view(top.pieces)[i];
    const std::int64_t cut = std::min(skip, piece.length);
    skip -= cut;
    store_.append(deep.pieces, {piece.span, piece.first + cut, piece.length - cut});
  }
  store_.trim(top.pieces, kept);
  deep.parent = upper;
  deep.lo = at;
  deep.hi = std::max(deep.hi, at);
  deep.hash = key(upper, PieceCursor(store_.view(deep.pieces)).hash(block_));
  enter(upper);
  enter(id);
  return upper;
}

void PrefixTree::absorb(NodeId id) {
  Node& leaf = nodes_[id];
  Node& parent = nodes_[leaf.parent];
  check(leaf.children == 0 && parent.children == 1, "only a lone leaf can join its parent");
  store_.trim(parent.pieces, (parent.hi - parent.lo) * block_);
  const std::uint32_t count = leaf.pieces.size;
  for (std::uint32_t i = 0; i < count; ++i) store_.append(parent.pieces, store_.view(leaf.pieces)[i]);
  parent.hi = leaf.hi;
  remove(id);
}

void PrefixTree::join(NodeId id) {
  const NodeId upper = nodes_[id].parent;
  Node& deep = nodes_[id];
  Node& top = nodes_[upper];
  check(upper != kRoot && top.children == 1, "only a lone child can join its parent");
  leave(id);
  leave(upper);
  store_.trim(top.pieces, (top.hi - top.lo) * block_);
  for (std::uint32_t i = 0; i < deep.pieces.size; ++i) store_.append(top.pieces, store_.view(deep.pieces)[i]);
  store_.release(deep.pieces);
  deep.pieces = top.pieces;
  top.pieces = {};
  deep.parent = top.parent;
  deep.lo = top.lo;
  deep.hash = top.hash;
  enter(id);
  free_.push_back(upper);
}

void PrefixTree::remove(NodeId id) {
  check(nodes_[id].children == 0, "a node with children cannot go");
  leave(id);
  --nodes_[nodes_[id].parent].children;
  store_.release(nodes_[id].pieces);
  free_.push_back(id);
}

Content PrefixTree::prefix(NodeId id, std::int64_t blocks) const {
  std::vector<NodeId> path;
  for (; id != kRoot; id = nodes_[id].parent) path.push_back(id);
  Content content;
  std::int64_t left = blocks * block_;
  for (auto it = path.rbegin(); it != path.rend() && left > 0; ++it) {
    const Node& node = nodes_[*it];
    // A node in the middle of the chain ends where its child starts.
    std::int64_t own = it + 1 != path.rend() ? (nodes_[*(it + 1)].lo - node.lo) * block_ : left;
    own = std::min(own, left);
    left -= own;
    for (PieceCursor at(store_.view(node.pieces)); own > 0 && !at.done();) {
      Piece piece = at.rest();
      piece.length = std::min(piece.length, own);
      append(content, piece);
      at.advance(piece.length);
      own -= piece.length;
    }
  }
  return content;
}

NodeId PrefixTree::make() {
  if (free_.empty()) {
    check(nodes_.size() < kNone, "a prefix tree outgrew its index");
    nodes_.emplace_back();
    if (nodes_.size() * 2 > table_.size()) rehash();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = free_.back();
  free_.pop_back();
  nodes_[id] = Node{};
  return id;
}

void PrefixTree::enter(NodeId id) { enter({id, static_cast<std::uint32_t>(nodes_[id].hash)}); }

void PrefixTree::enter(Entry entry) {
  std::uint64_t slot = entry.hash & mask_;
  while (table_[slot].id != kNone) slot = (slot + 1) & mask_;
  table_[slot] = entry;
}

void PrefixTree::leave(NodeId id) {
  std::uint64_t hole = nodes_[id].hash & mask_;
  while (table_[hole].id != id) hole = (hole + 1) & mask_;
  // Entries behind the hole move up when their own place lies at or before it.
  for (std::uint64_t slot = (hole + 1) & mask_; table_[slot].id != kNone; slot = (slot + 1) & mask_) {
    const std::uint64_t home = table_[slot].hash & mask_;
    if (((slot - home) & mask_) < ((slot - hole) & mask_)) continue;
    table_[hole] = table_[slot];
    hole = slot;
  }
  table_[hole] = {};
}

void PrefixTree::rehash() {
  check(table_.size() < (std::size_t{1} << 31), "a prefix tree outgrew its index");
  std::vector<Entry> old(table_.size() * 2);
  old.swap(table_);
  mask_ = table_.size() - 1;
  for (const Entry& entry : old)
    if (entry.id != kNone) enter(entry);
}

}  // namespace marea::kv
