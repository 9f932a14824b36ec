// The running pass when blocks are short (or when a call was left out before): call by call, preempting as the real scheduler does.
#include <algorithm>

#include "sim/serving/vllm_v1_state.h"

namespace marea::serving {

void VllmV1::State::running_pass_by_steps() {
  stepped = true;
  write_down();
  pool.tick();  // counts the schedule; nobody decodes by ticks now
  entries.clear();
  passed_over = 0;
  for (SequenceId id = running.first(); id != kNoSequence && budget > 0; id = next_in_pass(id)) {
    Sequence& sequence = sequences[id];
    if (sequence.place == Sequence::Place::draining) continue;
    const std::int64_t context = pool.computed(sequence.table);
    // A token whose output is still on its way is computed from, but its block is registered only when it is known.
    const bool on_its_way = params.async && sequence.place == Sequence::Place::decoding && !sequence.starved;
    const std::int64_t known = on_its_way ? context : sequence.known;
    const std::int64_t tokens = chunk(sequence, budget);
    if (!make_room(id, context + tokens)) break;
    pool.compute(sequence.table, context + tokens, known);
    sequence.scheduled = pool.ticks();
    entries.push_back({id, context, tokens});
    budget -= tokens;
  }
  for (const Entry& entry : entries) price(entry);
  resume_decodes();
  changed();
}

// Turns what follows from the number of ticks into plain numbers in each running call.
void VllmV1::State::write_down() {
  group.clear();
  for (SequenceId id = running.first(); id != kNoSequence; id = sequences[id].behind) {
    Sequence& sequence = sequences[id];
    if (sequence.place == Sequence::Place::prefilling) continue;
    if (sequence.place == Sequence::Place::decoding) pool.stop_decoding(sequence.table);
    sequence.known = pool.computed(sequence.table) + 1;
  }
}

SequenceId VllmV1::State::next_in_pass(SequenceId id) {
  id = sequences[id].behind;
  for (; passed_over > 0 && id != kNoSequence; --passed_over) id = sequences[id].behind;
  return id;
}

// Preempts until `tokens` tokens of the call fit; false if it had to go itself.
bool VllmV1::State::make_room(SequenceId id, std::int64_t tokens) {
  while (pool.need(sequences[id].table, tokens) > pool.free_blocks()) {
    const SequenceId out = victim();
    if (sequences[out].scheduled == pool.ticks()) {
      const auto entry = std::find_if(entries.begin(), entries.end(), [out](const Entry& e) { return e.id == out; });
      budget += entry->tokens;
      entries.erase(entry);
    } else if (sequences[out].serial < sequences[id].serial) {
      // The real scheduler walks by index and moves it back only for a victim that had its turn. Where one that was left out stood in
      // front,
      // the index slips by a place, and the call behind this one is passed over.
      ++passed_over;
    }
    preempt(out);
    if (out == id) return false;
  }
  return true;
}

// First come, first served: the last of the running list. By key: the largest, of equals the first in the list; the tie plays no part.
SequenceId VllmV1::State::victim() const {
  if (!params.keyed_order) return running.last();
  SequenceId worst = running.first();
  for (SequenceId id = worst; id != kNoSequence; id = sequences[id].behind) {
    const SchedulingKey& a = sequences[id].request.key;
    const SchedulingKey& b = sequences[worst].request.key;
    if (a.first != b.first ? a.first > b.first : a.second > b.second) worst = id;
  }
  return worst;
}

void VllmV1::State::preempt(SequenceId id) {
  Sequence& sequence = sequences[id];
  release(id, in_flight == 2 ? &oldest() : nullptr);
  if (offload)
    offload->decisions.flush.insert(offload->decisions.flush.end(), offload->sequences[id].jobs.begin(), offload->sequences[id].jobs.end());
  stop_running(id);
  sequence.place = Sequence::Place::waiting;
  sequence.preempted = true;
  sequence.starved = false;
  sequence.serial = 0;
  sequence.scheduled = -1;
  waiting.push_back_in(id);
  batch.preempted.push_back(sequence.request.call);
}

void VllmV1::State::price(const Entry& entry) {
  if (sequences[entry.id].place == Sequence::Place::prefilling) {
    add_chunk(entry.id, entry.context, entry.tokens);
    return;
  }
  const std::int64_t read = entry.context + 1;
  ++batch.sums.tokens;
  ++batch.sums.decode_sequences;
  ++batch.sums.sampled;
  batch.sums.decode_context += read;
  batch.sums.decode_windowed += params.window > 0 ? std::min(read, params.window) : read;
}

// Puts the decoding calls back under the tick.
void VllmV1::State::resume_decodes() {
  starving = false;
  for (SequenceId id = running.first(); id != kNoSequence; id = sequences[id].behind) {
    Sequence& sequence = sequences[id];
    if (sequence.place != Sequence::Place::decoding) continue;
    const std::int64_t computed = pool.computed(sequence.table);
    const std::int64_t left = sequence.length - 1 - computed;
    if (left == 0) {
      sequence.place = Sequence::Place::draining;
      newest().finishes.push_back(ref(id));
      continue;
    }
    const bool left_out = sequence.scheduled != pool.ticks();
    if (left_out) batch.left_out.push_back(sequence.request.call);
    sequence.starved = params.async && left_out;
    starving |= sequence.starved;
    pool.start_decoding(sequence.table);
    group.join(id, sequence.serial, computed, pool.ticks(), pool.ticks() + left);
  }
}

// A call that was left out has, with this output, nothing in flight any more: all it computed is known and gets registered.
void VllmV1::State::register_starved() {
  for (SequenceId id = running.first(); id != kNoSequence; id = sequences[id].behind) {
    const Sequence& sequence = sequences[id];
    if (!sequence.starved) continue;
    pool.stop_decoding(sequence.table);
    const std::int64_t computed = pool.computed(sequence.table);
    pool.compute(sequence.table, computed, computed);
    pool.start_decoding(sequence.table);
  }
}

}  // namespace marea::serving
