// What a VllmV1 engine keeps, shared by the files that implement it.
#pragma once

#include <array>
#include <vector>

#include "sim/serving/decode_group.h"
#include "sim/serving/offload_state.h"
#include "sim/serving/sequence.h"
#include "sim/serving/vllm_v1.h"
#include "sim/serving/waiting_queue.h"

namespace marea::serving {

struct VllmV1::State {
  // A batch on its way through the device.
  struct Flight {
    cost::StepSums sums;
    std::vector<SequenceRef> completes;  // prefills that are complete with it
    std::vector<SequenceRef> finishes;   // calls whose last token it brings
    std::vector<kv::TableId> frees;      // blocks of preempted calls that come back with it
  };
  // Work given to a sequence by a running pass that goes step by step.
  struct Entry {
    SequenceId id;
    std::int64_t context;
    std::int64_t tokens;
  };

  State(const VllmV1Params& params, kv::Owners& owners);

  // vllm_v1_schedule.cpp
  const Batch& schedule(Time now);
  std::int64_t chunk(const Sequence& sequence, std::int64_t budget) const;
  bool running_pass();
  void admission_pass();
  enum class Admit : std::uint8_t { admitted, set_aside, failed };
  Admit try_admit(SequenceId id);
  bool admit(SequenceId id, const kv::Hit& hit);
  std::int64_t first_chunk(const Sequence& sequence, std::int64_t context, std::int64_t held, std::int64_t idle);
  void enter_batch(SequenceId id, std::int64_t context, std::int64_t tokens);
  SequenceId head() const;
  bool anybody_waits() const { return !waiting.empty() || !skipped.empty(); }
  WaitingQueue& queue_of(SequenceId id) { return sequences[id].skipped ? skipped : waiting; }
  void leave_queue(SequenceId id);
  void add_chunk(SequenceId id, std::int64_t context, std::int64_t tokens);
  void start_decodes();
  void retire_decodes();

  // vllm_v1_offload.cpp
  ExternalLookup look_below(SequenceId id, std::int64_t local);
  bool start_load(SequenceId id, const kv::Hit& hit, std::int64_t tokens);
  bool admit_loaded(SequenceId id);
  std::int64_t in_flight_shortage() const;
  void return_aside();
  void plan_stores();
  void offer(SequenceId id, std::int64_t tokens, std::int64_t known);
  void flush_touched();
  void fence_transfers(SequenceId id);
  void leave_transfers(SequenceId id);
  void report(TransferNumber number);

  // vllm_v1_lower.cpp
  bool look_lower(SequenceId id, kv::KeyRange keys, std::int64_t& present);
  void submit_promotions();
  void cascade(const OffloadState::Job& job);
  void poll_lower();
  void keep_below(const OffloadState::LowerJob& job);

  // vllm_v1_shortage.cpp
  void running_pass_by_steps();
  SequenceId next_in_pass(SequenceId id);
  bool make_room(SequenceId id, std::int64_t tokens);
  SequenceId victim() const;
  void preempt(SequenceId id);
  void write_down();
  void price(const Entry& entry);
  void resume_decodes();
  void register_starved();

  Flight& oldest() { return flights[first]; }
  Flight& newest() { return flights[(first + in_flight - 1) % flights.size()]; }
  int depth() const { return params.async ? 2 : 1; }
  SequenceRef ref(SequenceId id) const { return {id, sequences[id].generation, sequences[id].serial}; }
  bool alive(const SequenceRef& ref) const { return sequences[ref.id].generation == ref.generation; }
  void changed() { pure_since = pool.ticks() + 1; }
  void finish(SequenceId id);
  void stop_running(SequenceId id);
  void release(SequenceId id, Flight* flight);
  void forget(SequenceId id);

  VllmV1Params params;
  kv::Pool pool;
  std::int64_t reserve = 0;  // blocks kept free by the watermark
  std::vector<Sequence> sequences;
  std::vector<SequenceId> free_sequences;
  std::vector<SequenceId> by_call;
  WaitingQueue waiting;
  WaitingQueue skipped;  // passed over by an admission pass: they ask again, before those that wait
  SequenceList running;
  std::vector<SequenceId> prefilling;  // in running order
  DecodeGroup group;
  std::uint64_t serial = 0;
  std::unique_ptr<OffloadState> offload;  // none: nothing lies below the device
  bool stepped = false;                   // the running pass of this schedule went call by call
  bool stuck = false;                     // the last schedule did nothing and the next would not either

  std::array<Flight, 2> flights;
  std::size_t first = 0;
  int in_flight = 0;
  Batch batch;
  Outcome outcome;
  std::int64_t budget = 0;  // tokens left in the schedule being made
  std::vector<Entry> entries;
  int passed_over = 0;                 // calls that a running pass by steps leaves out next
  std::vector<SequenceId> completing;  // prefills that are complete with the schedule being made

  std::int64_t pure_since = 0;          // first schedule that is decodes alone, of the calls that decode now
  bool settled = false;                 // the head of the queue was tried and nothing that could let it in has changed
  bool flush = false;                   // asynchronous: one more schedule is due after a finish
  bool starving = false;                // asynchronous: some running call got nothing in the last schedule
  kv::TableId head_grower = kv::kNone;  // the call whose next block would lengthen the head's hit
  bool head_tried = false;              // the last schedule looked a head up and could not admit it
  SequenceId tried = kNoSequence;       // that one
};

}  // namespace marea::serving
