// The life of an engine: calls come and go, outputs are processed, and runs of equal steps are passed over.
#include "sim/serving/vllm_v1.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/vllm_v1_state.h"

namespace marea::serving {

VllmV1::State::State(const VllmV1Params& p, kv::Owners& owners)
    : params(p),
      pool({p.block, p.blocks, p.prefix_caching, p.free_order == FreeOrder::unhashed_first, p.async ? 1 : 0}, owners),
      reserve(static_cast<std::int64_t>(std::floor(p.watermark * static_cast<double>(p.blocks)))),
      waiting(sequences, p.keyed_order),
      skipped(sequences, p.keyed_order),
      group(sequences, p.window) {
  if (p.offload.blocks > 0) offload = std::make_unique<OffloadState>(p.offload, p.block);
  batch.offload = offload ? &offload->decisions : nullptr;
  check(p.batch_tokens >= 1 && p.sequences >= 1, "an engine schedules at least one token of one sequence");
}

// A running call leaves: its place and its share of the sums, not its blocks.
void VllmV1::State::stop_running(SequenceId id) {
  if (sequences[id].place == Sequence::Place::prefilling) std::erase(prefilling, id);
  running.remove(sequences, id);
}

// Frees the blocks of a call that leaves before its end. With a connector that loads they come back only with the output of the batch in
// flight that holds the call.
void VllmV1::State::release(SequenceId id, Flight* flight) {
  Sequence& sequence = sequences[id];
  if (params.async && offload && flight != nullptr && flight->sums.tokens > 0 && !sequence.starved)
    flight->frees.push_back(sequence.table);
  else
    pool.close(sequence.table, false);
  sequence.table = kv::kNone;
}

void VllmV1::State::forget(SequenceId id) {
  Sequence& sequence = sequences[id];
  by_call[sequence.request.call.value] = kNoSequence;
  sequence.place = Sequence::Place::nowhere;
  sequence.skipped = false;
  stuck = false;
  if (offload) leave_transfers(id);
  sequence.serial = 0;
  ++sequence.generation;
  free_sequences.push_back(id);
  settled = false;
  flush = true;
}

// The last token has arrived, by now perhaps at a call that was preempted meanwhile.
void VllmV1::State::finish(SequenceId id) {
  Sequence& sequence = sequences[id];
  outcome.finished.push_back(sequence.request.call);
  if (sequence.running()) {
    if (offload) fence_transfers(id);
    pool.close(sequence.table, true);
    sequence.table = kv::kNone;
    stop_running(id);
  } else {
    queue_of(id).remove(id);
  }
  forget(id);
}

VllmV1::VllmV1(const VllmV1Params& params, kv::Owners& owners) : state_(std::make_unique<State>(params, owners)) {}
VllmV1::~VllmV1() = default;

void VllmV1::add(const Request& request) {
  State& s = *state_;
  check(request.prompt >= 1 && request.output >= 1, "a call has a prompt and an output");
  check(request.prompt < s.params.max_length, "a prompt is shorter than the longest length");
  SequenceId id;
  if (s.free_sequences.empty()) {
    id = static_cast<SequenceId>(s.sequences.size());
    s.sequences.emplace_back();
  } else {
    id = s.free_sequences.back();
    s.free_sequences.pop_back();
  }
  Sequence& sequence = s.sequences[id];
  const std::uint32_t generation = sequence.generation;
  sequence = Sequence{};
  sequence.generation = generation;
  sequence.request = request;
  sequence.length = std::min(request.prompt + request.output, s.params.max_length);
  sequence.known = request.prompt;
  sequence.place = Sequence::Place::waiting;
  if (request.call.value >= s.by_call.size()) s.by_call.resize(request.call.value + 1, kNoSequence);
  s.by_call[request.call.value] = id;
  s.stuck = false;
  if (s.waiting.empty() || !s.waiting.behind_head(request.key)) {
    // A new head. With every slot taken it cannot be admitted whatever it is.
    s.settled = s.running.size() >= s.params.sequences;
    s.head_grower = kv::kNone;
  }
  s.waiting.push(id);
}

void VllmV1::abort(CallSlot call, Time now) {
  State& s = *state_;
  s.pool.advance(now);
  const SequenceId id = s.by_call[call.value];
  check(id != kNoSequence, "a call that the engine does not have was aborted");
  Sequence& sequence = s.sequences[id];
  if (sequence.running()) {
    if (sequence.place == Sequence::Place::decoding) s.group.leave(id, s.pool.computed(sequence.table));
    if (s.offload) s.fence_transfers(id);
    if (sequence.place == Sequence::Place::decoding) s.pool.stop_decoding(sequence.table);
    s.release(id, s.in_flight > 0 ? &s.newest() : nullptr);
    s.stop_running(id);
    s.changed();
  } else {
    s.queue_of(id).remove(id);
  }
  s.forget(id);
}

bool VllmV1::can_schedule() const {
  const State& s = *state_;
  const bool work = s.running.size() > 0 || s.anybody_waits() || (s.params.async && s.flush);
  return work && s.in_flight < s.depth();
}

std::int64_t VllmV1::transfers() const {
  return state_->offload ? static_cast<std::int64_t>(state_->offload->jobs.size() + state_->offload->lower_jobs.size() +
                                                     state_->offload->lower_ended.size())
                         : 0;
}
const Outcome& VllmV1::learn(Time now, std::span<const TransferNumber> ended) {
  State& s = *state_;
  check(s.in_flight == 0, "a batch in flight brings the ends of transfers with it");
  s.pool.advance(now);
  s.outcome.first_tokens.clear();
  s.outcome.finished.clear();
  s.outcome.cascades.clear();
  for (const TransferNumber number : ended) s.report(number);
  return s.outcome;
}

bool VllmV1::transfer_matters() const {
  const State& s = *state_;
  // The end of a load gives back blocks even when its call is gone.
  const auto loads = [](const OffloadState::Job& job) { return job.load; };
  return s.anybody_waits() || !s.offload->offering.empty() || !s.offload->lower.empty() ||
         std::any_of(s.offload->jobs.begin(), s.offload->jobs.end(), loads);
}

bool VllmV1::waits_for_transfers() const { return state_->stuck; }

const Batch& VllmV1::schedule(Time now) { return state_->schedule(now); }
int VllmV1::in_flight() const { return state_->in_flight; }

const cost::StepSums& VllmV1::next_step() const {
  check(state_->in_flight > 0, "no batch is in flight");
  return state_->oldest().sums;
}

const Outcome& VllmV1::complete(Time now, std::span<const TransferNumber> ended) {
  State& s = *state_;
  check(s.in_flight > 0, "no batch is in flight");
  s.pool.advance(now);
  State::Flight& flight = s.oldest();
  if (flight.sums.tokens > 0) s.stuck = false;  // what it frees may let somebody in
  for (const kv::TableId table : flight.frees) s.pool.close(table, false);
  if (!flight.frees.empty()) s.settled = s.stuck = false;
  flight.frees.clear();
  s.first = (s.first + 1) % s.flights.size();
  --s.in_flight;
  s.outcome.first_tokens.clear();
  s.outcome.finished.clear();
  s.outcome.cascades.clear();
  for (const SequenceRef& ref : flight.completes) {
    if (!s.alive(ref)) continue;
    const Sequence& sequence = s.sequences[ref.id];
    s.outcome.first_tokens.push_back(sequence.request.call);
    if (sequence.running()) s.pool.set_phase(sequence.table, kv::Phase::decode);
  }
  if (s.starving) s.register_starved();
  for (const SequenceRef& ref : flight.finishes)
    if (s.alive(ref)) s.finish(ref.id);
  for (const TransferNumber number : ended) s.report(number);
  return s.outcome;
}

std::int64_t VllmV1::repeats(std::int64_t limit) const {
  const State& s = *state_;
  const std::int64_t now = s.pool.ticks();
  if (s.in_flight != s.depth() || !s.prefilling.empty() || s.starving || s.group.size() == 0) return 0;
  if (now - s.depth() + 1 < s.pure_since) return 0;
  limit = std::min({limit, s.group.next_end() - now, s.group.next_crossing() - now});
  if (s.offload && (!s.offload->steady(s.head_tried) || s.pool.fenced())) return 0;
  if (s.anybody_waits()) {
    if (!s.settled) return 0;
    if (s.head_grower != kv::kNone) limit = std::min(limit, s.pool.ticks_before_growth(s.head_grower));
  }
  return std::max<std::int64_t>(0, s.pool.quiet_ticks(limit));
}

void VllmV1::repeat(std::span<const Time> boundaries) {
  if (boundaries.empty()) return;
  State& s = *state_;
  const auto steps = static_cast<std::int64_t>(boundaries.size());
  s.pool.repeat(boundaries);
  const std::int64_t growth = s.group.windowed_growth();
  const bool crossed = s.group.advance(steps, s.pool.ticks());
  for (int i = 0; i < s.in_flight; ++i) {
    cost::StepSums& sums = s.flights[(s.first + static_cast<std::size_t>(i)) % s.flights.size()].sums;
    sums.decode_context += steps * sums.decode_sequences;
    sums.decode_windowed += steps * growth;
  }
  if (crossed) s.changed();
  s.retire_decodes();
}

std::int64_t VllmV1::windowed_growth() const { return state_->group.windowed_growth(); }

bool VllmV1::arrival_matters(const SchedulingKey& key) const {
  const State& s = *state_;
  if (s.running.size() >= s.params.sequences) return false;
  return s.waiting.empty() || !s.settled || !s.waiting.behind_head(key);
}

std::int64_t VllmV1::lookup(kv::ContentView content, std::int64_t known) const {
  const State& s = *state_;
  return s.pool.lookup(content, (known - 1) / s.params.block).blocks * s.params.block;
}

VllmV1::Load VllmV1::load() const {
  const State& s = *state_;
  Load load;
  load.waiting = s.waiting.size() + s.skipped.size();
  if (s.offload)
    load.loading = std::count_if(s.offload->loading.begin(), s.offload->loading.end(),
                                 [&](SequenceId id) { return !s.offload->sequences[id].noticed; });
  load.running = s.running.size();
  load.waiting_tokens = s.waiting.tokens() + s.skipped.tokens();
  load.context_tokens = s.group.context();
  for (const SequenceId id : s.prefilling) load.context_tokens += s.pool.computed(s.sequences[id].table);
  for (const State::Flight& flight : s.flights)
    for (const SequenceRef& ref : flight.finishes)
      if (s.alive(ref) && s.sequences[ref.id].place == Sequence::Place::draining) load.context_tokens += s.sequences[ref.id].length - 1;
  load.free_blocks = s.pool.free_blocks();
  return load;
}

void VllmV1::running(std::vector<Running>& out) const {
  const State& s = *state_;
  out.clear();
  for (SequenceId id = s.running.first(); id != kNoSequence; id = s.sequences[id].behind) {
    const Sequence& sequence = s.sequences[id];
    out.push_back({sequence.request.call, s.pool.computed(sequence.table), s.pool.allocated(sequence.table)});
  }
}

std::optional<std::int64_t> VllmV1::blocked_hit() const {
  const State& s = *state_;
  if (!s.head_tried) return std::nullopt;
  const Sequence& sequence = s.sequences[s.tried];
  return lookup(sequence.request.content, sequence.known);
}

CallSlot VllmV1::head() const {
  const State& s = *state_;
  return s.anybody_waits() ? s.sequences[s.head()].request.call : CallSlot{};
}

kv::Pool& VllmV1::pool() { return state_->pool; }
const kv::Pool& VllmV1::pool() const { return state_->pool; }
kv::OffloadPool* VllmV1::host_pool() { return state_->offload ? &state_->offload->pool : nullptr; }
const kv::OffloadPool* VllmV1::host_pool() const { return state_->offload ? &state_->offload->pool : nullptr; }

}  // namespace marea::serving
