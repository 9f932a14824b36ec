// Small clusters for tests: a replica whose every step takes the same time, sessions from a list, and an observer that keeps what it is
// told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/routers/round_robin.h"
#include "sim/cluster/simulation.h"
#include "sim/serving/schedulers/fcfs.h"

namespace marea::test {

// A step takes `step` whatever is in it: the device is infinitely fast, the host is not.
inline cost::StepCost constant_step(Seconds step, std::int64_t batch_tokens) {
  spec::Model model;
  model.layers = 1;
  model.hidden = 64;
  model.vocabulary = 64;
  model.max_length = 1 << 20;
  model.attention.layers = 1;
  model.attention.heads = 1;
  model.attention.kv_heads = 1;
  model.attention.head_dim = 64;
  model.feed_forward.layers = 1;
  model.feed_forward.width = 64;
  spec::Device device;
  device.memory.bandwidth = Bandwidth{1e40};
  device.scale_up.bandwidth = Bandwidth{1e40};
  device.compute.units = 1;
  device.compute.peak.fill(FlopRate{1e40});
  const auto bf16 = static_cast<std::size_t>(spec::Format::bf16);
  device.costs.gemm[bf16] = spec::GemmCost{};
  device.costs.decode_attention[bf16] = spec::DecodeAttentionCost{};
  device.costs.prefill_attention[bf16] = spec::PrefillAttentionCost{};
  spec::HostCost host;
  host.step = step;
  return cost::StepCost(model, device, spec::deploy(model, spec::Format::bf16, spec::Format::bf16, 1), host, batch_tokens);
}

// Sessions made by a function: `next(index, session)` fills one in and returns its start, or nothing at the end.
class ListedLoad final : public traffic::Load {
 public:
  using Maker = std::function<std::optional<Time>(std::uint64_t index, traffic::Session& session)>;
  explicit ListedLoad(Maker maker) : maker_(std::move(maker)) { advance(); }

  std::optional<Time> next_start() const override { return start_; }
  void take(traffic::Session& session) override {
    session.program = prepared_.program;
    session.threads = prepared_.threads;
    session.index = prepared_.index;
    session.abandon_after = prepared_.abandon_after;
    session.priority = prepared_.priority;
    session.shareable = prepared_.shareable;
    advance();
  }
  void ended(Time) override {}
  std::string mode() const override { return "listed"; }

 private:
  void advance() {
    prepared_ = {};
    prepared_.threads.resize(1);
    prepared_.index = index_;
    start_ = maker_(index_++, prepared_);
  }
  Maker maker_;
  std::uint64_t index_ = 0;
  std::optional<Time> start_;
  traffic::Session prepared_;
};

// A session of one call with content of its own.
inline void single_call(traffic::Session& session, std::int64_t prompt, std::int64_t output) {
  traffic::Step step;
  step.call.prompt = prompt;
  step.call.output = output;
  step.call.content = {{session.index + 1, 0, prompt + output}};
  session.shareable = 0;
  add_vertex(step, session.program);
}

struct Collected final : cluster::Observer {
  std::vector<cluster::CallEnded> calls;
  std::vector<cluster::SessionEnded> sessions;
  std::vector<cluster::TimeBooked> booked;
  std::vector<cluster::ThreadEnded> threads;
  std::vector<cluster::ToolEnded> tools;
  std::vector<cluster::MemoryBooked> memory;
  std::vector<cluster::LongGap> gaps;
  std::vector<Time> step_ends;
  cluster::RunEnded end{};
  void on(const cluster::CallEnded& fact) override { calls.push_back(fact); }
  void on(const cluster::SessionEnded& fact) override { sessions.push_back(fact); }
  void on(const cluster::TimeBooked& fact) override { booked.push_back(fact); }
  void on(const cluster::ThreadEnded& fact) override { threads.push_back(fact); }
  void on(const cluster::ToolEnded& fact) override { tools.push_back(fact); }
  void on(const cluster::MemoryBooked& fact) override { memory.push_back(fact); }
  void on(const cluster::LongGap& fact) override { gaps.push_back(fact); }
  void on(const cluster::StepsRun& fact) override { step_ends.insert(step_ends.end(), fact.ends.begin(), fact.ends.end()); }
  void on(const cluster::RunEnded& fact) override { end = fact; }
};

inline serving::VllmV1Params engine(std::int64_t sequences, std::int64_t blocks = 1 << 20) {
  serving::VllmV1Params params;
  params.blocks = blocks;
  params.sequences = sequences;
  params.max_length = 1 << 20;
  params.async = false;
  return params;
}

inline serving::SchedulerRecipe first_come() {
  return [](const serving::Future& future) {
    return std::make_unique<serving::schedulers::Fcfs>(serving::schedulers::Fcfs::Params{}, future);
  };
}

inline cluster::RouterRecipe in_turn() {
  return [](cluster::PrefixIndex& index) {
    return std::make_unique<cluster::routers::RoundRobin>(cluster::routers::RoundRobin::Params{}, index);
  };
}

// One pool of `replicas`, one traffic class, steps of `step`.
inline cluster::Setup small_cluster(serving::VllmV1Params params, Seconds step, std::unique_ptr<traffic::Load> load, int replicas = 1) {
  cluster::Setup setup;
  setup.pools.push_back(cluster::PoolSetup{.name = "main",
                                           .replicas = replicas,
                                           .engine = params,
                                           .cost = constant_step(step, params.batch_tokens),
                                           .scheduler = first_come(),
                                           .router = in_turn()});
  setup.classes.push_back(cluster::ClassSetup{"only", std::move(load), 0});
  return setup;
}

}  // namespace marea::test
