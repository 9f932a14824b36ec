// Sums over the decoding calls, kept up step by step.
#include "sim/serving/decode_group.h"

#include <algorithm>

namespace marea::serving {

void DecodeGroup::join(SequenceId id, std::uint64_t serial, std::int64_t computed, std::int64_t step, std::int64_t last) {
  ++size_;
  context_ += computed;
  ends_.push_back({last, serial, id});
  std::push_heap(ends_.begin(), ends_.end(), Later{});
  if (window_ == 0) return;
  windowed_ += std::min(computed, window_);
  if (computed >= window_) return;
  ++below_;
  crossings_.push_back({step + window_ - computed, serial, id});
  std::push_heap(crossings_.begin(), crossings_.end(), Later{});
}

SequenceId DecodeGroup::pop_end(std::int64_t computed) {
  const Mark mark = ends_.front();
  std::pop_heap(ends_.begin(), ends_.end(), Later{});
  ends_.pop_back();
  drop(computed);
  return mark.id;
}

void DecodeGroup::leave(SequenceId id, std::int64_t computed) {
  const auto it = std::find_if(ends_.begin(), ends_.end(), [id](const Mark& mark) { return mark.id == id; });
  *it = ends_.back();
  ends_.pop_back();
  std::make_heap(ends_.begin(), ends_.end(), Later{});
  drop(computed);
}

void DecodeGroup::drop(std::int64_t computed) {
  --size_;
  context_ -= computed;
  if (window_ == 0) return;
  windowed_ -= std::min(computed, window_);
  if (computed < window_) --below_;  // its mark stays behind and is passed over
}

void DecodeGroup::clear() {
  size_ = context_ = windowed_ = below_ = 0;
  ends_.clear();
  crossings_.clear();
}

bool DecodeGroup::advance(std::int64_t steps, std::int64_t now) {
  context_ += steps * size_;
  if (window_ == 0) return false;
  windowed_ += steps * below_;
  bool crossed = false;
  while (!crossings_.empty() && crossings_.front().step == now) {
    const Mark mark = crossings_.front();
    std::pop_heap(crossings_.begin(), crossings_.end(), Later{});
    crossings_.pop_back();
    const Sequence& sequence = sequences_[mark.id];
    if (sequence.serial != mark.serial || sequence.place != Sequence::Place::decoding) continue;
    --below_;
    crossed = true;
  }
  return crossed;
}

}  // namespace marea::serving
