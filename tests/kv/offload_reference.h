// A host pool block by block, as plainly as the rules can be written down: a count for every key, and lists of keys. What the pool in
// segments is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <tuple>
#include <vector>

#include "sim/kv/offload_pool.h"

namespace marea::kv {

class BlockwiseOffloadPool {
 public:
  // The whole chain up to a block's end, its pieces merged where they can be.
  using Key = Content;

  BlockwiseOffloadPool(std::int64_t block, std::int64_t blocks, Replacement replacement)
      : block_(block), capacity_(blocks), arc_(replacement == Replacement::arc) {}

  std::vector<Key> keys(ContentView content, KeyRange range) const;

  bool present(const Key& key) const { return entries_.contains(key); }
  bool storing(const Key& key) const { return present(key) && entries_.at(key).count < 0; }
  bool loading(const Key& key) const { return present(key) && entries_.at(key).exclusive > 0; }

  void refresh(const std::vector<Key>& keys);
  bool begin_store(const std::vector<Key>& keys, const std::vector<Key>& spared);
  void end_store(const std::vector<Key>& keys);
  void cancel_store(const std::vector<Key>& keys);
  void begin_load(const std::vector<Key>& keys, bool exclusive);
  void end_load(const std::vector<Key>& keys, bool exclusive);

  OffloadPool::Lists lists() const;
  OffloadPool::Blocks blocks() const;
  const std::vector<Key>& evicted() const { return evicted_; }
  // Segments that the pool needs: a block and the one before it in its chain are one where nothing else goes on from there, and both are in
  // no transfer and side by side in a list, or both gone with something behind them still known.
  std::int64_t segments() const;

 private:
  struct Less {
    bool operator()(const Key& a, const Key& b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
        return std::tie(x.span, x.first, x.length) < std::tie(y.span, y.first, y.length);
      });
    }
  };
  struct Entry {
    int count = 0;      // -1 being stored, else the loads that pin it
    int exclusive = 0;  // of them, those that others wait for
  };
  using Keys = std::list<Key>;

  struct Standing {
    const Keys* list = nullptr;
    std::int64_t place = 0;
    bool busy = false;
    int children = 0;
  };
  using Standings = std::map<Key, Standing, Less>;

  Key parent(const Key& key) const;
  Standings standings() const;
  bool idle(const Key& key) const { return entries_.at(key).count == 0; }
  bool select(std::int64_t need, const std::vector<Key>& spared, std::vector<Key>& victims) const;
  void refresh(const Key& key);
  void evict(const Key& key);

  std::int64_t block_;
  std::int64_t capacity_;
  bool arc_;
  std::map<Key, Entry, Less> entries_;
  Keys lru_, t1_, t2_, b1_, b2_;
  double target_ = 0;
  std::vector<Key> evicted_;
};

}  // namespace marea::kv
