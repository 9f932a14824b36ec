// The pool by itself: hits, duplicates, eviction order, segments and the memory account, small enough for a pencil. The random comparison
// with a block-by-block pool is in tests/serving.
#include <doctest/doctest.h>

#include "sim/kv/pool.h"

namespace marea::kv {
namespace {

Time at(std::int64_t nanoseconds) { return kStart + Duration{nanoseconds}; }

struct Rig {
  explicit Rig(std::int64_t usable, bool unhashed_first = true) : pool({4, usable + 1, true, unhashed_first, 0}, owners) {}

  // A call of `tokens` tokens that comes and goes at once.
  void pass(const Content& content, OwnerId owner) {
    const std::int64_t tokens = length(content);
    const TableId table = pool.open(content, tokens, owner, ++order, pool.lookup(content, (tokens - 1) / 4));
    pool.compute(table, tokens, tokens);
    pool.close(table, true);
  }
  TokenTime total(KvState state, KvOwner owner) const { return pool.account().total(state, owner); }

  Owners owners;
  Pool pool;
  std::uint64_t order = 0;
};

TEST_CASE("a hit is whole blocks, in use or not, and leaves one block to compute") {
  Rig rig(20);
  const OwnerId owner = rig.owners.open(at(0));
  const Content content{{1, 0, 12}};
  rig.pass(content, owner);
  CHECK(rig.pool.cached_blocks() == 3);
  CHECK(rig.pool.free_blocks() == 20);
  const Hit hit = rig.pool.lookup(content, (12 - 1) / 4);
  CHECK(hit.blocks == 2);  // 11 / 4
  CHECK(hit.idle == 2);    // nobody holds them
  const Content longer{{1, 0, 12}, {2, 0, 1}};
  CHECK(rig.pool.lookup(longer, 12 / 4).blocks == 3);
  const Content other{{1, 0, 7}, {2, 0, 9}};
  CHECK(rig.pool.lookup(other, 15 / 4).blocks == 1);  // 7 equal tokens hold one whole block
}

TEST_CASE("what was freed first is evicted first, from its deep end") {
  Rig rig(6);
  const OwnerId owner = rig.owners.open(at(0));
  std::vector<Content> evicted;
  rig.pool.watch_evictions(&evicted);
  rig.pass({{1, 0, 12}}, owner);  // 3 blocks, cached
  rig.pass({{2, 0, 8}}, owner);   // 2 more; 1 of 6 has no key
  rig.pass({{3, 0, 12}}, owner);  // the free one, then the two deepest of the first
  REQUIRE(evicted.size() == 2);
  CHECK(evicted[0] == Content{{1, 0, 12}});
  CHECK(evicted[1] == Content{{1, 0, 8}});
  CHECK(rig.pool.lookup(Content{{1, 0, 12}}, 3).blocks == 1);
  CHECK(rig.pool.evicted_blocks() == 2);
}

TEST_CASE("the oldest of equal copies is handed out, and the younger takes its place") {
  // Two calls with the same 8 tokens: the second hits 7 / 4 = 1 block and computes the other again, a duplicate.
  Rig rig(3);
  const OwnerId owner = rig.owners.open(at(0));
  rig.pass({{1, 0, 8}}, owner);
  rig.pass({{1, 0, 8}}, owner);
  CHECK(rig.pool.cached_blocks() == 3);
  const auto free = rig.pool.free_contents();
  REQUIRE(free.size() == 3);
  CHECK(free[0] == Content{{1, 0, 8}});  // the first copy of block 1 was not touched by the hit
  CHECK(free[1] == Content{{1, 0, 8}});
  CHECK(free[2] == Content{{1, 0, 4}});
  const Content one{{9, 0, 1}};
  const TableId table = rig.pool.open(one, 1, owner, ++rig.order, Hit{});
  rig.pool.compute(table, 1, 1);  // takes the older copy
  CHECK(rig.pool.lookup(Content{{1, 0, 8}}, 2).blocks == 2);
}

TEST_CASE("a session of a hundred turns stays a few segments") {
  Rig rig(4000);
  const OwnerId owner = rig.owners.open(at(0));
  Content content;
  for (std::uint64_t turn = 0; turn < 100; ++turn) {
    rig.pool.advance(at(static_cast<std::int64_t>(turn)));
    append(content, {turn, 0, 37});
    rig.pass(content, owner);
  }
  CHECK(rig.pool.lookup(content, 925).blocks == 925);  // 3700 / 4
  CHECK(rig.pool.segments() <= 4);
}

TEST_CASE("memory is booked by state, owner and fate") {
  // Blocks of 4 tokens, 10 of them, 40 tokens in all.
  //   0-10  a call computes 6 of its tokens: 2 blocks; 6 referenced by prefill, 2 partial, 32 free
  //  10-30  it has gone and left one block with a key; its session waits for a tool from 15 on: 4 cached, 36 free
  //  30-35  the block is hit: 4 referenced by prefill; the second block of the call has no computed token yet and is not allocated
  //  35-50  free again, and still so at the end: fate unknown; the session has ended at 40
  Rig rig(10);
  const OwnerId owner = rig.owners.open(at(0));
  const Content content{{1, 0, 6}};
  const TableId table = rig.pool.open(content, 6, owner, 1, Hit{});
  rig.pool.compute(table, 6, 6);
  rig.pool.advance(at(10));
  rig.pool.close(table, true);
  rig.owners.set_state(owner, OwnerState::tool, at(15));
  rig.pool.advance(at(30));
  const TableId again = rig.pool.open(content, 6, owner, 2, rig.pool.lookup(content, 1));
  rig.pool.advance(at(35));
  rig.pool.close(again, true);
  rig.owners.close(owner, at(40));
  rig.pool.flush(at(50));
  CHECK(rig.total(KvState::referenced, KvOwner::prefill) == 6 * 10 + 4 * 5);
  CHECK(rig.total(KvState::partial, KvOwner::prefill) == 2 * 10);
  CHECK(rig.total(KvState::cached_hit, KvOwner::active) == 4 * 5);
  CHECK(rig.total(KvState::cached_hit, KvOwner::tool) == 4 * 15);
  CHECK(rig.total(KvState::cached_unknown, KvOwner::tool) == 4 * 5);
  CHECK(rig.total(KvState::cached_unknown, KvOwner::ended) == 4 * 10);
  CHECK(rig.total(KvState::free, KvOwner::nobody) == 32 * 10 + 36 * 40);
  CHECK(rig.pool.account().total() == 40 * 50);
  rig.pool.clear_account();
  rig.pool.flush(at(60));
  CHECK(rig.pool.account().total() == 40 * 10);
}

TEST_CASE("decoding calls fill their blocks with the ticks") {
  // 6 tokens prefilled, then one a tick: a third block is taken when token 9 is computed, a second key appears when token 8 is.
  Rig rig(10);
  const OwnerId owner = rig.owners.open(at(0));
  const Content content{{1, 0, 6}, {2, 0, 10}};
  const TableId table = rig.pool.open(content, 15, owner, 1, Hit{});
  rig.pool.compute(table, 6, 6);
  rig.pool.start_decoding(table);
  for (std::int64_t token = 7; token <= 12; ++token) {
    CHECK(rig.pool.tick_need() == (token == 9 ? 1 : 0));
    rig.pool.tick();
    CHECK(rig.pool.computed(table) == token);
    CHECK(rig.pool.allocated(table) == (token + 3) / 4);
    CHECK(rig.pool.lookup(content, 4).blocks == token / 4);
    // What it will bring next is what is looked for, until its 15 tokens hold no further block.
    CHECK(rig.pool.lookup(content, 4).grower == (token < 12 ? table : kNone));
    if (token < 12) CHECK(rig.pool.ticks_before_growth(table) == 3 - token % 4);
  }
  CHECK(rig.pool.quiet_ticks(1000) == 28);  // 7 free blocks: tokens 13, 17, ..., 37 take them, 41 would need an eighth
}

}  // namespace
}  // namespace marea::kv
