// The event loop, the measuring window, samples and the end of a run.
#include "sim/cluster/simulation.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/pool.h"
#include "sim/kv/pool.h"

namespace marea::cluster {

namespace {

constexpr std::int64_t kProgressPeriod = 1 << 13;  // events between two questions to `progress`

}  // namespace

Simulation::Simulation(Setup setup, std::vector<Observer*> observers)
    : seed_(setup.seed),
      classes_(std::move(setup.classes)),
      window_(setup.window),
      sample_period_(setup.sample_period),
      skip_ahead_(setup.skip_ahead),
      observers_(std::move(observers)),
      next_starts_(classes_.size()) {
  for (PoolSetup& pool_setup : setup.pools) {
    const std::size_t first = replicas_.size();
    const int count = pool_setup.replicas;
    pools_.push_back(std::make_unique<Pool>(std::move(pool_setup), first, *this));
    Pool& pool = *pools_.back();
    for (int index = 0; index < count; ++index) {
      const ReplicaId id{static_cast<std::uint32_t>(replicas_.size())};
      replicas_.emplace_back(id, pool.setup.engine, pool.setup.cost, owners_, classes_.size());
      Station& station = stations_.emplace_back();
      station.pool = pools_.size() - 1;
      station.index = static_cast<std::size_t>(index);
      if (pool.setup.engine.offload.blocks > 0) station.copies.emplace(pool.setup.copies);
    }
  }
  for (const ToolSetup& tool : setup.tools) tools_.emplace_back(tool.workers);
}

Simulation::~Simulation() = default;

bool Simulation::run(const std::function<bool(const Progress&)>& progress) {
  emit(RunStarted{static_cast<std::int64_t>(classes_.size()), static_cast<std::int64_t>(replicas_.size())});
  if (window_.start == kStart) {
    open_window(kStart);
  } else {
    push(window_.start, EventKind::window_edge, {kOpens});
  }
  if (window_.end != kNever) {
    push_own(window_.end, EventKind::window_edge, {kCloses});
  }
  for (std::uint32_t traffic = 0; traffic < classes_.size(); ++traffic) arm(ClassId{traffic}, kStart);
  if (sample_period_ > Duration{}) push_own(kStart, EventKind::sample, {});
  for (const auto& pool : pools_) {
    if (pool->setup.view_age > Duration{}) push_own(kStart, EventKind::view, {static_cast<std::uint32_t>(&pool - pools_.data())});
  }
  bool stopped = false;
  while (!queue_.empty() && !over()) {
    const Event event = queue_.pop();
    check(event.time >= now_, "the clock went back");
    now_ = event.time;
    dispatch(event);
    if (++events_ % kProgressPeriod == 0 && progress) {
      std::int64_t steps = 0;
      for (const Replica& replica : replicas_) steps += replica.steps();
      if (!progress({now_, window_.end, events_, steps, static_cast<std::int64_t>(session_arrivals_)})) {
        stopped = true;
        break;
      }
    }
  }
  cut_all(now_);
  return !stopped;
}

void Simulation::dispatch(const Event& event) {
  const EventData& data = event.payload;
  switch (static_cast<EventKind>(event.kind)) {
    case EventKind::window_edge:
      if (data.a == kOpens) open_window(now_);
      if (data.a == kCloses || (data.a == kRanDry && window_open_)) close_window(now_);
      if (data.a == kCloses || data.a == kDrained) --own_events_;
      break;
    case EventKind::step_end:
      if (stations_[data.a].plan == data.b) boundary(replicas_[data.a], now_);
      break;
    case EventKind::copy_end:
      copy_ended(data.a, data.b, now_);
      break;
    case EventKind::tool_end:
      tool_ended(data.a, now_);
      break;
    case EventKind::wait_end:
      if (sessions_[SessionSlot{data.a}].generation == data.b) wait_ended(SessionSlot{data.a}, data.c, now_);
      break;
    case EventKind::abandonment:
      if (sessions_[SessionSlot{data.a}].generation == data.b) end_session(SessionSlot{data.a}, SessionEnd::abandoned, now_);
      break;
    case EventKind::arrival:
      start_due(ClassId{data.a}, data.b, now_);
      break;
    case EventKind::routing:
      if (sessions_[SessionSlot{data.b}].generation == data.c) route(CallSlot{data.a}, now_);
      break;
    case EventKind::tool_dispatch:
      ask_for_worker(data.a, now_);
      break;
    case EventKind::scheduling:
      schedule(replicas_[data.a], now_);
      break;
    case EventKind::sample:
      --own_events_;
      sample(now_);
      if (goes_on()) push_own(now_ + sample_period_, EventKind::sample, {});
      break;
    case EventKind::view:
      --own_events_;
      pools_[data.a]->snapshot = pools_[data.a]->live;
      if (goes_on()) push_own(now_ + pools_[data.a]->setup.view_age, EventKind::view, data);
      break;
  }
}

// Whether anything is still to come: sessions, or the rest of a window with a stated end.
bool Simulation::goes_on() const {
  return queue_.size() > static_cast<std::size_t>(own_events_) || (window_.end != kNever && !window_closed_);
}

bool Simulation::over() const {
  if (window_closed_) return measured_open_ == 0 || now_ >= window_.end + window_.drain;
  return queue_.size() == static_cast<std::size_t>(own_events_) && window_.end == kNever;
}

void Simulation::push(Time at, EventKind kind, EventData data) { queue_.push(at, static_cast<std::uint8_t>(kind), data); }

// An event of a replica; ties go by its number, so that they do not depend on how far ahead it was planned.
void Simulation::push(Time at, EventKind kind, const Replica& replica, std::uint32_t plan) {
  queue_.push(at, static_cast<std::uint8_t>(kind), replica.id().value, {replica.id().value, plan});
}

// An event that does not keep the run alive.
void Simulation::push_own(Time at, EventKind kind, EventData data) {
  ++own_events_;
  push(at, kind, data);
}

void Simulation::open_window(Time now) {
  window_.start = now;
  emit(WindowOpened{now});
  book_all(now);
  for (Replica& replica : replicas_) {
    catch_up(replica, now);
    replica.engine().pool().flush(now);
    replica.engine().pool().clear_account();
  }
  window_open_ = true;
  if (ran_dry_ && now > kStart) push(now, EventKind::window_edge, {kRanDry});  // the traffic was over before the warm-up
}

void Simulation::close_window(Time now) {
  if (window_closed_) return;
  check(window_open_, "the measuring window closed before it opened");
  book_all(now);
  flush_memory(now);
  window_.end = now;
  window_closed_ = true;
  emit(WindowClosed{now});
  push_own(now + window_.drain, EventKind::window_edge, {kDrained});
}

// Carries out what a replica has done since it was last looked at.
void Simulation::catch_up(Replica& replica, Time now) {
  if (!replica.busy()) return;
  const StepsRun fact = replica.catch_up(now);
  if (!fact.ends.empty()) emit(fact);
}

void Simulation::flush_memory(Time now) {
  for (Replica& replica : replicas_) {
    catch_up(replica, now);
    kv::Pool& pool = replica.engine().pool();
    pool.flush(now);
    for (int state = 0; state < kKvStates; ++state) {
      for (int owner = 0; owner < kKvOwners; ++owner) {
        const auto value = pool.account().total(static_cast<KvState>(state), static_cast<KvOwner>(owner));
        if (value > 0) emit(MemoryBooked{replica.id(), static_cast<KvState>(state), static_cast<KvOwner>(owner), value});
      }
    }
  }
}

void Simulation::sample(Time now) {
  for (Replica& replica : replicas_) {
    catch_up(replica, now);
    const serving::VllmV1::Load load = replica.engine().load();
    const kv::Pool& pool = replica.engine().pool();
    emit(ReplicaSampled{replica.id(), now, load.waiting, load.running, pool.usable_blocks(), pool.referenced_blocks(),
                        pool.cached_blocks()});
  }
}

void Simulation::cut_all(Time now) {
  if (!window_open_) open_window(now);
  close_window(now);
  std::vector<SessionSlot> live;
  for (std::uint32_t slot = 0; slot < sessions_.slots(); ++slot) {
    if (sessions_[SessionSlot{slot}].live) live.push_back(SessionSlot{slot});
  }
  // By arrival, because which slot a session has depends on how far ahead replicas were planned.
  std::sort(live.begin(), live.end(), [this](SessionSlot a, SessionSlot b) { return sessions_[a].arrival < sessions_[b].arrival; });
  for (const SessionSlot slot : live) end_session(slot, SessionEnd::cut, now);
  RunEnded ended{.at = now, .window_start = window_.start, .window_end = window_.end, .events = events_, .preemptions = preemptions_};
  for (Replica& replica : replicas_) {
    catch_up(replica, now);
    ended.steps += replica.steps();
    ended.changed_steps += replica.changed_steps();
    ended.evicted_blocks += replica.engine().pool().evicted_blocks();
  }
  emit(ended);
}

}  // namespace marea::cluster
