// How tree nodes and their copies are made, cut, joined and extended.
#include <algorithm>

#include "sim/kv/pool.h"

namespace marea::kv {

// Blocks of a table that are registered now, seen from the current place of the running pass.
std::int64_t Pool::registered(const Table& table) const {
  if (!table.decoding || !table.growing) return table.registered;
  const std::int64_t ticks = table.order > pass_ ? tick_ - 1 : tick_;
  return std::max(table.registered, std::min(table.most, (table.base + ticks - params_.lag) / params_.block));
}

std::int64_t Pool::end(NodeId id) const {
  const PrefixTree::Node& node = tree_[id];
  return node.grower == kNone ? node.hi : registered(tables_[node.grower]);
}

// The node that ends at block `at` of this one's chain and that nobody extends; `id` itself where that is so.
NodeId Pool::cut(NodeId id, std::int64_t at) {
  const PrefixTree::Node& node = tree_[id];
  if (node.grower == kNone) return at == node.hi ? id : split(id, at);
  if (at < tables_[node.grower].most) return split(id, at);
  freeze(id);
  return id;
}

NodeId Pool::split(NodeId id, std::int64_t at) {
  const NodeId upper = tree_.split(id, at);
  CopyId last = kNone;
  for (CopyId deep = tree_[id].payload; deep != kNone; deep = copies_[deep].younger) {
    const CopyId top = make_copy();
    copies_[top] = copies_[deep];
    Copy& copy = copies_[top];
    copy.node = upper;
    copy.younger = kNone;
    if (!copy.several) owners_.hold(copy.owner);
    if (copy.holders == 0) list_.insert_behind(deep, top);  // deepest first
    (last == kNone ? tree_[upper].payload : copies_[last].younger) = top;
    if (copy.fenced)
      for (std::size_t i = 0, count = fences_.size(); i < count; ++i)
        if (fences_[i].copy == deep) fences_.push_back({top, fences_[i].id});
    last = top;
  }
  return upper;
}

// Ends the growth of a node where it stands; its table goes on without one.
void Pool::freeze(NodeId id) {
  PrefixTree::Node& node = tree_[id];
  const TableId grower = node.grower;
  Table& table = tables_[grower];
  table.registered = node.hi = registered(table);
  table.growing = false;
  node.grower = kNone;
  if (node.hi == node.lo) {
    table.tip = node.parent;
    remove_copy(node.payload);
  }
  if (table.decoding && table.registered < table.most) contested_.push_back(grower);
}

// A new node of the table's own content below its tip, reaching to block `hi` and, as content, as far as the table ever will.
void Pool::add_node(TableId id, std::int64_t hi) {
  Table& table = tables_[id];
  const PieceCursor at(table.content, tokens(table.registered));
  const NodeId node = tree_.add(table.tip, table.registered, hi, at, tokens(table.most - table.registered));
  tree_[node].grower = id;
  add_copy(node, id);
  table.tip = node;
  table.growing = true;
  table.registered = hi;
}

// A copy that the table has computed, behind those that are there.
void Pool::add_copy(NodeId node, TableId id) {
  const CopyId made = make_copy();
  Copy& copy = copies_[made];
  copy.node = node;
  copy.holders = 1;
  copy.holder = copy.creator = id;
  copy.owner = tables_[id].owner;
  owners_.hold(copy.owner);
  std::uint32_t* link = &tree_[node].payload;
  while (*link != kNone) link = &copies_[*link].younger;
  *link = made;
}

// Removes a copy that is in no list, and its node with the last one.
void Pool::remove_copy(CopyId id) {
  Copy& copy = copies_[id];
  std::uint32_t* link = &tree_[copy.node].payload;
  while (*link != id) link = &copies_[*link].younger;
  *link = copy.younger;
  if (!copy.several) owners_.release(copy.owner);
  if (copy.fenced) std::erase_if(fences_, [id](const Fence& fence) { return fence.copy == id; });
  if (tree_[copy.node].payload == kNone) tree_.remove(copy.node);
  copy.node = kNone;
  free_copies_.push_back(id);
}

// Registers the table's blocks up to `upto`. Blocks whose content is registered already become further copies of it.
void Pool::enter(TableId id, std::int64_t upto) {
  Table& table = tables_[id];
  while (table.registered < upto) {
    if (table.growing) {
      tree_[table.tip].hi = table.registered = upto;
      return;
    }
    PieceCursor at(table.content, tokens(table.registered));
    const NodeId next = tree_.child(table.tip, at);
    if (next == kNone) {
      add_node(id, upto);
      return;
    }
    const std::int64_t have = end(next) - tree_[next].lo;
    const std::int64_t common = tree_.match(next, at, tokens(upto - table.registered)) / params_.block;
    if (common > have && tree_[next].grower != kNone) {
      freeze(next);  // both want to extend it the same way
      continue;
    }
    const std::int64_t part = std::min(common, have);
    const NodeId node = cut(next, table.registered + part);
    add_copy(node, id);
    table.tip = node;
    table.registered += part;
  }
}

// Joins what a freed table leaves behind into longer segments, from its deepest node upwards.
void Pool::join_path(NodeId leaf) {
  while (leaf != kRoot && tree_[leaf].parent != kRoot) {
    const NodeId parent = tree_[leaf].parent;
    if (tree_[leaf].children != 0 || tree_[parent].children != 1) return;
    const CopyId deep = tree_[leaf].payload;
    const CopyId top = tree_[parent].payload;
    const Copy& a = copies_[deep];
    const Copy& b = copies_[top];
    if (a.younger != kNone || b.younger != kNone || a.holders != 0 || b.holders != 0 || a.behind != top) return;
    if (a.fenced || b.fenced || a.freed != b.freed || a.several != b.several || a.owner != b.owner) return;
    list_.unlink(deep);
    if (!a.several) owners_.release(a.owner);
    copies_[deep].node = kNone;
    free_copies_.push_back(deep);
    tree_.absorb(leaf);
    leaf = parent;
  }
}

void Pool::fence(TableId id, std::int64_t from, std::int64_t to, FenceId fence) {
  NodeId node = tables_[id].tip;
  while (node != kRoot && end(node) > from) {
    if (tree_[node].lo < to) {
      if (end(node) > to) node = cut(node, to);
      if (tree_[node].lo < from) split(node, from);
      const CopyId copy = held_copy(node, id);
      copies_[copy].fenced = true;
      fences_.push_back({copy, fence});
    }
    node = tree_[node].parent;
  }
}

void Pool::lift_fence(FenceId fence) {
  for (std::size_t i = fences_.size(); i-- > 0;) {
    if (fences_[i].id != fence) continue;
    const CopyId copy = fences_[i].copy;
    fences_.erase(fences_.begin() + static_cast<std::ptrdiff_t>(i));
    copies_[copy].fenced = std::any_of(fences_.begin(), fences_.end(), [copy](const Fence& other) { return other.copy == copy; });
  }
}

void Pool::fences_of(TableId id, std::vector<FenceId>& out) const {
  if (fences_.empty()) return;
  for (NodeId node = tables_[id].tip; node != kRoot; node = tree_[node].parent) {
    const CopyId copy = held_copy(node, id);
    if (!copies_[copy].fenced) continue;
    for (const Fence& fence : fences_)
      if (fence.copy == copy) out.push_back(fence.id);
  }
}

void Pool::touch(CopyId copy) {
  for (const Fence& fence : fences_)
    if (fence.copy == copy) touched_fences_.push_back(fence.id);
}

CopyId Pool::make_copy() {
  if (free_copies_.empty()) {
    copies_.emplace_back();
    return static_cast<CopyId>(copies_.size() - 1);
  }
  const CopyId id = free_copies_.back();
  free_copies_.pop_back();
  copies_[id] = Copy{};
  return id;
}

}  // namespace marea::kv
