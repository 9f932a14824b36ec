// The queue of future events: a 4-ary heap in one vector, ordered by (time, kind, order). Nothing is allocated once it has reached its size.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/time.h"

namespace marea {

// Data: a small copyable payload. `kind` breaks ties of time, `order` those of kind.
template <class Data>
class EventQueue {
 public:
  struct Entry {
    Time time;
    std::uint64_t rank = 0;  // kind in the highest byte, order below it
    Data data{};
    std::uint8_t kind() const { return static_cast<std::uint8_t>(rank >> 56); }
  };

  // First in, first out among entries of the same time and kind.
  void push(Time time, std::uint8_t kind, const Data& data) { push(time, kind, next_order_++, data); }

  // With an order of the caller's own (below 2^56), for kinds whose ties must not depend on when they were pushed. One kind uses one of the two.
  void push(Time time, std::uint8_t kind, std::uint64_t order, const Data& data) {
    heap_.push_back({time, (std::uint64_t{kind} << 56) | order, data});
    rise(heap_.size() - 1);
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Entry& top() const { return heap_.front(); }

  // Takes the earliest entry out. Requires !empty().
  Entry pop() {
    check(!heap_.empty(), "an event was taken from an empty queue");
    Entry first = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static bool before(const Entry& a, const Entry& b) { return a.time != b.time ? a.time < b.time : a.rank < b.rank; }

  void rise(std::size_t hole) {
    const Entry entry = heap_[hole];
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!before(entry, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  // Puts `entry` into the hole at the root.
  void sink(const Entry& entry) {
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 4 * hole + 1) {
      const std::size_t end = child + 4 < size ? child + 4 : size;
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other) {
        if (before(heap_[other], heap_[least])) least = other;
      }
      if (!before(heap_[least], entry)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = entry;
  }

  std::vector<Entry> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace marea
