// Turns what the engine says before and after a schedule into a line of a recording.
#include "tests/serving/segment_subject.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "sim/kv/pool.h"

namespace marea::test {

SegmentSubject::SegmentSubject(const Workload& workload, kv::Owners& owners, std::vector<OwnerId> owner_of, bool skipping)
    : workload_(workload), owners_(owners), owner_of_(std::move(owner_of)), skipping_(skipping), engine_(workload.params, owners) {
  std::vector<std::size_t> order(workload.requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return workload.requests[a].id < workload.requests[b].id; });
  rank_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  engine_.pool().watch_evictions(&evicted_);
}

void SegmentSubject::add(std::int64_t request, double arrival) {
  const WorkloadRequest& what = workload_.requests[static_cast<std::size_t>(request)];
  serving::Request r;
  r.call = CallSlot{static_cast<std::uint32_t>(request)};
  r.content = what.content;
  r.prompt = what.prompt;
  r.output = what.output;
  r.owner = owner_of_[what.session];
  // The bits of a non-negative double are in the order of its values.
  r.key = {what.priority, std::bit_cast<std::int64_t>(arrival), rank_[static_cast<std::size_t>(request)]};
  engine_.add(r);
}

void SegmentSubject::abort(std::int64_t request, Time now) { engine_.abort(CallSlot{static_cast<std::uint32_t>(request)}, now); }

bool SegmentSubject::has_work() const {
  const serving::VllmV1::Load load = engine_.load();
  // can_schedule() also asks whether the pipeline has room, which it has wherever the loop asks this.
  return engine_.can_schedule() || load.running + load.waiting > 0;
}

void SegmentSubject::state(Line& line) const {
  const serving::VllmV1::Load load = engine_.load();
  line.free = load.free_blocks;
  line.running = load.running;
  line.waiting = load.waiting;
}

std::vector<ContentKey> SegmentSubject::take_evictions() {
  std::vector<ContentKey> keys;
  for (const kv::Content& content : evicted_) keys.push_back(content_key(content));
  evicted_.clear();
  return keys;
}

void SegmentSubject::schedule(Line& line, Time now) {
  std::vector<serving::VllmV1::Running> before;
  std::vector<serving::VllmV1::Running> after;
  engine_.running(before);
  const serving::Batch& batch = engine_.schedule(now);
  engine_.running(after);
  sums_.push_back(batch.sums);
  std::map<std::uint32_t, serving::VllmV1::Running> known;
  for (const serving::VllmV1::Running& r : before) known[r.call.value] = r;
  std::map<std::uint32_t, serving::Admission> admitted;
  for (const serving::Admission& a : batch.admitted) admitted[a.call.value] = a;
  for (const serving::VllmV1::Running& r : after) {
    const auto admission = admitted.find(r.call.value);
    if (admission != admitted.end()) {
      const std::int64_t hit = admission->second.hit;
      line.scheduled.push_back({request_of(r.call),
                                admission->second.resumed ? 'R' : 'N',
                                hit,
                                r.computed - hit,
                                r.blocks - hit / workload_.params.block,
                                hit,
                                {}});
      continue;
    }
    const serving::VllmV1::Running& was = known.at(r.call.value);
    if (r.computed > was.computed)
      line.scheduled.push_back({request_of(r.call), 'C', was.computed, r.computed - was.computed, r.blocks - was.blocks, 0, {}});
  }
  for (const CallSlot call : batch.preempted) line.preempted.push_back(request_of(call));
  line.evicted = take_evictions();
  if (const auto hit = engine_.blocked_hit()) line.blocked = {engine_.head().value, *hit};
  state(line);
}

void SegmentSubject::complete(Line& line, Time now) {
  for (const CallSlot call : engine_.complete(now).finished) line.finished.push_back(request_of(call));
  line.free_after = engine_.load().free_blocks;
}

std::vector<Line> SegmentSubject::skip(std::span<const Time> boundaries) {
  std::vector<Line> lines;
  if (!skipping_) return lines;
  const std::int64_t steps = engine_.repeats(static_cast<std::int64_t>(boundaries.size()));
  if (steps == 0) return lines;
  std::vector<serving::VllmV1::Running> before;
  engine_.running(before);
  const std::optional<std::int64_t> hit_before = engine_.blocked_hit();
  Line base;
  state(base);
  cost::StepSums sums = sums_.back();
  const std::int64_t growth = engine_.windowed_growth();
  engine_.repeat(boundaries.first(static_cast<std::size_t>(steps)));
  const std::optional<std::int64_t> hit = engine_.blocked_hit();
  for (std::int64_t i = 0; i < steps; ++i) {
    Line line = base;
    line.skipped = true;
    line.schedules = true;
    // In between, what the head would hit can only shrink with evictions; when is not known.
    if (hit) line.blocked = {engine_.head().value, *hit == *hit_before || i + 1 == steps ? *hit : -1};
    for (serving::VllmV1::Running& r : before) {
      const std::int64_t blocks = (r.computed + workload_.params.block) / workload_.params.block;
      line.scheduled.push_back({request_of(r.call), 'C', r.computed, 1, blocks - r.blocks, 0, {}});
      base.free -= blocks - r.blocks;
      r.blocks = blocks;
      ++r.computed;
    }
    line.free = base.free;
    sums.decode_context += sums.decode_sequences;
    sums.decode_windowed += growth;
    sums_.push_back(sums);
    lines.push_back(std::move(line));
  }
  lines.front().evicted = take_evictions();
  return lines;
}

End SegmentSubject::end() {
  End end;
  for (const kv::Content& content : engine_.pool().free_contents()) end.free_queue.push_back(content_key(content));
  for (const kv::Content& content : engine_.pool().cached_contents()) end.cached.push_back(content_key(content));
  std::sort(end.cached.begin(), end.cached.end());
  return end;
}

}  // namespace marea::test
