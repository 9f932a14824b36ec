// The queue of a simulation: what happens next, in the order (time, kind, order of arrival). A 4-ary heap in one vector: its four
// children share cache lines and it is half as deep as a binary one. Nothing is allocated once the vector has grown to its peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/int128.h"
#include "sim/base/time.h"

namespace marea {

// What most events need: two dense indices.
struct TwoIndices {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

template <class Payload = TwoIndices>
class EventQueue {
 public:
  struct Event {
    Time time;
    std::uint8_t kind = 0;
    Payload payload{};
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }

  // Adds an event at a time that is not negative. Among equal (time, kind) the one pushed first comes out first.
  void push(Time time, std::uint8_t kind, Payload payload) { push(time, kind, next_++, std::move(payload)); }

  // The same with an order of the caller's own (below 2^56) in place of first in, first out: for kinds whose ties must not depend on when
  // they were pushed. A kind uses one of the two.
  void push(Time time, std::uint8_t kind, std::uint64_t order, Payload payload) {
    const Entry entry{time.time_since_epoch().count(), (static_cast<std::uint64_t>(kind) << kSequenceBits) | order, std::move(payload)};
    check(entry.time >= 0 && order >> kSequenceBits == 0, "an event has a time from the start of the run on and an order below 2^56");
    heap_.push_back(entry);
    rise(heap_.size() - 1, entry);
  }

  // The next event. Requires !empty().
  Event top() const { return to_event(heap_.front()); }
  Time next_time() const { return Time{Duration{heap_.front().time}}; }

  // Takes the next event out. Requires !empty().
  Event pop() {
    check(!heap_.empty(), "an event was taken from an empty queue");
    const Entry first = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return to_event(first);
  }

 private:
  static constexpr int kSequenceBits = 56;
  static constexpr std::size_t kWays = 4;

  struct Entry {
    Duration::rep time;
    std::uint64_t order;  // kind above sequence
    Payload payload;

    // One comparison of 128 bits without a branch; the order of events is unpredictable, so branches would be mispredicted. Times are not
    // negative.
    Uint128 key() const { return static_cast<Uint128>(static_cast<std::uint64_t>(time)) << 64 | order; }
    bool before(const Entry& other) const { return key() < other.key(); }
  };

  static Event to_event(const Entry& entry) {
    return {Time{Duration{entry.time}}, static_cast<std::uint8_t>(entry.order >> kSequenceBits), entry.payload};
  }

  void rise(std::size_t at, const Entry& entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kWays;
      if (!entry.before(heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = entry;
  }

  // Puts `entry` into the hole at the root. The hole goes down to a leaf along the earliest children and the entry rises from there: it
  // came from the bottom, so it belongs near the bottom, and this saves a comparison on every level.
  void sink(const Entry& entry) {
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    while (true) {
      const std::size_t child = hole * kWays + 1;
      if (child >= size) break;
      std::size_t least = child;
      if (child + kWays <= size) {  // all four: the earlier of each pair, then the earlier of the two
        const std::size_t left = child + (heap_[child + 1].before(heap_[child]) ? 1 : 0);
        const std::size_t right = child + 2 + (heap_[child + 3].before(heap_[child + 2]) ? 1 : 0);
        least = heap_[right].before(heap_[left]) ? right : left;
      } else {
        for (std::size_t other = child + 1; other < size; ++other) least = heap_[other].before(heap_[least]) ? other : least;
      }
      heap_[hole] = heap_[least];
      hole = least;
    }
    rise(hole, entry);
  }

  std::vector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace marea
