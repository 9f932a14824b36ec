#include "sim/cluster/replica.h"

#include <algorithm>

#include "sim/base/error.h"

namespace marea::cluster {

namespace {

// A step longer than this is no step of a machine that anybody would run.
constexpr Seconds kLongestStep{1e6};

Duration step_time(Seconds price) {
  if (price > kLongestStep) {
    throw ConfigError({}, "cluster.node.device",
                      "one step of an engine would take more than 11 days on this device; raise its bandwidth and FLOP/s");
  }
  return to_clock(price);
}

constexpr std::size_t next(std::size_t slot) { return slot == 2 ? 0 : slot + 1; }

std::size_t cause_of(serving::HeadBlock head) {
  switch (head) {
    case serving::HeadBlock::slots:
      return 0;
    case serving::HeadBlock::blocks:
      return 1;
    case serving::HeadBlock::budget:
      return 2;
    case serving::HeadBlock::load:
      return 4;
    case serving::HeadBlock::none:
      break;
  }
  return 3;
}

}  // namespace

Replica::Replica(ReplicaId id, const serving::VllmV1Params& params, cost::StepCost& cost, kv::Owners& owners, std::size_t classes)
    : id_(id), engine_(params, owners), cost_(&cost), decoding_(classes, 0), gaps_(classes, 0) {}

const serving::Batch& Replica::schedule(Time now) {
  const serving::Batch& batch = engine_.schedule(now);
  Work& work = works_[newest_];
  work.admitted.assign(batch.admitted.begin(), batch.admitted.end());
  work.chunks.assign(batch.chunks.begin(), batch.chunks.end());
  work.left_out.assign(batch.left_out.begin(), batch.left_out.end());
  if (batch.offload != nullptr) {
    work.loads = batch.offload->loads;
    work.stores = batch.offload->stores;
    work.flush = batch.offload->flush;
  }
  newest_ = next(newest_);
  set_queue_cause(batch.head, now);
  return batch;
}

void Replica::start(Time now, Duration held_up) {
  check(!busy_ && engine_.in_flight() > 0, "a step started on a busy device or without a batch");
  busy_ = true;
  start_ = now;
  held_up_ = held_up;
  sums_ = engine_.next_step();
  gaps_ = decoding_;
  ++changed_steps_;
}

Time Replica::plan(std::int64_t limit) {
  ends_.clear();
  done_ = 0;
  const std::int64_t repeats = limit > 0 && !copies_in_flight() ? engine_.repeats(limit) : 0;
  if (repeats == 0) {
    ends_.push_back(start_ + held_up_ + step_time(cost_->price(sums_)));
  } else {
    cost::DecodeRun run(*cost_, sums_, engine_.windowed_growth());
    Time end = start_ + held_up_;
    for (std::int64_t step = 0; step <= repeats; ++step) {
      end += step_time(run.next());
      ends_.push_back(end);
    }
  }
  return ends_.back();
}

Time Replica::cut(Time now) {
  const auto boundary = std::lower_bound(ends_.begin() + static_cast<std::ptrdiff_t>(done_), ends_.end(), now);
  check(boundary != ends_.end(), "a run was cut behind its end");
  ends_.erase(boundary + 1, ends_.end());
  return ends_.back();
}

StepsRun Replica::take(std::size_t boundaries) {
  const std::span<const Time> ends(ends_.data() + done_, boundaries);
  const StepsRun fact{id_, start_, ends, sums_, gaps_};
  done_ += boundaries;
  steps_ += static_cast<std::int64_t>(boundaries);
  return fact;
}

StepsRun Replica::catch_up(Time now) {
  const auto begin = ends_.begin() + static_cast<std::ptrdiff_t>(done_);
  const auto past = std::upper_bound(begin, ends_.end() - 1, now);
  const auto count = static_cast<std::size_t>(past - begin);
  const StepsRun fact = take(count);
  if (count > 0) {
    engine_.repeat(fact.ends);
    start_ = fact.ends.back();
    sums_ = engine_.next_step();
  }
  return fact;
}

StepsRun Replica::finish() {
  check(busy_, "a step ended on an idle device");
  const StepsRun fact = take(ends_.size() - done_);
  if (fact.ends.size() > 1) engine_.repeat(fact.ends.first(fact.ends.size() - 1));
  busy_ = false;
  oldest_ = next(oldest_);
  return fact;
}

bool Replica::next_is_empty() const { return !busy_ && engine_.in_flight() > 0 && engine_.next_step().tokens == 0; }

const serving::Outcome& Replica::drop_empty(Time now, std::span<const serving::TransferNumber> ended) {
  check(next_is_empty(), "a batch with sequences was dropped");
  oldest_ = next(oldest_);
  return engine_.complete(now, ended);
}

// A copy begins or ends with one step of a run: it cannot be skipped over.
bool Replica::copies_in_flight() const {
  for (std::size_t slot = oldest_; slot != newest_; slot = next(slot)) {
    const Work& work = works_[slot];
    if (!work.loads.empty() || !work.stores.empty()) return true;
  }
  return false;
}

QueueTotals Replica::queue_totals(Time now) const {
  QueueTotals totals = queue_;
  totals.spent[queue_cause_] += now - queue_since_;
  return totals;
}

void Replica::set_queue_cause(serving::HeadBlock head, Time now) {
  queue_.spent[queue_cause_] += now - queue_since_;
  queue_since_ = now;
  queue_cause_ = cause_of(head);
}

}  // namespace marea::cluster
