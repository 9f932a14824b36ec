// Block tables, the free list and the booking of memory.
#include "sim/kv/pool.h"

namespace marea::kv {

Pool::Pool(const PoolParams& params, Owners& owners)
    : params_(params), owners_(owners), tree_(params.block), crossing_(static_cast<std::size_t>(params.block), 0) {
  check(params.blocks >= 1, "a pool holds at least its null block");
  push_unkeyed(usable_blocks());
}

Hit Pool::lookup(ContentView content, std::int64_t most) const {
  Hit hit;
  if (!params_.caching) return hit;
  PieceCursor at(content);
  NodeId node = kRoot;
  while (hit.blocks < most) {
    const NodeId next = tree_.child(node, at);
    if (next == kNone) break;
    const PieceCursor start = at;
    const std::int64_t have = end(next) - tree_[next].lo;
    const std::int64_t wanted = std::min(have, most - hit.blocks);
    const std::int64_t found = tree_.match(next, at, tokens(wanted)) / params_.block;
    if (found > 0) {
      hit.node = next;
      hit.blocks += found;
      if (copies_[tree_[next].payload].holders == 0) hit.idle += found;
    }
    if (found < wanted) break;
    if (tree_[next].grower != kNone) {
      PieceCursor probe = start;
      if (hit.blocks < most && tree_.match(next, probe, tokens(have + 1)) == tokens(have + 1)) hit.grower = tree_[next].grower;
      break;  // nothing hangs below a node that grows
    }
    node = next;
  }
  return hit;
}

TableId Pool::open(ContentView content, std::int64_t most, OwnerId owner, std::uint64_t order, const Hit& hit) {
  TableId id;
  if (free_tables_.empty()) {
    id = static_cast<TableId>(tables_.size());
    tables_.emplace_back();
  } else {
    id = free_tables_.back();
    free_tables_.pop_back();
  }
  const NodeId tip = hit.blocks == 0 ? kRoot : cut(hit.node, hit.blocks);
  Table& table = tables_[id];
  table = Table{};
  table.content = content;
  table.tip = tip;
  table.computed = tokens(hit.blocks);
  table.allocated = table.registered = hit.blocks;
  table.most = params_.caching ? most / params_.block : 0;
  table.order = order;
  table.owner = owner;
  for (NodeId node = tip; node != kRoot; node = tree_[node].parent) hold(tree_[node].payload, id);
  return id;
}

void Pool::compute(TableId id, std::int64_t count, std::int64_t known) {
  Table& table = tables_[id];
  const std::int64_t blocks = need(id, count);
  const std::int64_t added = count - table.computed;
  take(blocks);
  table.allocated += blocks;
  table.sole += blocks;
  table.computed = count;
  MemoryAccount::Levels& levels = account_.levels;
  levels.referenced[static_cast<int>(table.phase)] += added;
  levels.partial[static_cast<int>(table.phase)] += tokens(blocks) - added;
  if (params_.caching) enter(id, std::min(count, known) / params_.block);
}

void Pool::close(TableId id, bool finished) {
  if (tables_[id].decoding) stop_decoding(id);
  if (finished && params_.caching) enter(id, tables_[id].computed / params_.block);
  Table& table = tables_[id];
  MemoryAccount::Levels& levels = account_.levels;
  const std::int64_t partial = tokens(table.allocated) - table.computed;
  levels.referenced[static_cast<int>(table.phase)] -= tokens(table.sole) - partial;
  levels.partial[static_cast<int>(table.phase)] -= partial;
  push_unkeyed(table.allocated - table.registered);
  if (table.growing) freeze(table.tip);
  const NodeId tip = table.tip;
  for (NodeId node = tip; node != kRoot; node = tree_[node].parent) drop(held_copy(node, id), id);
  join_path(tip);
  free_tables_.push_back(id);
}

void Pool::rewind(TableId id) {
  Table& table = tables_[id];
  check(!table.decoding && table.computed > 0, "a table that decodes or is empty was taken back");
  --table.computed;
  --account_.levels.referenced[static_cast<int>(table.phase)];
  ++account_.levels.partial[static_cast<int>(table.phase)];
}

void Pool::set_phase(TableId id, Phase phase) {
  Table& table = tables_[id];
  if (table.phase == phase) return;
  const std::int64_t partial = tokens(allocated(id)) - computed(id);
  const std::int64_t held = tokens(table.sole + allocated(id) - table.allocated) - partial;
  MemoryAccount::Levels& levels = account_.levels;
  levels.referenced[static_cast<int>(table.phase)] -= held;
  levels.partial[static_cast<int>(table.phase)] -= partial;
  levels.referenced[static_cast<int>(phase)] += held;
  levels.partial[static_cast<int>(phase)] += partial;
  table.phase = phase;
  forget(fresh_, id);
}

// A call's own copy where it computed one; else the oldest, which is what it hit, and which has stayed the oldest because it is held.
CopyId Pool::held_copy(NodeId node, TableId id) const {
  for (CopyId copy = tree_[node].payload; copy != kNone; copy = copies_[copy].younger)
    if (copies_[copy].creator == id) return copy;
  return tree_[node].payload;
}

void Pool::hold(CopyId id, TableId table_id) {
  Copy& copy = copies_[id];
  Table& table = tables_[table_id];
  const std::int64_t blocks = length(id);
  MemoryAccount::Levels& levels = account_.levels;
  if (copy.fenced) touch(id);
  if (copy.holders == 0) {
    list_.unlink(id);
    book(KvState::cached_hit, copy, blocks);
    keyed_free_ -= blocks;
    table.sole += blocks;
    levels.referenced[static_cast<int>(table.phase)] += tokens(blocks);
  } else if (copy.holders == 1) {
    Table& other = tables_[copy.holder];
    other.sole -= blocks;
    levels.referenced[static_cast<int>(other.phase)] -= tokens(blocks);
    levels.shared += tokens(blocks);
  }
  ++copy.holders;
  copy.holder ^= table_id;
  if (!copy.several && copy.owner != table.owner) {
    owners_.release(copy.owner);
    copy.owner = OwnerId{};
    copy.several = true;
  }
}

void Pool::drop(CopyId id, TableId table_id) {
  Copy& copy = copies_[id];
  const std::int64_t blocks = length(id);
  --copy.holders;
  copy.holder ^= table_id;
  if (copy.creator == table_id) copy.creator = kNone;
  if (copy.holders == 0) {
    start_interval(copy);
    keyed_free_ += blocks;
    list_.push_back(id);
  } else if (copy.holders == 1) {
    Table& other = tables_[copy.holder];
    other.sole += blocks;
    account_.levels.shared -= tokens(blocks);
    account_.levels.referenced[static_cast<int>(other.phase)] += tokens(blocks);
  }
}

void Pool::take(std::int64_t blocks) {
  check(blocks <= free_blocks(), "more blocks were handed out than are free");
  while (blocks > 0) {
    const CopyId head = list_.head();
    Copy& copy = copies_[head];
    if (copy.node == kNone) {
      const std::int64_t part = std::min(blocks, copy.blocks);
      copy.blocks -= part;
      unkeyed_free_ -= part;
      account_.levels.free -= tokens(part);
      blocks -= part;
      if (copy.blocks == 0) {
        list_.unlink(head);
        free_copies_.push_back(head);
      }
    } else {
      const std::int64_t part = std::min(blocks, length(head));
      evict(head, part);
      blocks -= part;
    }
  }
}

// Takes the deepest blocks of a free copy away.
void Pool::evict(CopyId id, std::int64_t blocks) {
  const NodeId node = copies_[id].node;
  if (copies_[id].fenced) touch(id);
  book(KvState::cached_never, copies_[id], blocks);
  if (eviction_log_)
    for (std::int64_t i = 0; i < blocks; ++i) eviction_log_->push_back(tree_.prefix(node, tree_[node].hi - i));
  keyed_free_ -= blocks;
  evicted_ += blocks;
  const bool lone = tree_[node].payload == id && copies_[id].younger == kNone;
  if (lone && blocks < length(id)) {
    check(tree_[node].children == 0, "a block was handed out before the blocks behind it");
    tree_[node].hi -= blocks;
    return;
  }
  if (blocks < length(id)) split(node, tree_[node].hi - blocks);
  list_.unlink(id);
  remove_copy(id);
}

void Pool::push_unkeyed(std::int64_t blocks) {
  if (blocks == 0) return;
  unkeyed_free_ += blocks;
  account_.levels.free += tokens(blocks);
  const CopyId neighbour = params_.unhashed_first ? list_.head() : list_.tail();
  if (neighbour != kNone && copies_[neighbour].node == kNone) {
    copies_[neighbour].blocks += blocks;
    return;
  }
  const CopyId id = make_copy();
  copies_[id].blocks = blocks;
  params_.unhashed_first ? list_.push_front(id) : list_.push_back(id);
}

void Pool::book(KvState fate, const Copy& copy, std::int64_t blocks) {
  const Time now = account_.now();
  if (copy.freed == now) return;
  if (copy.several)
    account_.cached_shared(fate, tokens(blocks), copy.freed, now);
  else
    account_.cached(fate, tokens(blocks), copy.times, owners_.times(copy.owner, now));
}

void Pool::start_interval(Copy& copy) {
  copy.freed = account_.now();
  if (!copy.several) copy.times = owners_.times(copy.owner, copy.freed);
}

void Pool::flush(Time now) {
  advance(now);
  for (CopyId id = list_.head(); id != kNone; id = copies_[id].behind) {
    Copy& copy = copies_[id];
    if (copy.node == kNone) continue;
    book(KvState::cached_unknown, copy, length(id));
    start_interval(copy);
  }
}

std::vector<Content> Pool::free_contents() const {
  std::vector<Content> contents;
  for (CopyId id = list_.head(); id != kNone; id = copies_[id].behind) {
    const Copy& copy = copies_[id];
    if (copy.node == kNone)
      contents.resize(contents.size() + static_cast<std::size_t>(copy.blocks));
    else
      for (std::int64_t block = tree_[copy.node].hi; block > tree_[copy.node].lo; --block)
        contents.push_back(tree_.prefix(copy.node, block));
  }
  return contents;
}

std::vector<Content> Pool::cached_contents() const {
  std::vector<Content> contents;
  for (const Copy& copy : copies_)
    if (copy.node != kNone)
      for (std::int64_t block = tree_[copy.node].lo; block < end(copy.node); ++block)
        contents.push_back(tree_.prefix(copy.node, block + 1));
  return contents;
}

}  // namespace marea::kv
