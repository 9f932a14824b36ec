// The free blocks of a pool in the order in which they will be handed out, as entries of many blocks: whole cached copies, handed out from
// their deepest block upwards, and runs of blocks without a key, which are all alike.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.h"
#include "sim/kv/owners.h"
#include "sim/kv/prefix_tree.h"

namespace marea::kv {

using CopyId = std::uint32_t;
using TableId = std::uint32_t;

// One physical copy of the blocks of one tree node, or (node == kNone) a run of free blocks without a key.
struct Copy {
  NodeId node = kNone;
  CopyId younger = kNone;  // the next copy of the same node, registered later
  CopyId before = kNone;   // in the free list, while nobody holds it
  CopyId behind = kNone;
  std::uint32_t holders = 0;  // number of block tables that hold it
  TableId holder = 0;         // exclusive or of their ids: with one holder, that holder
  TableId creator = kNone;    // the table that computed it, while it holds it
  bool several = false;       // more than one owner has used it
  bool fenced = false;        // a copy out of it has not ended (Pool::fence)
  OwnerId owner;              // the only owner that has used it
  std::int64_t blocks = 0;    // of a run without a key
  Time freed;                 // start of the interval not booked yet
  OwnerTimes times{};         // of its owner at that time
};

// Doubly linked through the copies themselves.
class FreeList {
 public:
  explicit FreeList(std::vector<Copy>& copies) : copies_(copies) {}

  CopyId head() const { return head_; }
  CopyId tail() const { return tail_; }

  void push_front(CopyId id) { insert_before(head_, id); }
  void push_back(CopyId id) { insert_before(kNone, id); }

  // `at` == kNone: at the end.
  void insert_before(CopyId at, CopyId id) {
    const CopyId before = at == kNone ? tail_ : copies_[at].before;
    copies_[id].before = before;
    copies_[id].behind = at;
    (before == kNone ? head_ : copies_[before].behind) = id;
    (at == kNone ? tail_ : copies_[at].before) = id;
  }
  void insert_behind(CopyId at, CopyId id) { insert_before(copies_[at].behind, id); }

  void unlink(CopyId id) {
    const Copy& copy = copies_[id];
    (copy.before == kNone ? head_ : copies_[copy.before].behind) = copy.behind;
    (copy.behind == kNone ? tail_ : copies_[copy.behind].before) = copy.before;
  }

 private:
  std::vector<Copy>& copies_;
  CopyId head_ = kNone;
  CopyId tail_ = kNone;
};

}  // namespace marea::kv
