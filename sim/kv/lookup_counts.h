// How often blocks of content were asked for, so that a store may wait until a block has proved its use. One count for every block that
// was ever asked for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/kv/cursor.h"
#include "sim/kv/offload_pool.h"

namespace marea::kv {

class LookupCounts {
 public:
  explicit LookupCounts(std::int64_t block) : block_(block) {}

  void count(ContentView content, KeyRange keys) {
    walk(content, keys, [this](std::int64_t, std::uint64_t chain) { ++counts_[chain]; });
  }

  // Leaves those keys that were counted at least `threshold` times.
  void keep(ContentView content, std::int64_t threshold, std::vector<KeyRange>& keys) const {
    std::vector<KeyRange> kept;
    for (const KeyRange& range : keys) {
      walk(content, range, [&](std::int64_t key, std::uint64_t chain) {
        const auto at = counts_.find(chain);
        if (at == counts_.end() || at->second < threshold) return;
        if (!kept.empty() && kept.back().to == key)
          ++kept.back().to;
        else
          kept.push_back({key, key + 1});
      });
    }
    keys.swap(kept);
  }

 private:
  // Calls with each key and a hash of the whole chain up to its end.
  template <class Visit>
  void walk(ContentView content, KeyRange keys, Visit&& visit) const {
    PieceCursor at(content);
    std::uint64_t chain = 0;
    for (std::int64_t key = 0; key < keys.to; ++key) {
      chain = PieceCursor::mix(chain ^ at.hash(block_));
      at.advance(block_);
      if (key >= keys.from) visit(key, chain);
    }
  }

  std::int64_t block_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
};

}  // namespace marea::kv
