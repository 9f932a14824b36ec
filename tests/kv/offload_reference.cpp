// The rules of replacement, one block at a time.
#include "tests/kv/offload_reference.h"

#include "sim/base/error.h"

namespace marea::kv {
namespace {

bool has(const auto& keys, const Content& key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

bool take(std::list<Content>& keys, const Content& key) {
  const auto at = std::find(keys.begin(), keys.end(), key);
  if (at == keys.end()) return false;
  keys.erase(at);
  return true;
}

void to_tail(std::list<Content>& keys, const Content& key) {
  take(keys, key);
  keys.push_back(key);
}

std::vector<Content> all(const std::list<Content>& keys) { return {keys.begin(), keys.end()}; }

}  // namespace

std::vector<Content> BlockwiseOffloadPool::keys(ContentView content, KeyRange range) const {
  std::vector<Key> out;
  Key key;
  std::int64_t tokens = 0;
  for (const Piece& piece : content) {
    for (std::int64_t i = 0; i < piece.length; ++i) {
      append(key, {piece.span, piece.first + i, 1});
      ++tokens;
      if (tokens % block_ == 0 && tokens / block_ > range.from && tokens / block_ <= range.to) out.push_back(key);
    }
  }
  return out;
}

void BlockwiseOffloadPool::refresh(const std::vector<Key>& keys) {
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) refresh(*key);
}

void BlockwiseOffloadPool::refresh(const Key& key) {
  if (!arc_) {
    if (has(lru_, key)) to_tail(lru_, key);
    return;
  }
  const auto b1 = static_cast<double>(b1_.size());
  const auto b2 = static_cast<double>(b2_.size());
  if (has(t1_, key)) {
    if (storing(key)) return to_tail(t1_, key);
    take(t1_, key);
    t2_.push_back(key);
  } else if (has(t2_, key)) {
    to_tail(t2_, key);
  } else if (has(b1_, key)) {
    target_ = std::min(target_ + std::max(1.0, b2 / b1), static_cast<double>(capacity_));
    to_tail(b1_, key);
  } else if (has(b2_, key)) {
    target_ = std::max(target_ - std::max(1.0, b1 / b2), 0.0);
    to_tail(b2_, key);
  }
}

bool BlockwiseOffloadPool::select(std::int64_t need, const std::vector<Key>& spared, std::vector<Key>& victims) const {
  auto t1 = static_cast<std::int64_t>(t1_.size());
  const auto first = [&](const Keys& keys) {
    for (const Key& key : keys)
      if (idle(key) && !has(spared, key) && !has(victims, key)) return victims.push_back(key), true;
    return false;
  };
  for (; need > 0; --need) {
    if (!arc_) {
      if (!first(lru_)) return false;
    } else if (t1 >= static_cast<std::int64_t>(target_) && first(t1_)) {
      --t1;
    } else if (!first(t2_)) {
      return false;
    }
  }
  return true;
}

void BlockwiseOffloadPool::evict(const Key& key) {
  evicted_.push_back(key);
  entries_.erase(key);
  take(lru_, key);
  if (take(t1_, key)) b1_.push_back(key);
  if (take(t2_, key)) b2_.push_back(key);
}

bool BlockwiseOffloadPool::begin_store(const std::vector<Key>& keys, const std::vector<Key>& spared) {
  const auto count = static_cast<std::int64_t>(keys.size());
  std::vector<Key> victims;
  if (!select(count - (capacity_ - static_cast<std::int64_t>(entries_.size())), spared, victims)) return false;
  for (const Key& key : victims) evict(key);
  for (Keys* ghosts : {&b1_, &b2_})
    while (static_cast<std::int64_t>(ghosts->size()) > capacity_) ghosts->pop_front();
  for (const Key& key : keys) {
    entries_[key].count = -1;
    take(b1_, key);
    take(b2_, key);
    if (arc_) t1_.push_back(key);
  }
  return true;
}

void BlockwiseOffloadPool::end_store(const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    entries_.at(key).count = 0;
    if (!arc_) lru_.push_back(key);
  }
}

void BlockwiseOffloadPool::cancel_store(const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    entries_.erase(key);
    take(t1_, key);
  }
}

void BlockwiseOffloadPool::begin_load(const std::vector<Key>& keys, bool exclusive) {
  for (const Key& key : keys) {
    check(entries_.at(key).count >= 0, "a block is loaded that is being stored");
    ++entries_.at(key).count;
    if (exclusive) ++entries_.at(key).exclusive;
    take(lru_, key);
  }
}

void BlockwiseOffloadPool::end_load(const std::vector<Key>& keys, bool exclusive) {
  for (const Key& key : keys) {
    --entries_.at(key).count;
    if (exclusive) --entries_.at(key).exclusive;
    if (!arc_ && idle(key)) lru_.push_back(key);
  }
}

Content BlockwiseOffloadPool::parent(const Key& key) const {
  const std::vector<Key> chain = keys(key, {0, length(key) / block_});
  return chain.size() > 1 ? chain[chain.size() - 2] : Key{};
}

// All keys that are there or remembered, and those before them.
BlockwiseOffloadPool::Standings BlockwiseOffloadPool::standings() const {
  Standings all;
  for (const Keys* list : {&lru_, &t1_, &t2_, &b1_, &b2_}) {
    std::int64_t place = 0;
    for (const Key& key : *list) all[key] = {list, ++place};
  }
  for (const auto& [key, entry] : entries_) all[key].busy = entry.count != 0;
  const Standings known = all;
  for (const auto& entry : known) {
    for (Key key = parent(entry.first); !key.empty(); key = parent(key)) {
      const bool seen = all.contains(key);
      ++all[key].children;
      if (seen) break;
    }
  }
  return all;
}

std::int64_t BlockwiseOffloadPool::segments() const {
  const Standings all = standings();
  std::int64_t count = 0;
  for (const auto& [key, deep] : all) {
    const auto top = all.find(parent(key));
    const bool joined = top != all.end() && top->second.children == 1 && !deep.busy && !top->second.busy && deep.list == top->second.list &&
                        (deep.list == nullptr || std::abs(deep.place - top->second.place) == 1);
    if (!joined) ++count;
  }
  return count;
}

OffloadPool::Lists BlockwiseOffloadPool::lists() const { return {all(lru_), all(t1_), all(t2_), all(b1_), all(b2_), target_}; }

OffloadPool::Blocks BlockwiseOffloadPool::blocks() const {
  OffloadPool::Blocks out;
  for (const auto& entry : entries_) ++(entry.second.count == 0 ? out.idle : out.busy);
  out.free = capacity_ - out.idle - out.busy;
  return out;
}

}  // namespace marea::kv
