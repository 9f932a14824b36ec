// Tiers below the host pool, as vLLM's TieringOffloadingManager treats them: what is stored cascades down at once, what is asked for is
// promoted block by block, and the host pool learns of ends only when it next asks.
#include <algorithm>

#include "sim/serving/vllm_v1_state.h"

namespace marea::serving {

// Looks for the keys behind `present` (those that the host pool has from keys.from on) in the lower tiers and gives what is found a place
// in the host pool, one block after the other. Counts on in `present`; true if any key is on its way.
bool VllmV1::State::look_lower(SequenceId id, kv::KeyRange keys, std::int64_t& present) {
  OffloadState& o = *offload;
  const kv::ContentView content = sequences[id].request.content;
  bool on_its_way = false;
  while (keys.from + present < keys.to) {
    const std::int64_t key = keys.from + present;
    std::int64_t below = 0;
    std::size_t tier = 0;
    for (; tier < o.lower.size() && below == 0; ++tier) below = o.lower[tier].find(content, {key, keys.to}).present;
    if (below == 0) break;
    o.pool.missing(content, {key, key + below}, o.missing);
    const std::int64_t found = std::min(below, o.missing.front().to - key);
    // Blocks of one gap give up the same victims together as one by one; under ARC each that comes in has a say in who goes next.
    const kv::OffloadPool::Blocks blocks = o.pool.blocks();
    const std::int64_t together = o.params.replacement == kv::Replacement::arc ? 1 : std::min(found, blocks.free + blocks.idle);
    const kv::KeyRange run{key, key + together};
    kv::TransferId mark = 0;
    if (together == 0 || !o.pool.begin_store(content, std::span(&run, 1), run, mark)) {
      ++o.decisions.no_room;
      break;
    }
    o.promotions.push_back({id, tier - 1, run, mark});
    on_its_way = true;
    present += together;
    const kv::OffloadPool::Found more = o.pool.find(content, {run.to, keys.to});
    present += more.present;
    on_its_way |= more.storing;
  }
  return on_its_way;
}

// The end of a schedule: what calls found below comes up, one transfer a call and tier.
void VllmV1::State::submit_promotions() {
  OffloadState& o = *offload;
  poll_lower();
  o.polled = false;
  for (std::size_t begin = 0, end = 0; begin < o.promotions.size(); begin = end) {
    const SequenceId id = o.promotions[begin].id;
    while (end < o.promotions.size() && o.promotions[end].id == id) ++end;
    for (std::size_t tier = 0; tier < o.lower.size(); ++tier) {
      OffloadState::LowerJob job{o.next_lower, tier, true, {}, {}, {}};
      std::int64_t blocks = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const OffloadState::Promotion& one = o.promotions[i];
        if (one.tier != tier) continue;
        blocks += one.keys.to - one.keys.from;
        job.marks.push_back(one.mark);
        if (!job.keys.empty() && job.keys.back().to == one.keys.from)
          job.keys.back().to = one.keys.to;
        else
          job.keys.push_back(one.keys);
      }
      if (blocks == 0) continue;
      o.decisions.promotions.push_back({o.next_lower++, tier, true, sequences[id].request.call, blocks, job.keys});
      o.lower_jobs.push_back(std::move(job));
    }
  }
  o.promotions.clear();
}

// Copies what has just been stored on to every lower tier. The host pool keeps it until that is done.
void VllmV1::State::cascade(const OffloadState::Job& stored) {
  OffloadState& o = *offload;
  for (std::size_t tier = 0; tier < o.lower.size(); ++tier) {
    OffloadState::LowerJob job{o.next_lower, tier, false, stored.content, stored.keys, {}};
    std::int64_t blocks = 0;
    for (const kv::KeyRange& keys : stored.keys) {
      job.marks.push_back(o.pool.begin_load(stored.content, keys, false));
      blocks += keys.to - keys.from;
    }
    outcome.cascades.push_back({o.next_lower++, tier, false, stored.call, blocks, stored.keys});
    o.lower_jobs.push_back(std::move(job));
  }
}

// Takes notice of lower transfers that have ended, once between two ends of schedules.
void VllmV1::State::poll_lower() {
  OffloadState& o = *offload;
  if (o.polled || o.lower.empty()) return;
  o.polled = true;
  for (const OffloadState::LowerJob& job : o.lower_ended) {
    if (!job.load) keep_below(job);
    for (const kv::TransferId mark : job.marks) job.load ? o.pool.end_store(mark) : o.pool.end_load(mark);
    o.decisions.noticed.push_back(job.number);
  }
  o.lower_ended.clear();
}

// What has come down is found there from now on.
void VllmV1::State::keep_below(const OffloadState::LowerJob& job) {
  kv::OffloadPool& tier = offload->lower[job.tier];
  for (const kv::KeyRange& keys : job.keys) {
    kv::TransferId mark = 0;
    tier.missing(job.content, keys, offload->missing);
    if (!offload->missing.empty() && tier.begin_store(job.content, offload->missing, keys, mark)) tier.end_store(mark);
  }
}

void VllmV1::ended_below(TransferNumber number) {
  OffloadState& o = *state_->offload;
  const auto job =
      std::find_if(o.lower_jobs.begin(), o.lower_jobs.end(), [number](const OffloadState::LowerJob& one) { return one.number == number; });
  check(job != o.lower_jobs.end(), "a lower transfer that is not under way has ended");
  o.lower_ended.push_back(std::move(*job));
  o.lower_jobs.erase(job);
  state_->stuck = false;
  state_->settled = false;
}

std::int64_t VllmV1::blocks_below(std::size_t tier) const {
  const kv::OffloadPool::Blocks blocks = state_->offload->lower[tier].blocks();
  return blocks.idle + blocks.busy;
}

}  // namespace marea::serving
