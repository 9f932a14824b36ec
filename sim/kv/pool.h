// The KV memory of one replica, kept as segments: a tree of content with physical copies of its nodes, a free list of whole copies, and
// block tables of the running calls that are only a place in the tree. Decides exactly what a block-by-block pool would.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/time.h"
#include "sim/kv/free_list.h"
#include "sim/kv/memory_account.h"
#include "sim/kv/owners.h"
#include "sim/kv/prefix_tree.h"

namespace marea::kv {

struct PoolParams {
  std::int64_t block = 16;     // tokens
  std::int64_t blocks = 0;     // N, one of which is never handed out
  bool caching = true;         // full blocks get a key and can be hit
  bool unhashed_first = true;  // freed blocks without a key are handed out first; false: behind all others
  std::int64_t lag = 0;        // tokens by which keys trail the scheduled tokens while a call decodes (1 when asynchronous)
};

// What a prefix lookup found. Valid until the pool changes.
struct Hit {
  NodeId node = kRoot;  // the deepest node that was hit, perhaps in part
  std::int64_t blocks = 0;
  std::int64_t idle = 0;   // of them, blocks that nobody holds: they lie in the free list
  TableId grower = kNone;  // a call that is about to register the very next block that was looked for
};

// Whether a call's memory is booked as prefill or decode.
enum class Phase : std::uint8_t { prefill, decode };

// Every operation happens at the time of the last advance().
//
// A call that decodes is not touched step by step: tick() moves all of them on by one token, and what each holds follows from the number
// of ticks. Only a call whose next block somebody else has registered already ("contested") registers its blocks one by one.
class Pool {
 public:
  Pool(const PoolParams& params, Owners& owners);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Books memory up to `now`, never earlier than before.
  void advance(Time now) { account_.advance(now); }

  // Blocks ready to be handed out; cached ones that nobody holds are among them.
  std::int64_t free_blocks() const { return unkeyed_free_ + keyed_free_; }
  std::int64_t usable_blocks() const { return params_.blocks - 1; }
  std::int64_t referenced_blocks() const { return usable_blocks() - free_blocks(); }
  std::int64_t cached_blocks() const { return keyed_free_; }  // with a key, held by nobody
  std::int64_t evicted_blocks() const { return evicted_; }    // so far
  std::int64_t segments() const { return static_cast<std::int64_t>(copies_.size() - free_copies_.size()); }
  std::int64_t block() const { return params_.block; }

  // The longest run of registered blocks of `content` from its start, at most `most` blocks. Changes nothing.
  Hit lookup(ContentView content, std::int64_t most) const;

  // Opens a block table that starts with the hit blocks. `content` must stay valid until close(); `most` is the number of tokens that will
  // ever be computed. `order` is the place in the running list (smaller runs first).
  TableId open(ContentView content, std::int64_t most, OwnerId owner, std::uint64_t order, const Hit& hit);
  // Allocates so that `tokens` tokens fit (the blocks must be free) and registers the blocks full of the first min(tokens, known).
  void compute(TableId id, std::int64_t tokens, std::int64_t known);
  // Blocks that compute() would take.
  std::int64_t need(TableId id, std::int64_t tokens) const { return blocks_for(tokens) - tables_[id].allocated; }
  // Frees the blocks, deepest first. `finished`: also registers what was computed but trails behind.
  void close(TableId id, bool finished);

  // Takes back the last token computed; its block stays registered.
  void rewind(TableId id);
  // Gives the table another place in the running list.
  void reorder(TableId id, std::uint64_t order) { tables_[id].order = order; }

  // Marks the table's registered blocks [from, to) as being read by a transfer. Whoever holds or takes one of them before lift_fence() is
  // noted for take_touched_fences(): the transfer must end before that block is written.
  using FenceId = std::uint64_t;
  void fence(TableId id, std::int64_t from, std::int64_t to, FenceId fence);
  void lift_fence(FenceId fence);
  // Fences on blocks that the table holds.
  void fences_of(TableId id, std::vector<FenceId>& out) const;
  // Appends the fences touched since the last call to `out`.
  void take_touched_fences(std::vector<FenceId>& out) {
    out.insert(out.end(), touched_fences_.begin(), touched_fences_.end());
    touched_fences_.clear();
  }
  bool fenced() const { return !fences_.empty(); }

  std::int64_t computed(TableId id) const;
  std::int64_t allocated(TableId id) const;
  Phase phase(TableId id) const { return tables_[id].phase; }
  void set_phase(TableId id, Phase phase);

  // From the next tick on the call computes one token a tick, until stop_decoding().
  void start_decoding(TableId id);
  void stop_decoding(TableId id);
  std::int64_t decoding() const { return decoding_; }
  std::int64_t ticks() const { return tick_; }

  // Blocks that the next tick takes; they must be free.
  std::int64_t tick_need() const { return crossing_[next_slot()]; }
  void tick();
  // Within a schedule, after tick(): registers the blocks of contested decodes that run before `order`, and makes what the others have
  // registered appear as it does to a call at that place. With UINT64_MAX, which ends the pass: everything.
  void publish_before(std::uint64_t order);

  // Ticks from now on, at most `limit`, during which no contested call registers a block and the free blocks suffice.
  std::int64_t quiet_ticks(std::int64_t limit) const;
  // Ticks from now on during which this call registers no block.
  std::int64_t ticks_before_growth(TableId id) const;
  // advance() and tick() at each of these times. Their number must be within quiet_ticks().
  void repeat(std::span<const Time> boundaries);

  // Ends all cached intervals at `now` with an unknown fate, so that the account is complete up to now.
  void flush(Time now);
  // Starts the account anew. Call after flush() at the same time.
  void clear_account() { account_.clear(); }
  const MemoryAccount& account() const { return account_; }

  // For tests: the content of a block is its whole chain from the first token to its end, empty for a block without a key.
  std::vector<Content> free_contents() const;    // in the order in which they will be handed out
  std::vector<Content> cached_contents() const;  // of all registered blocks, in no particular order
  void watch_evictions(std::vector<Content>* log) { eviction_log_ = log; }

 private:
  // The blocks of one running call: the nodes from `tip` up to the root, and behind them blocks without a key.
  struct Table {
    ContentView content;
    NodeId tip = kRoot;
    bool growing = false;   // tip is a node that only this call extends
    bool decoding = false;  // the three counts below are as of start_decoding()
    Phase phase = Phase::prefill;
    std::int64_t computed = 0;    // tokens
    std::int64_t allocated = 0;   // blocks
    std::int64_t registered = 0;  // blocks
    std::int64_t base = 0;        // while decoding: computed = base + ticks
    std::int64_t most = 0;        // blocks that can ever be registered
    std::int64_t sole = 0;        // blocks that no other call holds
    std::uint64_t order = 0;
    OwnerId owner;
  };

  std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + params_.block - 1) / params_.block; }
  std::int64_t next_slot() const { return slot_ + 1 == params_.block ? 0 : slot_ + 1; }
  std::int64_t crossing_slot(const Table& table) const;

  // Tree nodes and copies (pool_segments.cpp).
  std::int64_t end(NodeId id) const;
  std::int64_t registered(const Table& table) const;
  NodeId cut(NodeId id, std::int64_t at);
  NodeId split(NodeId id, std::int64_t at);
  void freeze(NodeId id);
  void add_node(TableId id, std::int64_t hi);
  void add_copy(NodeId node, TableId id);
  void remove_copy(CopyId id);
  void enter(TableId id, std::int64_t upto);
  void join_path(NodeId leaf);
  CopyId make_copy();

  // Holding, handing out, freeing (pool.cpp).
  CopyId held_copy(NodeId node, TableId id) const;
  void hold(CopyId copy, TableId id);
  void drop(CopyId copy, TableId id);
  void take(std::int64_t blocks);
  void evict(CopyId copy, std::int64_t blocks);
  void push_unkeyed(std::int64_t blocks);
  void book(KvState fate, const Copy& copy, std::int64_t blocks);
  void start_interval(Copy& copy);
  void touch(CopyId copy);
  std::int64_t length(CopyId copy) const { return tree_[copies_[copy].node].hi - tree_[copies_[copy].node].lo; }
  std::int64_t tokens(std::int64_t blocks) const { return blocks * params_.block; }

  // Decoding (pool_decode.cpp).
  void settle(TableId id);
  void seek_growth(TableId id);
  void forget(std::vector<TableId>& list, TableId id);

  PoolParams params_;
  Owners& owners_;
  PrefixTree tree_;  // payload of a node: its oldest copy; grower: the table that extends it
  std::vector<Copy> copies_;
  std::vector<CopyId> free_copies_;
  FreeList list_{copies_};
  std::vector<Table> tables_;
  std::vector<TableId> free_tables_;
  MemoryAccount account_;
  std::int64_t unkeyed_free_ = 0;
  std::int64_t keyed_free_ = 0;
  std::int64_t evicted_ = 0;
  std::vector<Content>* eviction_log_ = nullptr;
  struct Fence {
    CopyId copy;
    FenceId id;
  };
  std::vector<Fence> fences_;  // of copies with `fenced`; few
  std::vector<FenceId> touched_fences_;

  std::int64_t tick_ = 0;
  std::int64_t slot_ = 0;  // tick modulo block
  std::int64_t decoding_ = 0;
  std::vector<std::int64_t> crossing_;  // by tick modulo block: decoding calls that take a new block then
  std::vector<TableId> contested_;      // decoding calls that register block by block
  std::vector<TableId> fresh_;          // decoding calls still booked as prefill
  std::uint64_t pass_ = UINT64_MAX;     // calls behind this place have not registered this tick's block yet
};

}  // namespace marea::kv
