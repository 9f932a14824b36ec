// The calls that wait for admission: a line, or a heap by key.
#pragma once

#include <vector>

#include "sim/serving/sequence.h"

namespace marea::serving {

class WaitingQueue {
 public:
  // `keyed`: ordered by (first, second, tie) of the scheduling key, smallest first; otherwise first come, first served.
  WaitingQueue(std::vector<Sequence>& sequences, bool keyed) : sequences_(sequences), keyed_(keyed) {}

  bool empty() const { return size() == 0; }
  std::int64_t size() const { return keyed_ ? static_cast<std::int64_t>(heap_.size()) : line_.size(); }
  std::int64_t tokens() const { return tokens_; }  // known tokens of all that wait
  SequenceId head() const { return keyed_ ? heap_.front() : line_.first(); }

  void push(SequenceId id);
  // Back into the queue after a preemption: in front of a line, by its key into a heap.
  void push_back_in(SequenceId id);
  void remove(SequenceId id);

  // True if this queue's head comes before the other's. Neither may be empty.
  bool leads(const WaitingQueue& other) const { return !keyed_ || !less(other.head(), head()); }

  // True if a call with this key, pushed now, would stand behind the head. The queue must not be empty.
  bool behind_head(const SchedulingKey& key) const;

 private:
  bool less(SequenceId a, SequenceId b) const;
  void place(std::uint32_t slot, SequenceId id);
  void rise(std::uint32_t slot);
  void sink(std::uint32_t slot);
  void insert(SequenceId id);

  std::vector<Sequence>& sequences_;
  bool keyed_;
  SequenceList line_;
  std::vector<SequenceId> heap_;
  std::int64_t tokens_ = 0;
};

}  // namespace marea::serving
