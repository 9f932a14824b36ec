// What a VllmV1 engine keeps for offloading, shared by the files that implement it.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "sim/kv/lookup_counts.h"
#include "sim/serving/offload.h"
#include "sim/serving/sequence.h"

namespace marea::serving {

struct OffloadState {
  // A transfer from its decision to its report.
  struct Job {
    TransferNumber number = 0;
    bool load = false;
    bool fenced = false;  // its call is gone, the blocks that it reads are marked in the pool
    kv::TransferId mark = 0;
    SequenceRef sequence;            // whose it is, while that lives
    kv::TableId orphan = kv::kNone;  // blocks to free with its report: the call was aborted while they were loaded
    std::vector<kv::KeyRange> keys;  // offload blocks of the sequence's content
    kv::Content content;             // up to the end of the keys, where a store goes on to lower tiers
    CallSlot call;
  };
  struct PerSequence {
    std::int64_t next = 0;   // offload block from which on nothing has been offered
    bool loaded = false;     // its load was reported
    bool noticed = false;    // and the queue has seen it
    std::int64_t local = 0;  // tokens that the load follows: found on the device
    std::vector<TransferNumber> jobs;
  };

  struct LowerJob {
    TransferNumber number = 0;
    std::size_t tier = 0;
    bool load = false;
    kv::Content content;
    std::vector<kv::KeyRange> keys;
    std::vector<kv::TransferId> marks;  // on the host pool
  };
  // Blocks that a call found in a lower tier and that have their place in the host pool already.
  struct Promotion {
    SequenceId id = kNoSequence;
    std::size_t tier = 0;
    kv::KeyRange keys;
    kv::TransferId mark = 0;
  };

  OffloadState(const OffloadParams& p, std::int64_t engine_block)
      : params(p), block(p.factor * engine_block), pool(block, p.blocks, p.replacement) {
    for (const std::int64_t blocks : p.lower) lower.emplace_back(block, blocks, kv::Replacement::lru);
  }

  Job& job(TransferNumber number) {
    const auto at = std::lower_bound(jobs.begin(), jobs.end(), number, [](const Job& job, TransferNumber n) { return job.number < n; });
    check(at != jobs.end() && at->number == number, "a transfer that is not under way was named");
    return *at;
  }

  // Whether the next schedules look, offer and refuse as the last one did, as long as nothing else changes. `looks`: a call at the head of
  // the queue is looked up in each of them, which a least recently used order bears and ARC does not.
  bool steady(bool looks) const {
    return !asked_later && params.prompt_only && !(looks && (params.replacement == kv::Replacement::arc || params.store_threshold > 1));
  }

  OffloadParams params;
  std::int64_t block;  // tokens of an offload block
  kv::OffloadPool pool;
  std::vector<Job> jobs;  // by number
  TransferNumber next_number = 0;
  std::deque<kv::OffloadPool> lower;  // by tier
  std::vector<LowerJob> lower_jobs;   // under way, by number
  std::vector<LowerJob> lower_ended;  // and ended, in that order, but not noticed
  TransferNumber next_lower = 0;
  std::vector<Promotion> promotions;   // of this schedule
  bool polled = false;                 // the host pool has asked the lower tiers since the last end of a schedule
  std::vector<PerSequence> sequences;  // by SequenceId
  std::vector<SequenceId> loading;     // loads under way or reported and not admitted yet
  std::vector<SequenceRef> offering;   // decoding, with blocks that were offered and refused
  std::vector<SequenceId> aside;       // passed over by the admission pass
  bool asked_later = false;            // some call was told to ask again
  OffloadDecisions decisions;
  std::vector<kv::KeyRange> missing;
  std::vector<SequenceId> candidates;
  kv::LookupCounts looked_up{block};  // with a store threshold
};

}  // namespace marea::serving
