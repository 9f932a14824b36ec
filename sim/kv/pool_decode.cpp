// Calls that decode: moved on all at once, one token a tick.
#include <algorithm>

#include "sim/kv/pool.h"

namespace marea::kv {

std::int64_t Pool::computed(TableId id) const {
  const Table& table = tables_[id];
  return table.decoding ? table.base + tick_ : table.computed;
}

std::int64_t Pool::allocated(TableId id) const {
  const Table& table = tables_[id];
  return table.decoding ? blocks_for(table.base + tick_) : table.allocated;
}

// A new block is taken in the ticks t with (base + t - 1) divisible by the block size.
std::int64_t Pool::crossing_slot(const Table& table) const {
  const std::int64_t slot = (1 - table.base) % params_.block;
  return slot < 0 ? slot + params_.block : slot;
}

void Pool::start_decoding(TableId id) {
  Table& table = tables_[id];
  table.decoding = true;
  table.base = table.computed - tick_;
  ++decoding_;
  ++crossing_[crossing_slot(table)];
  if (table.phase == Phase::prefill) fresh_.push_back(id);
  if (!table.growing && table.registered < table.most) seek_growth(id);
}

void Pool::stop_decoding(TableId id) {
  Table& table = tables_[id];
  --decoding_;
  --crossing_[crossing_slot(table)];
  settle(id);
  table.decoding = false;
  if (table.phase == Phase::prefill) forget(fresh_, id);
  if (!table.growing) forget(contested_, id);
}

// Writes down what follows from the ticks so far.
void Pool::settle(TableId id) {
  Table& table = tables_[id];
  table.registered = registered(table);
  if (table.growing) tree_[table.tip].hi = table.registered;
  table.sole += allocated(id) - table.allocated;
  table.allocated = allocated(id);
  table.computed = table.base + tick_;
}

// Gives the table a node of its own to grow into, unless the content of its next block is there already.
void Pool::seek_growth(TableId id) {
  const Table& table = tables_[id];
  if (tree_.child(table.tip, PieceCursor(table.content, tokens(table.registered))) == kNone)
    add_node(id, table.registered);
  else
    contested_.push_back(id);
}

void Pool::forget(std::vector<TableId>& list, TableId id) {
  const auto it = std::find(list.begin(), list.end(), id);
  if (it == list.end()) return;
  *it = list.back();
  list.pop_back();
}

void Pool::tick() {
  ++tick_;
  slot_ = slot_ + 1 == params_.block ? 0 : slot_ + 1;
  const std::int64_t blocks = crossing_[slot_];
  take(blocks);
  MemoryAccount::Levels& levels = account_.levels;
  levels.referenced[1] += decoding_;
  levels.partial[1] += tokens(blocks) - decoding_;
  for (const TableId id : fresh_) {
    const std::int64_t taken = tokens(crossing_slot(tables_[id]) == slot_ ? 1 : 0);
    levels.referenced[1] -= 1;
    levels.referenced[0] += 1;
    levels.partial[1] -= taken - 1;
    levels.partial[0] += taken - 1;
  }
}

void Pool::publish_before(std::uint64_t order) {
  while (!contested_.empty()) {
    // The first in running order that has a block to register.
    TableId first = kNone;
    for (const TableId id : contested_) {
      const Table& table = tables_[id];
      if (table.order >= order || (table.base + tick_ - params_.lag) / params_.block <= table.registered) continue;
      if (first == kNone || table.order < tables_[first].order) first = id;
    }
    if (first == kNone) break;
    Table& table = tables_[first];
    pass_ = table.order;
    enter(first, std::min(table.most, (table.base + tick_ - params_.lag) / params_.block));
    if (table.growing || table.registered == table.most) forget(contested_, first);
  }
  pass_ = order;
}

std::int64_t Pool::ticks_before_growth(TableId id) const {
  const Table& table = tables_[id];
  if (!table.decoding) return 0;
  return tokens(registered(table) + 1) + params_.lag - table.base - 1 - tick_;
}

std::int64_t Pool::quiet_ticks(std::int64_t limit) const {
  for (const TableId id : contested_) limit = std::min(limit, ticks_before_growth(id));
  std::int64_t free = free_blocks();
  // A full cycle of `block` ticks takes one block for each call.
  if (decoding_ == 0 || limit <= 0 || free / decoding_ > limit / params_.block) return limit;
  const std::int64_t cycles = free / decoding_;
  std::int64_t ticks = cycles * params_.block;
  free -= cycles * decoding_;
  for (std::int64_t slot = next_slot(); ticks < limit && crossing_[slot] <= free; ++ticks) {
    free -= crossing_[slot];
    slot = slot + 1 == params_.block ? 0 : slot + 1;
  }
  return std::min(limit, ticks);
}

void Pool::repeat(std::span<const Time> boundaries) {
  for (const Time now : boundaries) {
    advance(now);
    tick();
  }
}

}  // namespace marea::kv
