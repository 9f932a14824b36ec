// The nodes of a host pool and their lists: how they are made, cut, joined and removed.
#include <algorithm>

#include "sim/base/error.h"
#include "sim/kv/offload_pool.h"
#include "sim/kv/prefix_walk.h"

namespace marea::kv {

// Puts into path_ the nodes that hold these keys and are wanted, cut where the range ends.
void OffloadPool::collect(ContentView content, KeyRange keys, bool (*wanted)(const Segment&)) {
  path_.clear();
  if (keys.from >= keys.to) return;
  for (PrefixWalk walk(tree_, content, keys.to); walk.next();) {
    if (walk.hi() <= keys.from || !wanted(segments_[walk.node()])) continue;
    if (walk.lo() < keys.from) split(walk.node(), keys.from);
    path_.push_back(cut(walk.node(), walk.hi()));
  }
}

// Puts the nodes of a transfer into path_.
void OffloadPool::collect(const Run& run) {
  path_.clear();
  NodeId id = run.tip;
  for (; tree_[id].lo > run.from; id = tree_[id].parent) path_.push_back(id);
  path_.push_back(id);
  std::reverse(path_.begin(), path_.end());
}

NodeId OffloadPool::add(NodeId parent, std::int64_t lo, std::int64_t hi, ContentView content) {
  const NodeId id = tree_.add(parent, lo, hi, PieceCursor(content, tokens(lo)), tokens(hi - lo));
  if (id >= segments_.size()) segments_.resize(std::size_t{id} + 1);
  segments_[id] = Segment{};
  segments_[id].state = State::hole;
  segments_[parent].children ^= id;
  return id;
}

// As PrefixTree::split, the two halves side by side in their list.
NodeId OffloadPool::split(NodeId id, std::int64_t at) {
  const NodeId upper = tree_.split(id, at);
  if (upper >= segments_.size()) segments_.resize(std::size_t{upper} + 1);
  Segment& deep = segments_[id];
  Segment& top = segments_[upper];
  top = deep;
  top.children = id;
  segments_[tree_[upper].parent].children ^= id ^ upper;
  if (deep.place != Place::none) deep.deep_first ? link(upper, id, deep.behind) : link(upper, deep.before, id);
  touched_.push_back(id);
  touched_.push_back(upper);  // the deep half may go
  return upper;
}

// Cuts off the first blocks of a node in the order of its list.
NodeId OffloadPool::take_front(NodeId id, std::int64_t blocks) {
  if (blocks == length(id)) return id;
  if (!segments_[id].deep_first) return split(id, tree_[id].lo + blocks);
  split(id, tree_[id].hi - blocks);
  return id;
}

// Makes a node that is in no list a hole, and removes what is needed for nothing below it any more.
void OffloadPool::vanish(NodeId id) {
  segments_[id].state = State::hole;
  while (segments_[id].state == State::hole && tree_[id].children == 0) {
    const NodeId parent = tree_[id].parent;
    segments_[parent].children ^= id;
    segments_[id] = Segment{};
    tree_.remove(id);
    id = parent;
  }
  touched_.push_back(id);
}

// True if a node and its parent can be one: alike, and neighbours in their list in the order of the chain, one way or the other.
bool OffloadPool::joins(NodeId id) const {
  const NodeId upper = tree_[id].parent;
  if (upper == kRoot || tree_[upper].children != 1) return false;
  const Segment& deep = segments_[id];
  const Segment& top = segments_[upper];
  if (deep.state != top.state || deep.place != top.place || deep.state == State::storing || deep.pins > 0 || top.pins > 0) return false;
  if (deep.state == State::hole) return true;
  if (deep.behind == upper) return (deep.deep_first || length(id) == 1) && (top.deep_first || length(upper) == 1);
  if (top.behind == id) return (!deep.deep_first || length(id) == 1) && (!top.deep_first || length(upper) == 1);
  return false;
}

// Joins a node to its parent. The parent is gone.
void OffloadPool::join(NodeId id) {
  const NodeId upper = tree_[id].parent;
  Segment& deep = segments_[id];
  if (deep.place != Place::none) {
    deep.deep_first = deep.behind == upper;
    unlink(upper);
  }
  segments_[tree_[upper].parent].children ^= upper ^ id;
  segments_[upper] = Segment{};
  tree_.join(id);
}

// Joins what has become joinable, at the end of every operation that changes something.
void OffloadPool::settle() {
  for (NodeId id : touched_) {
    if (segments_[id].state == State::unused) continue;  // the root, or gone
    while (joins(id)) join(id);
    while (tree_[id].children == 1 && joins(segments_[id].children)) {
      id = segments_[id].children;
      join(id);
    }
  }
  touched_.clear();
}

// Puts a node at the tail of a list.
void OffloadPool::enlist(NodeId id, Place place, bool deep_first) {
  Segment& segment = segments_[id];
  segment.place = place;
  segment.deep_first = deep_first;
  List& to = list(place);
  to.blocks += length(id);
  if (segment.idle()) to.idle += length(id);
  link(id, to.tail, kNone);
  touched_.push_back(id);
}

void OffloadPool::unlist(NodeId id) {
  Segment& segment = segments_[id];
  List& from = list(segment.place);
  from.blocks -= length(id);
  if (segment.idle()) from.idle -= length(id);
  if (segment.before != kNone) touched_.push_back(segment.before);
  unlink(id);
  segment.place = Place::none;
}

void OffloadPool::link(NodeId id, NodeId before, NodeId behind) {
  Segment& segment = segments_[id];
  List& in = list(segment.place);
  segment.before = before;
  segment.behind = behind;
  (before == kNone ? in.head : segments_[before].behind) = id;
  (behind == kNone ? in.tail : segments_[behind].before) = id;
}

void OffloadPool::unlink(NodeId id) {
  const Segment& segment = segments_[id];
  List& in = list(segment.place);
  (segment.before == kNone ? in.head : segments_[segment.before].behind) = segment.behind;
  (segment.behind == kNone ? in.tail : segments_[segment.behind].before) = segment.before;
}

void OffloadPool::append_contents(NodeId id, std::vector<Content>& out) const {
  const std::int64_t blocks = length(id);
  for (std::int64_t i = 0; i < blocks; ++i)
    out.push_back(tree_.prefix(id, segments_[id].deep_first ? tree_[id].hi - i : tree_[id].lo + i + 1));
}

void OffloadPool::append_contents(Place place, std::vector<Content>& out) const {
  for (NodeId id = list(place).head; id != kNone; id = segments_[id].behind) append_contents(id, out);
}

OffloadPool::Lists OffloadPool::lists() const {
  Lists out;
  append_contents(Place::t1, replacement_ == Replacement::lru ? out.idle : out.t1);
  append_contents(Place::t2, out.t2);
  append_contents(Place::b1, out.b1);
  append_contents(Place::b2, out.b2);
  out.target = target_;
  return out;
}

}  // namespace marea::kv
