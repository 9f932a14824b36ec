// A call inside an engine, and a list of calls in order (those that run, those that wait in line). Engines of every kind keep their calls
// this way.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/pool.h"
#include "sim/serving/request.h"

namespace marea::serving {

using SequenceId = std::uint32_t;
inline constexpr SequenceId kNoSequence = UINT32_MAX;

struct Sequence {
  enum class Place : std::uint8_t {
    nowhere,  // the slot is free
    waiting,
    loading,     // waiting, with blocks whose content is loaded or has just been
    prefilling,  // running, known tokens are still to be computed
    decoding,    // running, one token a step
    draining,    // running, its last token is on its way
  };

  Request request;
  std::int64_t length = 0;       // prompt and output, cut at the longest length the engine allows
  std::int64_t known = 0;        // prompt and generated tokens; kept up while waiting and prefilling
  std::uint64_t serial = 0;      // of the admission, rising: the order of the running list
  std::uint32_t generation = 0;  // of the slot
  kv::TableId table = kv::kNone;
  SequenceId before = kNoSequence;  // in the waiting or the running list
  SequenceId behind = kNoSequence;
  std::uint32_t heap_slot = 0;  // in a keyed waiting queue
  Place place = Place::nowhere;
  bool preempted = false;       // at some time before
  bool starved = false;         // was not scheduled though it runs
  bool skipped = false;         // waits in the queue of those that were passed over
  std::int64_t scheduled = -1;  // last schedule in which it got tokens, where a running pass goes step by step

  bool running() const { return place >= Place::prefilling; }
};

// A sequence at a certain time, to find out later whether the slot still holds it.
struct SequenceRef {
  SequenceId id = kNoSequence;
  std::uint32_t generation = 0;
  std::uint64_t serial = 0;
};

// Doubly linked through the sequences.
class SequenceList {
 public:
  SequenceId first() const { return first_; }
  SequenceId last() const { return last_; }
  std::int64_t size() const { return size_; }

  void push_back(std::vector<Sequence>& sequences, SequenceId id) {
    sequences[id].before = last_;
    sequences[id].behind = kNoSequence;
    (last_ == kNoSequence ? first_ : sequences[last_].behind) = id;
    last_ = id;
    ++size_;
  }
  void push_front(std::vector<Sequence>& sequences, SequenceId id) {
    sequences[id].before = kNoSequence;
    sequences[id].behind = first_;
    (first_ == kNoSequence ? last_ : sequences[first_].before) = id;
    first_ = id;
    ++size_;
  }
  void remove(std::vector<Sequence>& sequences, SequenceId id) {
    const Sequence& sequence = sequences[id];
    (sequence.before == kNoSequence ? first_ : sequences[sequence.before].behind) = sequence.behind;
    (sequence.behind == kNoSequence ? last_ : sequences[sequence.behind].before) = sequence.before;
    --size_;
  }

 private:
  SequenceId first_ = kNoSequence;
  SequenceId last_ = kNoSequence;
  std::int64_t size_ = 0;
};

}  // namespace marea::serving
