// A model call as an engine sees it, and what one schedule decided about it. No clock, no session, no metric.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/cost/step.h"
#include "sim/kv/content.h"
#include "sim/serving/offload.h"

namespace marea::serving {

// Place in the order of service, smallest first: (first, second), then `tie`. Made by a scheduler policy.
struct SchedulingKey {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::uint64_t tie = 0;  // order of request ids; breaks ties in the waiting queue, never in the choice of a victim
};

struct Request {
  CallSlot call;
  kv::ContentView content;             // prompt followed by output; must stay valid until the call is finished or aborted
  std::int64_t prompt = 0;             // tokens, >= 1
  std::int64_t output = 0;             // tokens to generate, >= 1
  std::int64_t shareable = INT64_MAX;  // tokens of `content` from here on exist in no other session
  OwnerId owner;                       // the session, as owner of KV
  SchedulingKey key;
};

// A call that entered the running batch with this schedule.
struct Admission {
  CallSlot call;
  std::int64_t hit = 0;     // tokens found in the prefix cache
  std::int64_t known = 0;   // all its known tokens (prompt + generated so far); known - hit will be computed
  bool resumed = false;     // had been preempted before
  std::int64_t loaded = 0;  // of the hit, tokens that were loaded from a tier below
};

// Prefill work of one call in one step (its first chunk is in the step of its admission).
struct Chunk {
  CallSlot call;
  std::int64_t context = 0;  // tokens before it
  std::int64_t tokens = 0;   // >= 1
  bool completes = false;    // a token comes out of this step
};

// Why the head of the waiting queue was not admitted by this schedule.
enum class HeadBlock : std::uint8_t {
  none,    // nothing waits
  slots,   // running = sequences
  blocks,  // its KV blocks are not free, or this schedule preempted (which is the same shortage)
  budget,  // the token budget of the step is used up
  load,    // all that wait, wait for KV to be loaded
};

// What one schedule decided. The vectors are used again by the next schedule.
struct Batch {
  cost::StepSums sums;
  std::vector<Admission> admitted;  // in order
  std::vector<CallSlot> preempted;  // in order
  std::vector<Chunk> chunks;        // prefill work, in schedule order
  std::vector<CallSlot> left_out;   // decoding calls that got nothing: they stand behind one that preempted itself
  HeadBlock head = HeadBlock::none;
  const OffloadDecisions* offload = nullptr;  // where the engine offloads
};

// What the output of one step brought.
struct Outcome {
  std::vector<CallSlot> first_tokens;   // calls whose prefill is complete: they emit a token and decode from now on (resumed calls too)
  std::vector<CallSlot> finished;       // in order; their blocks are free
  std::vector<LowerTransfer> cascades;  // copies of what has just been stored, to the tiers below
};

}  // namespace marea::serving
