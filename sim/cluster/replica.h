// One replica in time: an engine, the batch on its device, and the run of identical steps that is known in advance. It books nothing and
// knows no session.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/cost/step_cost.h"
#include "sim/serving/vllm_v1.h"

namespace marea::cluster {

// Why calls wait, as running totals, so that the wait of any call is the difference of two readings.
struct QueueTotals {
  std::array<Duration, 5> spent{};  // slots, blocks, budget, boundary, KV coming up
};

class Replica {
 public:
  Replica(ReplicaId id, const serving::VllmV1Params& params, cost::StepCost& cost, kv::Owners& owners, std::size_t classes);

  ReplicaId id() const { return id_; }
  serving::VllmV1& engine() { return engine_; }
  const serving::VllmV1& engine() const { return engine_; }

  // --- the batches between schedule and device
  // What a batch brings besides decodes, kept from its schedule until it leaves the device.
  struct Work {
    std::vector<serving::Admission> admitted;
    std::vector<serving::Chunk> chunks;
    std::vector<CallSlot> left_out;
    std::vector<serving::Transfer> loads, stores;
    std::vector<serving::TransferNumber> flush;
  };
  // Schedules one more batch; its decision stays valid until the next call.
  const serving::Batch& schedule(Time now);

  // --- the device
  bool busy() const { return busy_; }
  // Puts the oldest batch in flight on the device. Requires an idle device and a batch with tokens in flight.
  // Its first step takes `held_up` longer.
  void start(Time now, Duration held_up);
  const Work& running() const { return works_[oldest_]; }  // of the batch on the device, or next for it
  Time step_start() const { return start_; }
  // Prices the running step and as many repetitions as are certain (at most `limit`); returns when the last of them ends.
  Time plan(std::int64_t limit);
  // Ends the plan at the first step boundary at or after `now`; returns it.
  Time cut(Time now);
  // Time at which the planned run ends.
  Time planned_end() const { return ends_.back(); }
  // Carries out the boundaries of the run that lie at or before `now`, all but the last planned one. Returns the steps as a fact, empty if
  // there were none.
  StepsRun catch_up(Time now);
  // The planned run is over: carries out what is left, frees the device. The engine still has to complete() the last step.
  StepsRun finish();
  // True if the next batch for the device holds no sequence: it takes no device time and is dropped, which completes it.
  bool next_is_empty() const;
  const serving::Outcome& drop_empty(Time now, std::span<const serving::TransferNumber> ended);

  // --- queue causes
  QueueTotals queue_totals(Time now) const;

  // Sequences per traffic class that emit a token with every step; kept by the cluster.
  std::vector<std::int64_t>& decoding() { return decoding_; }
  // One of them emits nothing with the step that has just started, or after a longer gap.
  void silence(ClassId traffic) { --gaps_[traffic.value]; }

  std::int64_t steps() const { return steps_; }
  std::int64_t changed_steps() const { return changed_steps_; }

 private:
  StepsRun take(std::size_t boundaries);
  bool copies_in_flight() const;
  void set_queue_cause(serving::HeadBlock head, Time now);

  ReplicaId id_;
  serving::VllmV1 engine_;
  cost::StepCost* cost_;
  std::array<Work, 3> works_;  // ring: the batches in flight, oldest first
  std::size_t oldest_ = 0;
  std::size_t newest_ = 0;  // one past the last
  bool busy_ = false;
  Duration held_up_{};      // of the first planned step
  Time start_;              // of the step at ends_[done_]
  cost::StepSums sums_;     // of that step
  std::vector<Time> ends_;  // planned boundaries
  std::size_t done_ = 0;    // boundaries carried out
  std::vector<std::int64_t> decoding_;
  std::vector<std::int64_t> gaps_;  // decoding_ as of the start of the run
  QueueTotals queue_;
  std::size_t queue_cause_ = 3;
  Time queue_since_;
  std::int64_t steps_ = 0;
  std::int64_t changed_steps_ = 0;
};

}  // namespace marea::cluster
