// The live sessions and model calls of a run: their rows, and the booking of their time, every nanosecond under exactly one cause.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/cluster/replica.h"
#include "sim/traffic/session.h"

namespace marea::cluster {

using Booked = std::array<Duration, kCauses>;
using Vertex = std::uint32_t;

// What a thread is doing. Decides under which cause the time since the last booking goes.
enum class Phase : std::uint8_t {
  idle,       // a sub-agent that has not started or has ended
  front_end,  // call: before the engine knows it
  queued,     // call: in an engine's queue; split by the queue's causes
  loading,    // call: its context comes up from a tier
  admitted,   // call: scheduled, its batch not yet on the device
  prefill,    // call: split into new and lost tokens
  decode,     // call
  preempted,  // call
  tool,
  tool_queue,
  backoff,
  person,
  agents,
};

struct ThreadRow {
  Phase phase = Phase::idle;
  bool started = false;
  OwnerId owner;  // a thread owns its KV: a parent waits while its sub-agents are active
  Time start;
  Time since;  // everything before is booked
  Booked booked{};
  CallSlot call;           // in the phases of a call
  ReplicaId last_replica;  // where its last call was sent; none before its first
  ReplicaId kv_replica;    // where the KV of its context was made: of a fresh sub-agent, its parent's
  After after = After::start;
};

struct SessionRow {
  traffic::Session session;
  ClassId traffic;
  bool live = false;
  bool measured = false;         // started inside the window
  std::uint32_t generation = 0;  // tells events of an earlier session in this slot apart
  Time started;
  std::uint64_t arrival = 0;  // order in which sessions started
  Duration critical_path{};
  std::vector<std::uint32_t> pending;  // per vertex: predecessors that have not ended
  std::vector<ThreadRow> threads;
  std::uint32_t active = 0;  // steps under way
  std::uint32_t calls_issued = 0;
  std::uint32_t calls_planned = 0;
  std::uint32_t zombies = 0;  // aborted calls that an engine still holds; the slot stays taken until they are gone
};

struct CallRow {
  SessionSlot session;
  Vertex vertex = 0;
  std::size_t pool = 0;
  ReplicaId made_on;           // replica on which the KV of the context so far was made
  bool zombie = false;         // aborted, but still in an engine
  bool measured = false;       // issued inside the window
  bool prefilled = false;      // has emitted a token since its last admission
  std::int64_t computed = 0;   // tokens computed since its last admission, prefill only
  std::int64_t lost_mark = 0;  // leading tokens that were computed before: computing them again is lost work
  LossCause loss = LossCause::eviction;
  bool left_out = false;             // decodes, but got nothing in the last schedule
  Time left_out_since;               // its last token
  serving::TransferNumber load = 0;  // one more than the number of the load that it waits for; 0: none
  serving::Chunk chunk;              // of the step on the device
  QueueTotals queue_at;              // reading when it was queued
  CallEnded fact;                    // grows with the call
};

// Rows with free lists; ids are used again and the vectors in a row keep their capacity. Rows never move: engines hold views of a session's
// contents.
class Sessions {
 public:
  SessionSlot open();
  void close(SessionSlot slot);  // requires no zombies
  SessionRow& operator[](SessionSlot slot) { return *sessions_[slot.value]; }
  std::size_t slots() const { return sessions_.size(); }

  CallSlot open_call();
  void close_call(CallSlot slot) { free_calls_.push_back(slot); }
  CallRow& operator[](CallSlot slot) { return calls_[slot.value]; }
  const CallRow& operator[](CallSlot slot) const { return calls_[slot.value]; }

 private:
  std::vector<std::unique_ptr<SessionRow>> sessions_;
  std::vector<SessionSlot> free_sessions_;
  std::vector<CallRow> calls_;
  std::vector<CallSlot> free_calls_;
};

// Tokens of a chunk that were computed before, when the first `lost_mark` tokens of the call were: they come first.
std::int64_t lost_tokens(const serving::Chunk& chunk, std::int64_t lost_mark);

// How the duration of a step's part of one call divides into lost and new prefill: pro rata, lost tokens first.
struct PrefillSplit {
  Duration lost{};
  Duration fresh{};
};
PrefillSplit split_prefill(Duration duration, const serving::Chunk& chunk, std::int64_t lost_mark);

}  // namespace marea::cluster
