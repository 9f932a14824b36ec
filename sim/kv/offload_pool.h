// The blocks of KV that a host pool keeps below a device's memory, as segments: which content is there, in transfer, or next to go. Decides
// exactly what vLLM's CPUOffloadingManager decides block by block, with its least-recently-used order and its ARC.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/content.h"
#include "sim/kv/prefix_tree.h"

namespace marea::kv {

enum class Replacement : std::uint8_t { lru, arc };

// A transfer's marks on the blocks that it reads or writes.
using TransferId = std::uint32_t;

// Keys [from, to) of one content. Key k is the block of tokens [k * block, (k + 1) * block) behind all that comes before it.
struct KeyRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

class OffloadPool {
 public:
  // `block` in tokens; `blocks` is the capacity.
  OffloadPool(std::int64_t block, std::int64_t blocks, Replacement replacement);
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  struct Blocks {
    std::int64_t free = 0;  // never used, or evicted
    std::int64_t idle = 0;  // evictable
    std::int64_t busy = 0;  // being stored or loaded
  };
  Blocks blocks() const { return {capacity_ - idle_ - busy_, idle_, busy_}; }

  // Ranges of keys must lie within the whole blocks of their content. A content is looked at during the call only.

  struct Found {
    std::int64_t present = 0;  // consecutive keys from the first on, stored or being stored
    bool storing = false;      // one of them is being stored
  };
  Found find(ContentView content, KeyRange keys) const;
  // True if any of these keys is being loaded from the pool (begin_load with `exclusive`).
  bool loading(ContentView content, KeyRange keys) const;
  // Replaces `out` by the keys that are not there, as ascending ranges.
  void missing(ContentView content, KeyRange keys, std::vector<KeyRange>& out) const;

  // Makes keys [0, keys) the youngest, the first of the chain youngest of all. Under ARC also what a repeated use means to it: stored
  // blocks rise to T2, ghosts move the target.
  void refresh(ContentView content, std::int64_t keys);

  // Makes room for missing keys, evicting what is idle but not in `spared` keys of the same content, and marks them as being stored. False,
  // and nothing done, where there is not that much room.
  bool begin_store(ContentView content, std::span<const KeyRange> keys, KeyRange spared, TransferId& id);
  // The keys are stored and idle.
  void end_store(TransferId id);
  // The store did not take place: the keys are gone.
  void cancel_store(TransferId id);
  // Pins keys, all of which are present and stored.
  TransferId begin_load(ContentView content, KeyRange keys, bool exclusive);
  void end_load(TransferId id);

  std::int64_t evicted() const { return evicted_; }       // blocks so far
  std::int64_t segments() const { return tree_.size(); }  // for tests of the memory that it takes

  // For tests: contents (the whole chain of each block) of the lists, next victim first; ghosts for ARC only.
  struct Lists {
    std::vector<Content> idle;  // least recently used (LRU)
    std::vector<Content> t1, t2, b1, b2;
    double target = 0;  // blocks that ARC would have in T1
  };
  Lists lists() const;
  void watch_evictions(std::vector<Content>* log) { eviction_log_ = log; }

 private:
  enum class State : std::uint8_t {
    unused,   // no such node
    hole,     // not there, but something below it is
    ghost,    // evicted, and remembered by ARC
    storing,  // on its way into the pool
    stored    // there; idle where nothing pins it
  };
  // LRU has only T1, and in it only what is idle. ARC keeps what is in transfer in T1 and T2 and passes over it.
  enum class Place : std::uint8_t { t1, t2, b1, b2, none };

  // What a tree node means: a run of blocks in one state, and its entry in a list.
  struct Segment {
    State state = State::unused;
    Place place = Place::none;
    bool deep_first = false;      // the deepest block of the run is the first of them in the list, not the one nearest to the root
    bool spared = false;          // during an eviction: not to be touched
    std::uint32_t pins = 0;       // loads that read it
    std::uint32_t exclusive = 0;  // of them, those that others have to wait for
    NodeId before = kNone;
    NodeId behind = kNone;
    NodeId children = 0;  // exclusive or of their ids: with one child, that child
    bool present() const { return state == State::storing || state == State::stored; }
    bool idle() const { return state == State::stored && pins == 0; }
  };
  struct List {
    NodeId head = kNone;
    NodeId tail = kNone;
    std::int64_t blocks = 0;
    std::int64_t idle = 0;  // of them
  };
  // Keys [from, end of the node `tip`) of the chain that ends there. Nodes in transfer keep the id of their deep end.
  struct Run {
    std::int64_t from = 0;
    NodeId tip = kRoot;
  };
  struct Transfer {
    std::vector<Run> runs;
    bool store = false;
    bool exclusive = false;
  };

  List& list(Place place) { return lists_[static_cast<std::size_t>(place)]; }
  const List& list(Place place) const { return lists_[static_cast<std::size_t>(place)]; }
  std::int64_t length(NodeId id) const { return tree_[id].hi - tree_[id].lo; }
  std::int64_t tokens(std::int64_t blocks) const { return blocks * tree_.block(); }

  // Room for new blocks (offload_pool.cpp).
  bool make_room(ContentView content, std::int64_t need, KeyRange spared);
  void evict(Place place, std::int64_t blocks);
  void forget_ghosts(Place place);
  void adapt(Place ghosts, std::int64_t blocks);
  Run lay(ContentView content, KeyRange keys);
  void start_storing(NodeId id);
  void become_idle(NodeId id);
  Transfer& open(TransferId& id);
  void close(TransferId id);

  // Nodes and lists (offload_pool_segments.cpp).
  void collect(ContentView content, KeyRange keys, bool (*wanted)(const Segment&));
  void collect(const Run& run);
  NodeId add(NodeId parent, std::int64_t lo, std::int64_t hi, ContentView content);
  NodeId split(NodeId id, std::int64_t at);
  NodeId cut(NodeId id, std::int64_t at) { return at == tree_[id].hi ? id : split(id, at); }
  NodeId take_front(NodeId id, std::int64_t blocks);
  void vanish(NodeId id);
  bool joins(NodeId id) const;
  void join(NodeId id);
  void settle();
  void enlist(NodeId id, Place place, bool deep_first);
  void unlist(NodeId id);
  void link(NodeId id, NodeId before, NodeId behind);
  void unlink(NodeId id);
  void append_contents(NodeId id, std::vector<Content>& out) const;
  void append_contents(Place place, std::vector<Content>& out) const;

  std::int64_t capacity_;
  Replacement replacement_;
  PrefixTree tree_;
  std::vector<Segment> segments_;  // by node
  std::array<List, 4> lists_;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_transfers_;
  std::int64_t idle_ = 0;
  std::int64_t busy_ = 0;
  std::int64_t evicted_ = 0;
  double target_ = 0;
  std::vector<Content>* eviction_log_ = nullptr;

  std::vector<NodeId> path_;     // of the last collect(), from the root downwards
  std::vector<NodeId> touched_;  // nodes that have new neighbours, to be joined by settle()
};

}  // namespace marea::kv
