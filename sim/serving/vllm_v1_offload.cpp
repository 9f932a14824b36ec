// What a schedule does where KV is offloaded to a host pool: looks, loads, stores and the copies that hold a step up.
#include <algorithm>

#include "sim/serving/vllm_v1_state.h"

namespace marea::serving {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

// What the host pool holds of a waiting call beyond the `local` tokens found on the device. Each look makes all its blocks there younger.
ExternalLookup VllmV1::State::look_below(SequenceId id, std::int64_t local) {
  OffloadState& o = *offload;
  const Sequence& sequence = sequences[id];
  if (o.sequences.size() <= id) o.sequences.resize(id + 1);
  ExternalLookup look{sequence.request.call, local, 0, ExternalLookup::Answer::found};
  const std::int64_t keys = sequence.known / o.block;
  if (!o.sequences[id].jobs.empty()) {
    look.answer = ExternalLookup::Answer::own;
  } else {
    const std::int64_t from = local / o.block;
    poll_lower();
    if (keys * o.block - local >= o.block) {
      kv::OffloadPool::Found found = o.pool.find(sequence.request.content, {from, keys});
      if (!o.lower.empty()) found.storing |= look_lower(id, {from, keys}, found.present);
      if (o.params.store_threshold > 1) o.looked_up.count(sequence.request.content, {from, std::min(keys, from + found.present + 1)});
      const std::int64_t tokens = o.block * (from + found.present) - local;
      if (found.storing)
        look.answer = ExternalLookup::Answer::storing;
      else if (tokens >= o.block)
        look.tokens = tokens;
    }
    if (look.tokens > 0 && o.pool.loading(sequence.request.content, {from, ceil_div(local + look.tokens, o.block)})) {
      look.answer = ExternalLookup::Answer::loading;
      look.tokens = 0;
    }
    o.pool.refresh(sequence.request.content, keys);
    for (kv::OffloadPool& below : o.lower) below.refresh(sequence.request.content, keys);
  }
  if (look.answer != ExternalLookup::Answer::found) o.asked_later = true;
  o.decisions.lookups.push_back(look);
  return look;
}

// Blocks that calls whose prompts are not whole yet will still ask for.
std::int64_t VllmV1::State::in_flight_shortage() const {
  const auto lacks = [this](SequenceId id) {
    const Sequence& sequence = sequences[id];
    return std::max<std::int64_t>(0, ceil_div(sequence.known, params.block) - pool.allocated(sequence.table));
  };
  std::int64_t blocks = 0;
  for (const SequenceId id : prefilling) blocks += lacks(id);
  for (const SequenceId id : offload->loading) blocks += lacks(id);
  return blocks;
}

// Takes blocks for a load of `tokens` tokens behind the hit and decides it, or says in batch.head why not.
bool VllmV1::State::start_load(SequenceId id, const kv::Hit& hit, std::int64_t tokens) {
  OffloadState& o = *offload;
  Sequence& sequence = sequences[id];
  const std::int64_t local = hit.blocks * params.block;
  const std::int64_t upto = local + tokens;
  const std::int64_t kept = hit.idle + (running.size() > 0 ? reserve : 0);
  const std::int64_t whole = ceil_div(std::min(sequence.known, params.max_length), params.block) - hit.blocks;
  const std::int64_t need = ceil_div(upto, params.block) - hit.blocks;
  if ((params.reserve_full_prompt && whole + kept > pool.free_blocks()) || need + kept > pool.free_blocks() - in_flight_shortage()) {
    batch.head = HeadBlock::blocks;
    return false;
  }
  // Its place in the running list is known when it is admitted.
  sequence.table = pool.open(sequence.request.content, sequence.length - 1, sequence.request.owner, UINT64_MAX, hit);
  pool.compute(sequence.table, upto, local);
  sequence.place = Sequence::Place::loading;
  poll_lower();
  const kv::KeyRange keys{local / o.block, ceil_div(upto, o.block)};
  OffloadState::PerSequence& own = o.sequences[id];
  own.next = keys.to;
  own.loaded = own.noticed = false;
  own.local = local;
  own.jobs.push_back(o.next_number);
  o.loading.push_back(id);
  o.jobs.push_back(
      {o.next_number, true, false, o.pool.begin_load(sequence.request.content, keys, true), ref(id), kv::kNone, {keys}, {}, {}});
  o.decisions.loads.push_back({o.next_number++, true, sequence.request.call, need, {keys}});
  head_grower = kv::kNone;
  head_tried = false;
  return true;
}

// A call whose load was reported goes on behind it, or stays the head with the blocks it has.
bool VllmV1::State::admit_loaded(SequenceId id) {
  OffloadState& o = *offload;
  Sequence& sequence = sequences[id];
  o.sequences[id].noticed = true;
  const std::int64_t had = pool.computed(sequence.table);
  pool.compute(sequence.table, had, had);
  // The last known token has to be computed in any case: its output is the next one.
  if (had == sequence.known) pool.rewind(sequence.table);
  const std::int64_t context = pool.computed(sequence.table);
  const std::int64_t tokens = first_chunk(sequence, context, pool.allocated(sequence.table), 0);
  if (tokens == 0) return false;
  std::erase(o.loading, id);
  pool.reorder(sequence.table, serial + 1);
  pool.fences_of(sequence.table, o.decisions.flush);
  batch.admitted.push_back({sequence.request.call, context, sequence.known, sequence.preempted, context - o.sequences[id].local});
  enter_batch(id, context, tokens);
  return true;
}

// Those that were passed over come first in the next pass, in the order of this one.
void VllmV1::State::return_aside() {
  OffloadState& o = *offload;
  for (auto id = o.aside.rbegin(); id != o.aside.rend(); ++id) {
    sequences[*id].skipped = true;
    skipped.push_back_in(*id);
  }
  if (batch.head == HeadBlock::none && !o.aside.empty()) batch.head = HeadBlock::load;
  o.aside.clear();
}

// The blocks that this step takes or hits must not be read by a copy any more.
void VllmV1::State::flush_touched() {
  std::vector<TransferNumber>& held_up = offload->decisions.flush;
  pool.take_touched_fences(held_up);
  std::sort(held_up.begin(), held_up.end());
  held_up.erase(std::unique(held_up.begin(), held_up.end()), held_up.end());
}

// Copies what this step makes whole down, in the order of the schedule.
void VllmV1::State::plan_stores() {
  OffloadState& o = *offload;
  std::vector<SequenceId>& candidates = o.candidates;
  candidates.clear();
  for (const SequenceId id : prefilling) candidates.push_back(id);
  const auto decodes_now = [this](SequenceId id) {
    return stepped ? sequences[id].scheduled == pool.ticks() : sequences[id].place == Sequence::Place::decoding;
  };
  if (o.params.prompt_only) {
    std::erase_if(o.offering, [this](const SequenceRef& one) { return !alive(one) || sequences[one.id].serial != one.serial; });
    for (const SequenceRef& one : o.offering)
      if (decodes_now(one.id)) candidates.push_back(one.id);
  } else {
    for (SequenceId id = running.first(); id != kNoSequence; id = sequences[id].behind)
      if (sequences[id].place != Sequence::Place::prefilling && decodes_now(id)) candidates.push_back(id);
  }
  std::sort(candidates.begin(), candidates.end(), [this](SequenceId a, SequenceId b) { return sequences[a].serial < sequences[b].serial; });
  o.offering.clear();
  for (const SequenceId id : candidates) {
    const Sequence& sequence = sequences[id];
    const std::int64_t computed = pool.computed(sequence.table);
    const bool on_its_way = params.async && sequence.place != Sequence::Place::prefilling && !sequence.starved;
    const std::int64_t known = sequence.place == Sequence::Place::prefilling ? sequence.known : computed - (on_its_way ? 1 : 0);
    offer(id, std::min(computed, known), known);
  }
}

// Offers the blocks full of the first `tokens` tokens for a store.
void VllmV1::State::offer(SequenceId id, std::int64_t tokens, std::int64_t known) {
  OffloadState& o = *offload;
  const Sequence& sequence = sequences[id];
  if (o.sequences.size() <= id) o.sequences.resize(id + 1);
  OffloadState::PerSequence& own = o.sequences[id];
  if (o.params.prompt_only) tokens = std::min(tokens, sequence.request.prompt);
  const std::int64_t upto = tokens / o.block;
  const kv::ContentView content = sequence.request.content;
  o.missing.clear();
  if (upto > own.next) {
    poll_lower();
    o.pool.missing(content, {own.next, upto}, o.missing);
    if (o.params.store_threshold > 1) o.looked_up.keep(content, o.params.store_threshold, o.missing);
  }
  if (o.missing.empty()) {
    own.next = upto;
    return;
  }
  std::int64_t blocks = 0;
  for (const kv::KeyRange& keys : o.missing) blocks += keys.to - keys.from;
  kv::TransferId mark = 0;
  if (!o.pool.begin_store(content, o.missing, {own.next, upto}, mark)) {
    o.decisions.refused.push_back({sequence.request.call, {own.next, upto}});
    o.offering.push_back(ref(id));
    return;
  }
  o.pool.refresh(content, known / o.block);
  own.next = upto;
  own.jobs.push_back(o.next_number);
  o.jobs.push_back({o.next_number, false, false, mark, ref(id), kv::kNone, o.missing, {}, sequence.request.call});
  if (!o.lower.empty()) o.jobs.back().content = kv::prefix(content, o.missing.back().to * o.block);
  o.decisions.stores.push_back({o.next_number++, false, sequence.request.call, blocks * o.params.factor, o.missing});
}

// The call goes while copies read its blocks: whoever gets one of them waits for its copy.
void VllmV1::State::fence_transfers(SequenceId id) {
  OffloadState& o = *offload;
  if (id >= o.sequences.size()) return;
  for (const TransferNumber number : o.sequences[id].jobs) {
    OffloadState::Job& job = o.job(number);
    job.fenced = true;
    for (const kv::KeyRange& keys : job.keys)
      pool.fence(sequences[id].table, keys.from * o.params.factor, keys.to * o.params.factor, number);
  }
}

// Nobody is there any more for whom a load is made.
void VllmV1::State::leave_transfers(SequenceId id) {
  OffloadState& o = *offload;
  if (id >= o.sequences.size()) return;
  const kv::TableId table = sequences[id].table;
  OffloadState::PerSequence& own = o.sequences[id];
  if (std::erase(o.loading, id) > 0) {
    if (own.loaded)
      pool.close(table, false);
    else
      o.job(own.jobs.front()).orphan = table;
  }
  own = {};
}

// A transfer has ended, as the engine learns with the output of a step.
void VllmV1::State::report(TransferNumber number) {
  OffloadState& o = *offload;
  const OffloadState::Job job = o.job(number);
  if (job.load)
    o.pool.end_load(job.mark);
  else {
    o.pool.end_store(job.mark);
    cascade(job);
  }
  if (job.fenced) pool.lift_fence(number);
  if (job.orphan != kv::kNone) pool.close(job.orphan, false);
  if (alive(job.sequence)) {
    OffloadState::PerSequence& own = o.sequences[job.sequence.id];
    std::erase(own.jobs, number);
    if (job.load) own.loaded = true;
  }
  o.jobs.erase(std::find_if(o.jobs.begin(), o.jobs.end(), [number](const OffloadState::Job& one) { return one.number == number; }));
  settled = false;
  stuck = false;
}

}  // namespace marea::serving
