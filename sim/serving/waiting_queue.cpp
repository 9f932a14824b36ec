// The heap knows where each call stands in it, so that any can be taken out.
#include "sim/serving/waiting_queue.h"

#include <tuple>

namespace marea::serving {
namespace {

bool before(const SchedulingKey& a, const SchedulingKey& b) {
  return std::tie(a.first, a.second, a.tie) < std::tie(b.first, b.second, b.tie);
}

}  // namespace

void WaitingQueue::push(SequenceId id) {
  tokens_ += sequences_[id].known;
  keyed_ ? insert(id) : line_.push_back(sequences_, id);
}

void WaitingQueue::push_back_in(SequenceId id) {
  tokens_ += sequences_[id].known;
  keyed_ ? insert(id) : line_.push_front(sequences_, id);
}

void WaitingQueue::remove(SequenceId id) {
  tokens_ -= sequences_[id].known;
  if (!keyed_) {
    line_.remove(sequences_, id);
    return;
  }
  const std::uint32_t slot = sequences_[id].heap_slot;
  const SequenceId last = heap_.back();
  heap_.pop_back();
  if (last == id) return;
  place(slot, last);
  rise(slot);
  sink(sequences_[last].heap_slot);
}

bool WaitingQueue::behind_head(const SchedulingKey& key) const { return !keyed_ || !before(key, sequences_[head()].request.key); }

bool WaitingQueue::less(SequenceId a, SequenceId b) const { return before(sequences_[a].request.key, sequences_[b].request.key); }

void WaitingQueue::place(std::uint32_t slot, SequenceId id) {
  heap_[slot] = id;
  sequences_[id].heap_slot = slot;
}

void WaitingQueue::insert(SequenceId id) {
  heap_.push_back(id);
  const auto slot = static_cast<std::uint32_t>(heap_.size() - 1);
  place(slot, id);
  rise(slot);
}

void WaitingQueue::rise(std::uint32_t slot) {
  const SequenceId id = heap_[slot];
  for (; slot > 0 && less(id, heap_[(slot - 1) / 2]); slot = (slot - 1) / 2) place(slot, heap_[(slot - 1) / 2]);
  place(slot, id);
}

void WaitingQueue::sink(std::uint32_t slot) {
  const SequenceId id = heap_[slot];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  while (2 * slot + 1 < size) {
    std::uint32_t child = 2 * slot + 1;
    if (child + 1 < size && less(heap_[child + 1], heap_[child])) ++child;
    if (!less(heap_[child], id)) break;
    place(slot, heap_[child]);
    slot = child;
  }
  place(slot, id);
}

}  // namespace marea::serving
