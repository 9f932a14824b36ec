// The host pool by itself: lookups, order of replacement, refusals and the number of its segments, small enough for a pencil.
#include "sim/kv/offload_pool.h"

#include <doctest/doctest.h>

namespace marea::kv {
namespace {

using Contents = std::vector<Content>;

constexpr std::int64_t kBlock = 4;

// The chain of span `span` up to the end of its block `block`, counted from 1.
Content chain(std::uint64_t span, std::int64_t block) { return {{span, 0, block * kBlock}}; }

struct Rig {
  Rig(std::int64_t blocks, Replacement replacement) : pool(kBlock, blocks, replacement) { pool.watch_evictions(&evicted); }

  TransferId begin(const Content& content, KeyRange keys) {
    TransferId id = kNone;
    REQUIRE(pool.begin_store(content, std::span(&keys, 1), keys, id));
    return id;
  }
  bool refused(const Content& content, KeyRange keys, KeyRange spared) {
    TransferId id = kNone;
    return !pool.begin_store(content, std::span(&keys, 1), spared, id);
  }
  void store(const Content& content, KeyRange keys) { pool.end_store(begin(content, keys)); }
  void load(const Content& content, KeyRange keys) { pool.end_load(pool.begin_load(content, keys, true)); }
  void check_blocks(std::int64_t free, std::int64_t idle, std::int64_t busy) const {
    CHECK(pool.blocks().free == free);
    CHECK(pool.blocks().idle == idle);
    CHECK(pool.blocks().busy == busy);
  }

  OffloadPool pool;
  std::vector<Content> evicted;
};

TEST_CASE("LRU: the end of a store appends the chain from its head, a refresh from its end") {
  Rig rig(6, Replacement::lru);
  const Content a = chain(1, 3);
  const TransferId id = rig.begin(a, {0, 3});
  rig.check_blocks(3, 0, 3);
  CHECK(rig.pool.find(a, {0, 3}).present == 3);
  CHECK(rig.pool.find(a, {0, 3}).storing);
  rig.pool.refresh(a, 3);  // in transfer: in no list
  CHECK(rig.pool.lists().idle.empty());
  rig.pool.end_store(id);
  rig.check_blocks(3, 3, 0);
  CHECK_FALSE(rig.pool.find(a, {0, 3}).storing);
  CHECK(rig.pool.lists().idle == Contents{chain(1, 1), chain(1, 2), chain(1, 3)});
  rig.pool.refresh(a, 2);
  CHECK(rig.pool.lists().idle == Contents{chain(1, 3), chain(1, 2), chain(1, 1)});
  rig.store(chain(2, 2), {0, 2});
  rig.store(chain(3, 3), {0, 3});  // one block is free, two are needed
  CHECK(rig.evicted == Contents{chain(1, 3), chain(1, 2)});
  CHECK(rig.pool.find(a, {0, 3}).present == 1);
  CHECK(rig.pool.evicted() == 2);
}

TEST_CASE("LRU: the head of a chain may go and come back before the rest") {
  Rig rig(4, Replacement::lru);
  rig.store(chain(1, 4), {0, 4});
  rig.store(chain(2, 2), {0, 2});
  CHECK(rig.evicted == Contents{chain(1, 1), chain(1, 2)});
  CHECK(rig.pool.find(chain(1, 4), {0, 4}).present == 0);
  CHECK(rig.pool.find(chain(1, 4), {2, 4}).present == 2);
  CHECK(rig.pool.find(chain(1, 4), {3, 4}).present == 1);
  std::vector<KeyRange> missing;
  const Content longer{{1, 0, 16}, {9, 0, 7}};  // a block and 3 tokens more
  rig.pool.missing(longer, {1, 5}, missing);
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].from == 1);
  CHECK(missing[0].to == 2);
  CHECK(missing[1].from == 4);
  CHECK(missing[1].to == 5);
  // Both ranges at once, of the chain's own blocks none may go: the other chain is evicted.
  TransferId id = kNone;
  REQUIRE(rig.pool.begin_store(longer, missing, {1, 5}, id));
  CHECK(rig.evicted == Contents{chain(1, 1), chain(1, 2), chain(2, 1), chain(2, 2)});
  rig.check_blocks(0, 2, 2);
  CHECK(rig.pool.find(longer, {1, 5}).present == 4);
  CHECK(rig.pool.find(longer, {2, 4}).present == 2);
  CHECK_FALSE(rig.pool.find(longer, {2, 4}).storing);
  rig.pool.cancel_store(id);
  rig.check_blocks(2, 2, 0);
  rig.pool.missing(longer, {0, 5}, missing);
  CHECK(missing.size() == 2);
  CHECK(rig.pool.lists().idle == Contents{chain(1, 3), chain(1, 4)});
}

TEST_CASE("LRU: spared keys are skipped, and where the rest is too little nothing happens") {
  Rig rig(4, Replacement::lru);
  const Content a = chain(1, 6);
  rig.store(a, {0, 4});
  CHECK(rig.refused(a, {4, 6}, {0, 6}));
  CHECK(rig.refused(a, {4, 6}, {1, 6}));  // one block may go, two are needed
  rig.check_blocks(0, 4, 0);
  CHECK(rig.evicted.empty());
  CHECK(rig.pool.lists().idle.size() == 4);
  CHECK(rig.pool.segments() == 1);
  CHECK_FALSE(rig.refused(a, {4, 6}, {0, 2}));
  CHECK(rig.evicted == Contents{chain(1, 3), chain(1, 4)});
  CHECK(rig.pool.lists().idle == Contents{chain(1, 1), chain(1, 2)});
}

TEST_CASE("LRU: loads pin, the last one to end makes the block the youngest") {
  Rig rig(5, Replacement::lru);
  const Content a = chain(1, 3);
  rig.store(a, {0, 3});
  rig.store(chain(2, 1), {0, 1});
  const TransferId first = rig.pool.begin_load(a, {1, 3}, true);
  const TransferId second = rig.pool.begin_load(a, {0, 2}, false);
  rig.check_blocks(1, 1, 3);
  CHECK(rig.pool.loading(a, {0, 2}));
  CHECK_FALSE(rig.pool.loading(a, {0, 1}));
  CHECK_FALSE(rig.pool.loading(a, {3, 3}));
  CHECK(rig.refused(chain(3, 3), {0, 3}, {}));  // one free and one idle block
  rig.pool.end_load(second);
  CHECK(rig.pool.lists().idle == Contents{chain(2, 1), chain(1, 1)});
  rig.pool.end_load(first);
  CHECK(rig.pool.lists().idle == Contents{chain(2, 1), chain(1, 1), chain(1, 2), chain(1, 3)});
  CHECK_FALSE(rig.pool.loading(a, {0, 3}));
  CHECK(rig.pool.segments() == 2);
}

TEST_CASE("ARC: T1, T2, ghosts and the target") {
  Rig rig(4, Replacement::arc);
  const Content a = chain(1, 2);
  const Content b = chain(2, 2);
  rig.store(a, {0, 2});
  rig.pool.refresh(a, 2);  // used again: T2, deepest first
  rig.store(b, {0, 2});
  const TransferId c = rig.begin(chain(3, 1), {0, 1});
  // |T1| = 2 >= 0: from T1.
  CHECK(rig.pool.lists().b1 == Contents{chain(2, 1)});
  rig.pool.refresh(chain(3, 1), 1);  // being stored: stays in T1
  CHECK(rig.pool.lists().t1 == Contents{chain(2, 2), chain(3, 1)});
  rig.pool.refresh(b, 2);  // block 2 to T2; block 1 a ghost: target 0 + max(1, 0 / 1)
  rig.pool.end_store(c);
  CHECK(rig.pool.lists().t2 == Contents{chain(1, 2), chain(1, 1), chain(2, 2)});
  CHECK(rig.pool.lists().target == 1);
  // |T1| = 1 >= 1: block 1 of the third chain; then 0 < 1: T2.
  const TransferId d = rig.begin(chain(4, 2), {0, 2});
  CHECK(rig.evicted == Contents{chain(2, 1), chain(3, 1), chain(1, 2)});
  CHECK(rig.pool.lists().b1 == Contents{chain(2, 1), chain(3, 1)});
  CHECK(rig.pool.lists().b2 == Contents{chain(1, 2)});
  rig.pool.refresh(a, 2);  // target max(0, 1 - 2 / 1)
  CHECK(rig.pool.lists().target == 0);
  for (int i = 0; i < 3; ++i) rig.pool.refresh(b, 1);  // three times max(1, 1 / 2)
  CHECK(rig.pool.lists().target == 3);
  CHECK(rig.pool.lists().b1 == Contents{chain(3, 1), chain(2, 1)});
  rig.pool.end_store(d);
  // |T1| = 2 < 3: T2 alone, which has 2, though 4 blocks are idle.
  rig.check_blocks(0, 4, 0);
  CHECK(rig.refused(chain(5, 3), {0, 3}, {}));
  CHECK(rig.evicted.size() == 3);
  CHECK_FALSE(rig.refused(chain(5, 2), {0, 2}, {}));
  CHECK(rig.pool.lists().b2 == Contents{chain(1, 2), chain(2, 2), chain(1, 1)});
  CHECK(rig.pool.lists().t1 == Contents{chain(4, 1), chain(4, 2), chain(5, 1), chain(5, 2)});
  rig.pool.refresh(a, 1);  // 3 - max(1, 2 / 3)
  rig.pool.refresh(b, 1);  // 2 + 3 / 2
  CHECK(rig.pool.lists().target == 3.5);
  rig.pool.refresh(b, 1);  // at most the capacity
  CHECK(rig.pool.lists().target == 4);
}

TEST_CASE("ARC: what is in transfer keeps its place and is passed over; ghosts end at the capacity and with a store") {
  Rig rig(3, Replacement::arc);
  const Content a = chain(1, 2);
  rig.store(a, {0, 2});
  rig.store(chain(2, 1), {0, 1});
  const TransferId load = rig.pool.begin_load(a, {0, 1}, true);
  rig.store(chain(3, 2), {0, 2});  // block 1 of the first chain is pinned
  CHECK(rig.evicted == Contents{chain(1, 2), chain(2, 1)});
  CHECK(rig.pool.lists().t1 == Contents{chain(1, 1), chain(3, 1), chain(3, 2)});
  rig.pool.end_load(load);
  CHECK(rig.pool.lists().t1 == Contents{chain(1, 1), chain(3, 1), chain(3, 2)});
  rig.store(chain(4, 3), {0, 3});
  CHECK(rig.pool.lists().b1 == Contents{chain(1, 1), chain(3, 1), chain(3, 2)});  // 5 ghosts, cut to 3
  const TransferId again = rig.begin(chain(3, 1), {0, 1});                        // its ghost was cut for that of its victim
  CHECK(rig.pool.lists().b1 == Contents{chain(3, 2), chain(4, 1)});
  rig.pool.cancel_store(again);
  CHECK(rig.pool.lists().t1 == Contents{chain(4, 2), chain(4, 3)});
  rig.check_blocks(1, 2, 0);
}

TEST_CASE("a long context that is loaded, refreshed and extended again and again stays a few segments") {
  for (const Replacement replacement : {Replacement::lru, Replacement::arc}) {
    Rig rig(3000, replacement);
    Content content;
    std::int64_t keys = 0;
    for (std::uint64_t turn = 0; turn < 100; ++turn) {
      append(content, {turn, 0, 101});
      const std::int64_t now = length(content) / kBlock;
      if (turn > 0) {
        const TransferId id = rig.pool.begin_load(content, {keys / 2 + static_cast<std::int64_t>(turn % 7), keys}, true);
        rig.pool.refresh(content, now);
        rig.pool.end_load(id);
      }
      const TransferId id = rig.begin(content, {keys, now});
      rig.pool.refresh(content, now);
      rig.pool.end_store(id);
      keys = now;
      CHECK(rig.pool.segments() <= 4);
      CHECK(rig.pool.find(content, {0, keys}).present == keys);
    }
    rig.pool.refresh(content, keys);
    CHECK(rig.pool.segments() == 1);
    CHECK(rig.evicted.empty());
  }
}

TEST_CASE("two branches, loaded from everywhere, are three segments once refreshed") {
  for (const Replacement replacement : {Replacement::lru, Replacement::arc}) {
    Rig rig(1000, replacement);
    const Content a{{1, 0, 800}, {2, 0, 400}};
    const Content b{{1, 0, 800}, {3, 0, 400}};
    rig.store(a, {0, 300});
    rig.store(b, {200, 300});
    for (std::int64_t from = 0; from < 300; from += 7) {
      rig.load(from % 2 == 0 ? a : b, {from, 300});
      rig.load(from % 2 == 0 ? b : a, {from / 3, from / 2 + 1});
    }
    rig.pool.refresh(a, 300);
    rig.pool.refresh(b, 300);
    CHECK(rig.pool.segments() == 3);
  }
}

TEST_CASE("parts of a chain become one when what stood between them in the list goes elsewhere") {
  for (const Replacement replacement : {Replacement::lru, Replacement::arc}) {
    Rig rig(10, replacement);
    rig.store(chain(1, 4), {0, 2});
    rig.store(chain(2, 1), {0, 1});
    rig.store(chain(1, 4), {2, 4});
    CHECK(rig.pool.segments() == 3);
    rig.pool.refresh(chain(2, 1), 1);
    CHECK(rig.pool.segments() == 2);
  }
}

TEST_CASE("cuts around spared keys heal though all that lay behind them was evicted") {
  Rig rig(6, Replacement::arc);
  rig.store(chain(1, 6), {0, 6});
  rig.pool.refresh(chain(1, 6), 6);
  const Content branch{{1, 0, 16}, {2, 0, 8}};
  CHECK_FALSE(rig.refused(branch, {4, 6}, {2, 6}));
  CHECK(rig.evicted == Contents{chain(1, 6), chain(1, 5)});
  CHECK(rig.pool.segments() == 3);  // the four blocks left, the ghosts, and those being stored
}

TEST_CASE("evictions one by one leave one hole, also around what is pinned") {
  // The chain of 500 blocks goes from its deep end: all but its pinned last block.
  Rig rig(500, Replacement::lru);
  const Content a = chain(1, 500);
  rig.store(a, {0, 500});
  rig.pool.refresh(a, 500);
  const TransferId id = rig.pool.begin_load(a, {499, 500}, false);
  for (std::int64_t key = 0; key < 400; ++key) {
    rig.store(chain(2, 400), {key, key + 1});
    CHECK(rig.pool.segments() <= 4);  // head, hole and last block of the one, the other
  }
  CHECK(rig.evicted.size() == 400);
  CHECK(rig.evicted.back() == chain(1, 100));
  rig.pool.end_load(id);
  CHECK(rig.pool.find(a, {0, 500}).present == 99);
}

}  // namespace
}  // namespace marea::kv
