// What a host pool is asked and told: lookups, refreshes, and the transfers with the evictions that they need.
#include "sim/kv/offload_pool.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/kv/prefix_walk.h"

namespace marea::kv {

OffloadPool::OffloadPool(std::int64_t block, std::int64_t blocks, Replacement replacement)
    : capacity_(blocks), replacement_(replacement), tree_(block), segments_(1) {
  check(blocks >= 1, "a host pool holds at least one block");
}

OffloadPool::Found OffloadPool::find(ContentView content, KeyRange keys) const {
  Found found;
  for (PrefixWalk walk(tree_, content, keys.to); walk.next();) {
    if (walk.hi() <= keys.from) continue;
    const Segment& segment = segments_[walk.node()];
    if (!segment.present()) break;
    found.present = walk.hi() - keys.from;
    found.storing |= segment.state == State::storing;
  }
  return found;
}

bool OffloadPool::loading(ContentView content, KeyRange keys) const {
  if (keys.from >= keys.to) return false;
  for (PrefixWalk walk(tree_, content, keys.to); walk.next();)
    if (walk.hi() > keys.from && segments_[walk.node()].exclusive > 0) return true;
  return false;
}

void OffloadPool::missing(ContentView content, KeyRange keys, std::vector<KeyRange>& out) const {
  out.clear();
  std::int64_t from = keys.from;  // of the missing keys not yet in `out`
  for (PrefixWalk walk(tree_, content, keys.to); walk.next();) {
    if (walk.hi() <= keys.from || !segments_[walk.node()].present()) continue;
    if (from < walk.lo()) out.push_back({from, walk.lo()});
    from = walk.hi();
  }
  if (from < keys.to) out.push_back({from, keys.to});
}

void OffloadPool::refresh(ContentView content, std::int64_t keys) {
  collect(content, {0, keys}, [](const Segment& segment) { return segment.place != Place::none; });
  for (auto id = path_.rbegin(); id != path_.rend(); ++id) {
    Place place = segments_[*id].place;
    if (place == Place::b1 || place == Place::b2) adapt(place, length(*id));
    if (replacement_ == Replacement::arc && place == Place::t1 && segments_[*id].state == State::stored) place = Place::t2;
    unlist(*id);
    enlist(*id, place, true);
  }
  settle();
}

// ARC: moves the target for so many hits among the ghosts of one list, as many additions one by one do.
void OffloadPool::adapt(Place ghosts, std::int64_t blocks) {
  const auto size = static_cast<double>(list(ghosts).blocks);
  const auto other = static_cast<double>(list(ghosts == Place::b1 ? Place::b2 : Place::b1).blocks);
  const double delta = std::max(1.0, other / size);
  const auto most = static_cast<double>(capacity_);
  if (ghosts == Place::b1) {
    for (; blocks > 0 && target_ < most; --blocks) target_ = std::min(target_ + delta, most);
  } else {
    for (; blocks > 0 && target_ > 0; --blocks) target_ = std::max(target_ - delta, 0.0);
  }
}

bool OffloadPool::begin_store(ContentView content, std::span<const KeyRange> keys, KeyRange spared, TransferId& id) {
  std::int64_t count = 0;
  for (const KeyRange& range : keys) count += range.to - range.from;
  if (!make_room(content, count - blocks().free, spared)) return false;
  Transfer& transfer = open(id);
  transfer.store = true;
  for (const KeyRange& range : keys) transfer.runs.push_back(lay(content, range));
  settle();
  return true;
}

// Evicts `need` blocks outside the spared keys of a content, or nothing where there are fewer. LRU: from the front. ARC: from T1 as long as
// that is not below its target, then from T2; not again from T1 where T2 has too few.
bool OffloadPool::make_room(ContentView content, std::int64_t need, KeyRange spared) {
  if (need <= 0) return true;
  std::array<std::int64_t, 2> idle{list(Place::t1).idle, list(Place::t2).idle};
  for (PrefixWalk walk(tree_, content, spared.to); walk.next();) {
    const Segment& segment = segments_[walk.node()];
    if (walk.hi() > spared.from && segment.idle())
      idle[static_cast<std::size_t>(segment.place)] -= walk.hi() - std::max(walk.lo(), spared.from);
  }
  const bool arc = replacement_ == Replacement::arc;
  const std::int64_t above = list(Place::t1).blocks - static_cast<std::int64_t>(target_) + 1;
  const std::int64_t first = arc ? std::clamp(above, std::int64_t{0}, std::min(need, idle[0])) : std::min(need, idle[0]);
  if (need - first > idle[1]) return false;

  collect(content, spared, [](const Segment& segment) { return segment.idle(); });
  for (const NodeId id : path_) segments_[id].spared = true;
  evict(Place::t1, first);
  evict(Place::t2, need - first);
  for (const NodeId id : path_) segments_[id].spared = false;
  forget_ghosts(Place::b1);
  forget_ghosts(Place::b2);
  return true;
}

// Evicts from the front of a list, which has that many blocks that are idle and not spared.
void OffloadPool::evict(Place place, std::int64_t blocks) {
  for (NodeId id = list(place).head; blocks > 0;) {
    const Segment& segment = segments_[id];
    const NodeId next = segment.behind;
    if (segment.idle() && !segment.spared) {
      const std::int64_t part = std::min(blocks, length(id));
      const NodeId victim = take_front(id, part);
      if (eviction_log_) append_contents(victim, *eviction_log_);
      unlist(victim);
      blocks -= part;
      idle_ -= part;
      evicted_ += part;
      if (replacement_ == Replacement::lru) {
        vanish(victim);
      } else {
        segments_[victim].state = State::ghost;
        enlist(victim, place == Place::t1 ? Place::b1 : Place::b2, segments_[victim].deep_first);
      }
    }
    id = next;
  }
}

void OffloadPool::forget_ghosts(Place place) {
  while (list(place).blocks > capacity_) {
    const NodeId head = list(place).head;
    const NodeId oldest = take_front(head, std::min(list(place).blocks - capacity_, length(head)));
    unlist(oldest);
    vanish(oldest);
  }
}

// Marks missing keys as being stored.
OffloadPool::Run OffloadPool::lay(ContentView content, KeyRange keys) {
  check(keys.from < keys.to, "an empty range of keys is stored");
  NodeId tip = kRoot;
  std::int64_t end = 0;
  for (PrefixWalk walk(tree_, content, keys.to); walk.next();) {
    end = walk.hi();
    if (walk.lo() < keys.from && keys.from < end) split(walk.node(), keys.from);
    tip = cut(walk.node(), end);
    if (end > keys.from) start_storing(tip);
  }
  if (end < keys.from) {
    tip = add(tip, end, keys.from, content);
    end = keys.from;
  }
  if (end < keys.to) {
    tip = add(tip, end, keys.to, content);
    start_storing(tip);
  }
  return {keys.from, tip};
}

void OffloadPool::start_storing(NodeId id) {
  check(!segments_[id].present(), "a block is stored that is there");
  if (segments_[id].state == State::ghost) unlist(id);
  segments_[id].state = State::storing;
  busy_ += length(id);
  if (replacement_ == Replacement::arc) enlist(id, Place::t1, false);
}

void OffloadPool::end_store(TransferId id) {
  check(transfers_[id].store && !transfers_[id].runs.empty(), "this is no store that is on its way");
  for (const Run& run : transfers_[id].runs) {
    collect(run);
    for (const NodeId node : path_) {
      segments_[node].state = State::stored;
      become_idle(node);
    }
  }
  close(id);
}

void OffloadPool::cancel_store(TransferId id) {
  std::vector<Run>& runs = transfers_[id].runs;
  check(transfers_[id].store && !runs.empty(), "this is no store that is on its way");
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    collect(*run);
    for (auto node = path_.rbegin(); node != path_.rend(); ++node) {
      if (segments_[*node].place != Place::none) unlist(*node);
      busy_ -= length(*node);
      vanish(*node);
    }
  }
  close(id);
}

TransferId OffloadPool::begin_load(ContentView content, KeyRange keys, bool exclusive) {
  check(keys.from < keys.to, "an empty range of keys is loaded");
  TransferId id = 0;
  Transfer& transfer = open(id);
  transfer.exclusive = exclusive;
  collect(content, keys, [](const Segment& segment) { return segment.state == State::stored; });
  std::int64_t loaded = 0;
  for (const NodeId node : path_) {
    Segment& segment = segments_[node];
    const std::int64_t blocks = length(node);
    if (segment.pins == 0) {
      replacement_ == Replacement::lru ? unlist(node) : void(list(segment.place).idle -= blocks);
      idle_ -= blocks;
      busy_ += blocks;
    }
    ++segment.pins;
    segment.exclusive += exclusive;
    loaded += blocks;
  }
  check(loaded == keys.to - keys.from, "a block is loaded that is not stored");
  transfer.runs.push_back({keys.from, path_.back()});
  settle();
  return id;
}

void OffloadPool::end_load(TransferId id) {
  const Transfer& transfer = transfers_[id];
  check(!transfer.store && !transfer.runs.empty(), "this is no load that is on its way");
  collect(transfer.runs.front());
  for (const NodeId node : path_) {
    Segment& segment = segments_[node];
    --segment.pins;
    segment.exclusive -= transfer.exclusive;
    if (segment.pins == 0) become_idle(node);
  }
  close(id);
}

// The end of a transfer: youngest under LRU, where it stands under ARC.
void OffloadPool::become_idle(NodeId id) {
  const std::int64_t blocks = length(id);
  busy_ -= blocks;
  idle_ += blocks;
  if (replacement_ == Replacement::lru) {
    enlist(id, Place::t1, false);
  } else {
    list(segments_[id].place).idle += blocks;
    touched_.push_back(id);
  }
}

OffloadPool::Transfer& OffloadPool::open(TransferId& id) {
  if (free_transfers_.empty()) {
    id = static_cast<TransferId>(transfers_.size());
    return transfers_.emplace_back();
  }
  id = free_transfers_.back();
  free_transfers_.pop_back();
  return transfers_[id];
}

void OffloadPool::close(TransferId id) {
  transfers_[id].runs.clear();
  transfers_[id].store = transfers_[id].exclusive = false;
  free_transfers_.push_back(id);
  settle();
}

}  // namespace marea::kv
