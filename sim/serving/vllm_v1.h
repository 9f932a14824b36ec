// vLLM's V1 scheduler over marea's KV memory: continuous batching with one token budget, prefix caching, chunked prefill and
// preemption by recompute. Reproduces the recorded schedules of two versions, synchronous and asynchronous, by switches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/time.h"
#include "sim/kv/owners.h"
#include "sim/serving/request.h"

namespace marea::kv {
class Pool;
}

namespace marea::serving {

enum class FreeOrder : std::uint8_t { append, unhashed_first };  // until / since June 2026

struct VllmV1Params {
  std::int64_t block = 16;                  // tokens
  std::int64_t blocks = 0;                  // N, including the null block that is never handed out
  std::int64_t batch_tokens = 8192;         // max_num_batched_tokens
  std::int64_t sequences = 256;             // max_num_seqs
  std::int64_t max_length = 131072;         // max_model_len
  std::int64_t long_prefill_threshold = 0;  // 0: off
  bool chunked_prefill = true;
  bool prefix_caching = true;
  bool reserve_full_prompt = true;  // scheduler_reserve_full_isl
  double watermark = 0;             // fraction of N
  FreeOrder free_order = FreeOrder::unhashed_first;
  bool async = true;         // two batches in flight
  bool keyed_order = false;  // waiting queue and victims by SchedulingKey (vLLM's `priority`); false: first come, first served
  OffloadParams offload;
  std::int64_t window = 0;  // sliding window of the model's windowed layers, for StepSums; 0: none
};

// The life of a replica, as the cluster drives it:
//
//   boundary at `now`:  complete(now)            the oldest batch in flight has left the device   (not before the first)
//                       add() / abort()          whatever happened up to now
//                       schedule(now)            while can_schedule(): fills the pipeline (1 batch, 2 when async)
//
// A batch in flight that contains no sequence costs no device time; it exists only because a real asynchronous engine schedules once more.
class VllmV1 {
 public:
  VllmV1(const VllmV1Params& params, kv::Owners& owners);
  ~VllmV1();

  void add(const Request& request);
  // Takes a call out, waiting or running, and frees its blocks as a finish does. Call between complete() and schedule().
  void abort(CallSlot call, Time now);

  bool can_schedule() const;  // work remains and the pipeline is not full
  // Transfers that were decided and not reported yet. While there are any and nothing can be scheduled, the engine waits for them.
  std::int64_t transfers() const;
  // Tells the engine of transfers that ended while no batch is in flight.
  const Outcome& learn(Time now, std::span<const TransferNumber> ended);
  // True if a schedule may look or offer before the next batch with prompts: it should know of the end of a transfer.
  bool transfer_matters() const;
  // A lower transfer has ended; the host pool takes notice when it next asks, and what was stored can be found from then on.
  void ended_below(TransferNumber number);
  std::int64_t blocks_below(std::size_t tier) const;  // offload blocks in a lower tier
  // True if no schedule can do anything before a transfer is reported, a call comes or one is aborted.
  bool waits_for_transfers() const;
  const Batch& schedule(Time now);
  int in_flight() const;
  const cost::StepSums& next_step() const;  // sums of the oldest batch in flight: the one that runs now or next
  // Of the oldest batch in flight. `ended` are the transfers whose end is known with it: stores before loads, each in order of their ends.
  const Outcome& complete(Time now, std::span<const TransferNumber> ended = {});

  // Number of times that "complete, then schedule" is certain to repeat from here with the same sequences, nothing but decodes, no
  // finish, no admission, no preemption, given that nobody calls add() or abort(). At most `limit`. Constant time.
  std::int64_t repeats(std::int64_t limit) const;
  // Growth of StepSums::decode_windowed from one repeated step to the next (decode_context grows by decode_sequences).
  std::int64_t windowed_growth() const;
  // Does it at each of the given boundaries, as the equal number of complete() and schedule() calls would, to the last bit.
  void repeat(std::span<const Time> boundaries);

  // True if a call with this key, added now, could be scheduled before anything else about this replica changes; false only if it is
  // certain to stay behind a blocked head of the queue or a full batch. The cluster cuts a run of steps only when this is true.
  bool arrival_matters(const SchedulingKey& key) const;

  // Prefix of `content` that an admission would hit now, in tokens. Changes nothing.
  std::int64_t lookup(kv::ContentView content, std::int64_t known) const;

  struct Load {
    std::int64_t waiting = 0;         // calls
    std::int64_t running = 0;         // calls
    std::int64_t waiting_tokens = 0;  // known tokens of the waiting calls
    std::int64_t context_tokens = 0;  // computed tokens of the running calls
    std::int64_t loading = 0;         // of the waiting, calls whose load is under way or was not noticed yet
    std::int64_t free_blocks = 0;     // cached but unreferenced blocks count as free
  };
  Load load() const;

  // For tests and inspection: the running calls in the order of their admission.
  struct Running {
    CallSlot call;
    std::int64_t computed = 0;  // tokens, those in flight included
    std::int64_t blocks = 0;    // in its block table
  };
  void running(std::vector<Running>& out) const;
  // Tokens that the head of the queue would hit now, if the last schedule looked it up and could not admit it.
  std::optional<std::int64_t> blocked_hit() const;
  CallSlot head() const;  // of the waiting queue; none when it is empty

  kv::Pool& pool();
  const kv::Pool& pool() const;
  // None where the engine does not offload.
  kv::OffloadPool* host_pool();
  const kv::OffloadPool* host_pool() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace marea::serving
