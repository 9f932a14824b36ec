// A small run told as facts, each number of which can be checked with a pencil, and the means to tell it wrong in one place.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/cluster/facts.h"
#include "sim/metrics/observers.h"

namespace marea::test {

constexpr Time at(std::int64_t nanoseconds) { return kStart + Duration{nanoseconds}; }

using Fact = std::variant<cluster::RunStarted, cluster::SessionStarted, cluster::SessionEnded, cluster::TimeBooked, cluster::ThreadEnded,
                          cluster::ContextGrew, cluster::CallEnded, cluster::StepsRun, cluster::LongGap, cluster::ToolEnded,
                          cluster::ReplicaSampled, cluster::MemoryBooked, cluster::WindowClosed, cluster::RunEnded>;
using Story = std::vector<Fact>;

inline void tell(const Story& story, cluster::Observer& observer) {
  for (const Fact& fact : story) std::visit([&](const auto& told) { observer.on(told); }, fact);
}

// The n-th fact of one kind.
template <class Kind>
Kind& nth(Story& story, std::size_t n = 0) {
  for (Fact& fact : story)
    if (Kind* found = std::get_if<Kind>(&fact))
      if (n-- == 0) return *found;
  throw InternalError("the story has no such fact");
}

inline std::array<Duration, cluster::kCauses> booked(std::initializer_list<std::pair<cluster::Cause, std::int64_t>> parts) {
  std::array<Duration, cluster::kCauses> sums{};
  for (const auto& [cause, nanoseconds] : parts) sums[static_cast<std::size_t>(cause)] = Duration{nanoseconds};
  return sums;
}

// One class, one replica of 64 tokens, one tool with two workers; the window is [100, 1100) ns.
inline metrics::ObserverSetup plain_setup() {
  metrics::ObserverSetup setup;
  setup.classes = {"coders"};
  setup.pools = {"main"};
  setup.replicas = {{0, 64, 1 << 20}};
  setup.tools = {{"shell", 2}};
  setup.tiers = {{{"dram"}, 1 << 20}};
  setup.window = {at(100), at(1100)};
  setup.sample_period = Duration{250};
  setup.load_modes = {"open poisson 1 /s"};
  return setup;
}

// A session of two calls with a tool of 50 ns between them:
//
//   100 issued, 110 queued, 120 scheduled, 140 first of 3 tokens, 150, 160 last      prompt 10, first call
//   160 - 210 tool
//   210 issued, 220 queued and scheduled, 240 its only token                         prompt 15, 13 known, 12 from the cache, 1 lost
inline Story two_calls() {
  using cluster::Cause;
  static const kv::Content first = {{1, 0, 13}};
  static const kv::Content second = {{1, 0, 16}};
  static const std::vector<Time> prefill = {at(140)}, decode = {at(150), at(160)}, resumed = {at(240)};
  static const std::vector<std::int64_t> none = {0}, one = {1};
  const SessionSlot session{0};
  const ClassId traffic{0};
  const auto book = [&](Cause cause, std::int64_t duration, std::int64_t until) {
    return cluster::TimeBooked{session, traffic, 0, cause, Duration{duration}, at(until), true};
  };
  Story story;
  story.push_back(cluster::RunStarted{1, 1});
  story.push_back(cluster::SessionStarted{session, traffic, 7, at(100), Duration{50}});
  story.push_back(cluster::ContextGrew{session, traffic, 0, first, 0, at(100)});
  story.push_back(book(Cause::front_end, 10, 110));
  story.push_back(book(Cause::queue_boundary, 10, 120));
  story.push_back(
      cluster::StepsRun{ReplicaId{0}, at(120), prefill, {.tokens = 10, .prefill_sequences = 1, .prefill_tokens = 10, .sampled = 1}, none});
  story.push_back(book(Cause::prefill_new, 20, 140));
  story.push_back(cluster::StepsRun{ReplicaId{0}, at(140), decode, {.tokens = 1, .decode_sequences = 1, .sampled = 1}, one});
  story.push_back(book(Cause::decode, 20, 160));
  cluster::CallEnded call{.call = CallSlot{0}, .session = session, .traffic = traffic, .session_index = 7};
  call.replica = ReplicaId{0};
  call.prompt = 10;
  call.output = call.generated = 3;
  call.issued = at(100);
  call.queued = at(110);
  call.scheduled = at(120);
  call.first_token = at(140);
  call.last_token = call.at = at(160);
  call.booked = booked({{Cause::front_end, 10}, {Cause::queue_boundary, 10}, {Cause::prefill_new, 20}, {Cause::decode, 20}});
  story.push_back(call);
  story.push_back(cluster::ToolEnded{ToolId{0}, traffic, Duration{0}, Duration{50}, false, at(210)});
  story.push_back(book(Cause::tool, 50, 210));
  story.push_back(cluster::ContextGrew{session, traffic, 0, second, 0, at(210)});
  story.push_back(book(Cause::front_end, 10, 220));
  story.push_back(
      cluster::StepsRun{ReplicaId{0}, at(220), resumed, {.tokens = 3, .prefill_sequences = 1, .prefill_tokens = 3, .sampled = 1}, none});
  story.push_back(book(Cause::prefill_lost, 5, 240));
  story.push_back(book(Cause::prefill_new, 15, 240));
  call.index = 1;
  call.after = cluster::After::tool;
  call.prompt = 15;
  call.known = 13;
  call.hit = 12;
  call.lost = {1, 0, 0};
  call.output = call.generated = 1;
  call.issued = at(210);
  call.queued = call.scheduled = at(220);
  call.first_token = call.last_token = call.at = at(240);
  call.booked = booked({{Cause::front_end, 10}, {Cause::prefill_lost, 5}, {Cause::prefill_new, 15}});
  story.push_back(call);
  story.push_back(cluster::SessionEnded{session, traffic, 7, cluster::SessionEnd::completed, at(100), at(240), Duration{50}, 2,
                                        booked({{Cause::front_end, 20},
                                                {Cause::queue_boundary, 10},
                                                {Cause::prefill_new, 35},
                                                {Cause::prefill_lost, 5},
                                                {Cause::decode, 20},
                                                {Cause::tool, 50}})});
  story.push_back(cluster::ReplicaSampled{ReplicaId{0}, at(250), 3, 2, 4, 1, 2});
  story.push_back(cluster::MemoryBooked{ReplicaId{0}, cluster::KvState::referenced, cluster::KvOwner::decode, 64 * 300});
  story.push_back(cluster::MemoryBooked{ReplicaId{0}, cluster::KvState::cached_hit, cluster::KvOwner::tool, 64 * 100});
  story.push_back(cluster::MemoryBooked{ReplicaId{0}, cluster::KvState::free, cluster::KvOwner::nobody, 64 * 600});
  story.push_back(cluster::WindowClosed{at(1100)});
  story.push_back(cluster::RunEnded{at(1100), at(100), at(1100), 20, 4, 3, 5, 0});
  return story;
}

inline metrics::Results results_of(const Story& story, metrics::ObserverSetup setup = plain_setup()) {
  metrics::Observers observers(std::move(setup));
  tell(story, observers);
  return observers.finish();
}

inline const metrics::MetricValue* metric(const metrics::Results& results, std::string_view name, std::string_view label = "") {
  for (const metrics::MetricValue& value : results.metrics)
    if (value.name == name && value.label == label) return &value;
  return nullptr;
}

// The value of a metric that must be there.
inline double value_of(const metrics::Results& results, std::string_view name, std::string_view label = "") {
  const metrics::MetricValue* found = metric(results, name, label);
  if (found == nullptr) throw InternalError("no metric " + std::string(name) + " {" + std::string(label) + "}");
  return found->value;
}

inline std::int64_t row_of(const metrics::Ledger& ledger, std::string_view owner, std::string_view cause) {
  for (const metrics::LedgerRow& row : ledger.rows)
    if (row.owner == owner && row.cause == cause) return row.value;
  return 0;
}

}  // namespace marea::test
