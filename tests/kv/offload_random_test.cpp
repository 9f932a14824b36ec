// The host pool in segments against the one block by block, after every operation of random workloads of chains that share prefixes.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/kv/offload_reference.h"

namespace marea::kv {
namespace {

class Duel {
 public:
  Duel(std::uint64_t seed, std::int64_t block, std::int64_t blocks, Replacement replacement)
      : random_(seed), block_(block), capacity_(blocks), pool_(block, blocks, replacement), reference_(block, blocks, replacement) {
    pool_.watch_evictions(&evicted_);
  }

  void step() {
    if (contents_.size() < 4 || chance(8)) change_contents();
    const Content& content = contents_[pick(contents_.size())];
    compare_lookups(content);
    const std::uint64_t what = pick(100);
    if (what < 25) {
      refresh(content);
    } else if (what < 55) {
      store(content);
    } else if (what < 75) {
      load(content);
    } else if (!transfers_.empty()) {
      end(pick(transfers_.size()), what < 80);
    }
    compare();
  }

  // Ends what is under way, then drives everything out: two chains that are used again and again, so that T1 empties and T2 and B2 are
  // theirs, and a long one that is not, so that B1 is. Each block is a store of its own.
  void drain() {
    while (!transfers_.empty()) end(transfers_.size() - 1, false);
    const std::uint64_t last = span_;
    for (const std::int64_t blocks : {capacity_, capacity_, 3 * capacity_}) {
      const Content content{{++span_, 0, blocks * block_}};
      for (std::int64_t key = 0; key < blocks; ++key) {
        store(content, {key, key + 1}, {key, key + 1});
        end(0, false);
        if (blocks == capacity_) refresh(content, key + 1);
        compare();
      }
    }
    const OffloadPool::Lists lists = pool_.lists();
    for (const auto* list : {&lists.idle, &lists.t1, &lists.t2, &lists.b1, &lists.b2})
      for (const Content& content : *list) CHECK(content.front().span > last);
    compare_segments();
  }

  // No more than there must be. Blocks in transfer need not be apart, but may be.
  void compare_segments() {
    if (transfers_.empty())
      CHECK(pool_.segments() == reference_.segments());
    else
      CHECK(pool_.segments() <= reference_.segments());
  }

  std::int64_t stored = 0, refused = 0, loaded = 0, cancelled = 0;

 private:
  struct Transfer {
    TransferId id;
    std::vector<Content> keys;
    bool store;
    bool exclusive;
  };

  std::uint64_t pick(std::uint64_t count) { return random_() % count; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(pick(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool chance(std::uint64_t percent) { return pick(100) < percent; }

  // A chain of its own, a longer one, or a branch of one.
  void change_contents() {
    Content content;
    if (!contents_.empty() && !chance(25)) {
      const Content& from = contents_[pick(contents_.size())];
      std::int64_t keep = chance(50) ? length(from) : between(0, length(from));
      for (const Piece& piece : from) {
        append(content, {piece.span, piece.first, std::min(piece.length, keep)});
        keep -= std::min(piece.length, keep);
      }
    }
    append(content, {++span_, 0, between(1, 6 * block_)});
    if (chance(50)) append(content, {++span_, between(0, 3), between(1, 3 * block_)});
    if (length(content) / block_ > capacity_ + 8) return;
    contents_.push_back(content);
    if (contents_.size() > 12) contents_.erase(contents_.begin() + static_cast<std::ptrdiff_t>(pick(contents_.size())));
  }

  KeyRange some(const Content& content) {
    const std::int64_t from = chance(40) ? 0 : between(0, length(content) / block_);
    return {from, between(from, length(content) / block_)};
  }

  void refresh(const Content& content) { refresh(content, chance(60) ? length(content) / block_ : between(0, length(content) / block_)); }
  void refresh(const Content& content, std::int64_t keys) {
    pool_.refresh(content, keys);
    reference_.refresh(reference_.keys(content, {0, keys}));
  }

  void store(const Content& content) {
    const KeyRange offered = some(content);
    const KeyRange spared = chance(70) ? offered : chance(50) ? some(content) : KeyRange{};
    if (store(content, offered, spared) && chance(70)) refresh(content);
  }
  bool store(const Content& content, KeyRange offered, KeyRange spared) {
    std::vector<KeyRange> keys;
    pool_.missing(content, offered, keys);
    if (keys.size() > 1 && chance(30)) keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(pick(keys.size())));
    if (keys.empty()) return false;
    std::vector<Content> wanted;
    for (const KeyRange& range : keys)
      for (const Content& key : reference_.keys(content, range)) wanted.push_back(key);
    TransferId id = 0;
    const bool done = pool_.begin_store(content, keys, spared, id);
    CHECK(done == reference_.begin_store(wanted, reference_.keys(content, spared)));
    ++(done ? stored : refused);
    if (done) transfers_.push_back({id, wanted, true, false});
    return done;
  }

  void load(const Content& content) {
    KeyRange keys = some(content);
    const OffloadPool::Found found = pool_.find(content, keys);
    if (found.present == 0 || found.storing) return;
    keys.to = keys.from + found.present;
    const bool exclusive = chance(60);
    if (exclusive && pool_.loading(content, keys) && chance(80)) return;
    ++loaded;
    transfers_.push_back({pool_.begin_load(content, keys, exclusive), reference_.keys(content, keys), false, exclusive});
    reference_.begin_load(transfers_.back().keys, exclusive);
  }

  void end(std::size_t which, bool cancel) {
    const Transfer transfer = transfers_[which];
    transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(which));
    if (!transfer.store) {
      pool_.end_load(transfer.id);
      reference_.end_load(transfer.keys, transfer.exclusive);
    } else if (cancel) {
      pool_.cancel_store(transfer.id);
      reference_.cancel_store(transfer.keys);
      ++cancelled;
    } else {
      pool_.end_store(transfer.id);
      reference_.end_store(transfer.keys);
    }
  }

  void compare_lookups(const Content& content) {
    const KeyRange range = some(content);
    OffloadPool::Found found;
    bool counting = true;
    bool loading = false;
    std::vector<std::int64_t> gone;
    std::int64_t key = range.from;
    for (const Content& chain : reference_.keys(content, range)) {
      counting = counting && reference_.present(chain);
      if (counting) ++found.present;
      if (counting && reference_.storing(chain)) found.storing = true;
      loading = loading || reference_.loading(chain);
      if (!reference_.present(chain)) gone.push_back(key);
      ++key;
    }
    CHECK(pool_.find(content, range).present == found.present);
    CHECK(pool_.find(content, range).storing == found.storing);
    CHECK(pool_.loading(content, range) == loading);
    std::vector<KeyRange> ranges;
    pool_.missing(content, range, ranges);
    std::vector<std::int64_t> missing;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      CHECK(ranges[i].from < ranges[i].to);
      if (i > 0) CHECK(ranges[i - 1].to < ranges[i].from);
      for (std::int64_t k = ranges[i].from; k < ranges[i].to; ++k) missing.push_back(k);
    }
    CHECK(missing == gone);
  }

  void compare() {
    const OffloadPool::Lists mine = pool_.lists();
    const OffloadPool::Lists plain = reference_.lists();
    CHECK(mine.idle == plain.idle);
    CHECK(mine.t1 == plain.t1);
    CHECK(mine.t2 == plain.t2);
    CHECK(mine.b1 == plain.b1);
    CHECK(mine.b2 == plain.b2);
    CHECK(mine.target == plain.target);  // to the last bit
    CHECK(pool_.blocks().free == reference_.blocks().free);
    CHECK(pool_.blocks().idle == reference_.blocks().idle);
    CHECK(pool_.blocks().busy == reference_.blocks().busy);
    CHECK(evicted_ == reference_.evicted());
    CHECK(pool_.evicted() == static_cast<std::int64_t>(reference_.evicted().size()));
  }

  std::mt19937_64 random_;
  std::int64_t block_;
  std::int64_t capacity_;
  OffloadPool pool_;
  BlockwiseOffloadPool reference_;
  std::vector<Content> evicted_;
  std::vector<Content> contents_;
  std::vector<Transfer> transfers_;
  std::uint64_t span_ = 0;
};

void fight(Replacement replacement) {
  std::int64_t stored = 0, refused = 0, loaded = 0, cancelled = 0;
  for (const std::int64_t block : {1, 3, 16}) {
    for (const std::int64_t blocks : {4, 17, 60}) {
      const std::uint64_t seed = static_cast<std::uint64_t>(1000 * block + blocks);
      INFO("seed ", seed, ", block ", block, ", blocks ", blocks);
      Duel duel(seed, block, blocks, replacement);
      for (int i = 0; i < 4000; ++i) {
        INFO("operation ", i);
        duel.step();
        if (i % 20 == 0) duel.compare_segments();
      }
      duel.drain();
      stored += duel.stored, refused += duel.refused, loaded += duel.loaded, cancelled += duel.cancelled;
    }
  }
  MESSAGE("seeds 1000 block + blocks; stores ", stored, ", refused ", refused, ", loads ", loaded, ", cancelled ", cancelled);
  CHECK(stored > 1000);
  CHECK(refused > 300);
  CHECK(loaded > 1000);
  CHECK(cancelled > 50);
}

TEST_CASE("the least recently used order is that of a pool block by block") { fight(Replacement::lru); }

TEST_CASE("ARC is that of a pool block by block") { fight(Replacement::arc); }

}  // namespace
}  // namespace marea::kv
