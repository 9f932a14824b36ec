// One schedule: tokens for the running calls, then admissions from the head of the queue.
#include <algorithm>

#include "sim/serving/vllm_v1_state.h"

namespace marea::serving {
namespace {

// Keys seen by a chunk of `tokens` queries behind `context` tokens, at most `window` for each query: the sum of min(context + i, window).
double windowed_pairs(std::int64_t context, std::int64_t tokens, std::int64_t window) {
  const std::int64_t below = std::clamp<std::int64_t>(window - context, 0, tokens);
  const auto n = static_cast<double>(below);
  return n * static_cast<double>(context) + n * (n + 1) / 2 + static_cast<double>(tokens - below) * static_cast<double>(window);
}

}  // namespace

const Batch& VllmV1::State::schedule(Time now) {
  check(in_flight < depth(), "the pipeline is full");
  pool.advance(now);
  batch.sums = {};
  batch.admitted.clear();
  batch.preempted.clear();
  batch.chunks.clear();
  batch.left_out.clear();
  batch.head = HeadBlock::none;
  head_tried = false;
  stepped = false;
  if (offload) offload->decisions.clear();
  ++in_flight;
  Flight& flight = newest();
  flight.completes.clear();
  flight.finishes.clear();
  completing.clear();
  flush = false;
  budget = params.batch_tokens;

  if (starving || !running_pass()) running_pass_by_steps();
  if (batch.preempted.empty()) {
    admission_pass();
  } else {
    settled = false;
    batch.head = HeadBlock::blocks;
  }
  if (offload) {
    flush_touched();
    submit_promotions();
    plan_stores();
    stuck = batch.sums.tokens == 0 && running.size() == 0 && batch.preempted.empty();
  }
  retire_decodes();
  start_decodes();
  flight.sums = batch.sums;
  return batch;
}

// Tokens for the next chunk of a prefilling call.
std::int64_t VllmV1::State::chunk(const Sequence& sequence, std::int64_t most) const {
  std::int64_t tokens = sequence.known - pool.computed(sequence.table);
  if (params.long_prefill_threshold > 0) tokens = std::min(tokens, params.long_prefill_threshold);
  return std::min(tokens, most);
}

// Serves all running calls at once if their blocks are free; false (and nothing done) otherwise. No call can be left without a token: what
// earlier ones ask for never grows, and a chunk that got only the rest of a budget belongs to the last call of the list. So it does not
// matter that decodes behind a chunk are charged before it.
bool VllmV1::State::running_pass() {
  std::int64_t left = budget - group.size();
  std::int64_t need = pool.tick_need();
  for (const SequenceId id : prefilling) {
    const Sequence& sequence = sequences[id];
    const std::int64_t tokens = chunk(sequence, left);
    check(tokens >= 1, "a running call was left without a token");
    left -= tokens;
    need += pool.need(sequence.table, pool.computed(sequence.table) + tokens);
  }
  if (need > pool.free_blocks()) return false;
  check(left >= 0, "the running calls exceed the token budget");

  pool.tick();
  if (group.advance(1, pool.ticks())) changed();
  batch.sums.tokens = batch.sums.decode_sequences = batch.sums.sampled = group.size();
  batch.sums.decode_context = group.context();
  batch.sums.decode_windowed = group.windowed();
  budget -= group.size();
  for (const SequenceId id : prefilling) {
    const Sequence& sequence = sequences[id];
    const std::int64_t context = pool.computed(sequence.table);
    const std::int64_t tokens = chunk(sequence, budget);
    pool.publish_before(sequence.serial);
    pool.compute(sequence.table, context + tokens, sequence.known);
    budget -= tokens;
    add_chunk(id, context, tokens);
  }
  pool.publish_before(UINT64_MAX);
  return true;
}

void VllmV1::State::admission_pass() {
  settled = true;
  head_grower = kv::kNone;
  if (offload) offload->asked_later = false;
  for (SequenceId id = head(); id != kNoSequence; id = head()) {
    if (running.size() >= params.sequences) {
      batch.head = HeadBlock::slots;
      break;
    }
    if (budget <= 0) {
      batch.head = HeadBlock::budget;
      break;
    }
    const Admit result = try_admit(id);
    if (result == Admit::failed) break;
    if (result == Admit::set_aside) {
      leave_queue(id);
      offload->aside.push_back(id);
    }
  }
  if (offload) return_aside();
}

// Who is looked at next: those that were passed over come first.
SequenceId VllmV1::State::head() const {
  if (skipped.empty()) return waiting.empty() ? kNoSequence : waiting.head();
  return waiting.empty() || skipped.leads(waiting) ? skipped.head() : waiting.head();
}

void VllmV1::State::leave_queue(SequenceId id) {
  queue_of(id).remove(id);
  sequences[id].skipped = false;
}

VllmV1::State::Admit VllmV1::State::try_admit(SequenceId id) {
  Sequence& sequence = sequences[id];
  if (sequence.place == Sequence::Place::loading) {
    if (!offload->sequences[id].loaded) return Admit::set_aside;
    return admit_loaded(id) ? Admit::admitted : Admit::failed;
  }
  const kv::Hit hit = pool.lookup(sequence.request.content, (sequence.known - 1) / params.block);
  head_grower = hit.grower;
  head_tried = true;
  tried = id;
  if (offload) {
    const ExternalLookup below = look_below(id, hit.blocks * params.block);
    if (below.answer != ExternalLookup::Answer::found) {
      head_grower = kv::kNone;
      head_tried = false;
      return Admit::set_aside;
    }
    if (below.tokens > 0) return start_load(id, hit, below.tokens) ? Admit::set_aside : Admit::failed;
  }
  return admit(id, hit) ? Admit::admitted : Admit::failed;
}

// Tokens of the first chunk of a call behind `context` tokens, for which it has `held` blocks, `idle` of them still among the free ones. 0
// where the budget or the free blocks do not allow it, which batch.head then says.
std::int64_t VllmV1::State::first_chunk(const Sequence& sequence, std::int64_t context, std::int64_t held, std::int64_t idle) {
  std::int64_t tokens = sequence.known - context;
  if (params.long_prefill_threshold > 0) tokens = std::min(tokens, params.long_prefill_threshold);
  if (!params.chunked_prefill && tokens > budget) {
    batch.head = HeadBlock::budget;
    return 0;
  }
  tokens = std::min(tokens, budget);
  const std::int64_t whole = std::min(sequence.known, params.max_length);
  const std::int64_t asked = params.reserve_full_prompt ? std::max(whole, context + tokens) : context + tokens;
  const std::int64_t need = std::max<std::int64_t>(0, (asked + params.block - 1) / params.block - held);
  if (need + idle + (running.size() > 0 ? reserve : 0) <= pool.free_blocks()) return tokens;
  batch.head = HeadBlock::blocks;
  return 0;
}

// Admits a call behind what was found, or says in batch.head why not.
bool VllmV1::State::admit(SequenceId id, const kv::Hit& hit) {
  Sequence& sequence = sequences[id];
  const std::int64_t found = hit.blocks * params.block;
  // Hit blocks that nobody holds lie among the free ones and are needed as well.
  const std::int64_t tokens = first_chunk(sequence, found, hit.blocks, hit.idle);
  if (tokens == 0) return false;
  sequence.table = pool.open(sequence.request.content, sequence.length - 1, sequence.request.owner, serial + 1, hit);
  batch.admitted.push_back({sequence.request.call, found, sequence.known, sequence.preempted, 0});
  enter_batch(id, found, tokens);
  return true;
}

// The call runs from now on: its first chunk follows `context` tokens.
void VllmV1::State::enter_batch(SequenceId id, std::int64_t context, std::int64_t tokens) {
  Sequence& sequence = sequences[id];
  leave_queue(id);
  running.push_back(sequences, id);
  sequence.serial = ++serial;
  sequence.place = Sequence::Place::prefilling;
  pool.compute(sequence.table, context + tokens, sequence.known);
  budget -= tokens;
  ++batch.sums.admissions;
  head_grower = kv::kNone;
  head_tried = false;
  prefilling.push_back(id);
  add_chunk(id, context, tokens);
}

void VllmV1::State::add_chunk(SequenceId id, std::int64_t context, std::int64_t tokens) {
  const Sequence& sequence = sequences[id];
  const bool completes = context + tokens == sequence.known;
  batch.chunks.push_back({sequence.request.call, context, tokens, completes});
  cost::StepSums& sums = batch.sums;
  const auto n = static_cast<double>(tokens);
  const double pairs = n * static_cast<double>(context) + n * (n + 1) / 2;
  sums.tokens += tokens;
  ++sums.prefill_sequences;
  sums.prefill_tokens += tokens;
  sums.longest_prefill = std::max(sums.longest_prefill, context + tokens);
  sums.prefill_pairs += pairs;
  sums.prefill_windowed_pairs += params.window > 0 ? windowed_pairs(context, tokens, params.window) : pairs;
  if (!completes) return;
  ++sums.sampled;
  completing.push_back(id);
}

// Calls that had their last decode in the schedule just made.
void VllmV1::State::retire_decodes() {
  while (group.next_end() == pool.ticks()) {
    const SequenceId id = group.top_end();
    Sequence& sequence = sequences[id];
    group.pop_end(pool.computed(sequence.table));
    pool.stop_decoding(sequence.table);
    sequence.place = Sequence::Place::draining;
    newest().finishes.push_back(ref(id));
    changed();
  }
}

// Calls whose prefill is complete with the schedule just made: they decode from the next one on, or have their only token on its way.
void VllmV1::State::start_decodes() {
  if (!batch.chunks.empty()) changed();
  if (completing.empty()) return;
  Flight& flight = newest();
  const bool mixed = !flight.finishes.empty();
  for (const SequenceId id : completing) {
    Sequence& sequence = sequences[id];
    flight.completes.push_back(ref(id));
    const std::int64_t left = sequence.length - 1 - sequence.known;
    if (left == 0) {
      sequence.place = Sequence::Place::draining;
      flight.finishes.push_back(ref(id));
      continue;
    }
    sequence.place = Sequence::Place::decoding;
    pool.start_decoding(sequence.table);
    group.join(id, sequence.serial, sequence.known, pool.ticks(), pool.ticks() + left);
  }
  std::erase_if(prefilling, [this](SequenceId id) { return sequences[id].place != Sequence::Place::prefilling; });
  if (mixed)
    std::sort(flight.finishes.begin(), flight.finishes.end(),
              [](const SequenceRef& a, const SequenceRef& b) { return a.serial < b.serial; });
}

}  // namespace marea::serving
