// What the engine costs: one replica that always runs the same number of calls (1,024 tokens of private prompt, 256 of output, a pool that
// is long since full), driven as the cluster drives it, with nothing priced. Reports time for a step that changes and a step that is passed
// over.
#include <benchmark/benchmark.h>

#include <vector>

#include "sim/kv/pool.h"
#include "sim/serving/vllm_v1.h"

namespace {

using namespace marea;

class Replica {
 public:
  Replica(std::int64_t calls, bool async) : engine_(params(calls, async), owners_), contents_(static_cast<std::size_t>(2 * calls)) {
    for (std::uint32_t i = 0; i < contents_.size(); ++i) free_.push_back(i);
    for (std::int64_t i = 0; i < calls; ++i) {
      arrive();
      for (int k = 0; k < 3; ++k) step();  // so that ends are spread
    }
    for (int i = 0; i < 20000; ++i) step();
  }

  // One boundary with everything that happens there; returns how many boundaries could be passed over behind it.
  void step() {
    now_ += Duration{10'000'000};
    if (engine_.in_flight() > 0) {
      for (const CallSlot call : engine_.complete(now_).finished) {
        free_.push_back(call.value);
        owners_.close(owner_[call.value], now_);
        ++finished_;
      }
    }
    while (arrivals_ < finished_ + started_) arrive();
    while (engine_.can_schedule()) engine_.schedule(now_);
    ++changed_;
  }

  std::int64_t skip(std::int64_t limit) {
    const std::int64_t steps = engine_.repeats(limit);
    boundaries_.clear();
    for (std::int64_t i = 0; i < steps; ++i) boundaries_.push_back(now_ += Duration{10'000'000});
    engine_.repeat(boundaries_);
    skipped_ += steps;
    return steps;
  }

  std::int64_t finished_ = 0, changed_ = 0, skipped_ = 0;
  serving::VllmV1& engine() { return engine_; }

 private:
  static serving::VllmV1Params params(std::int64_t calls, bool async) {
    serving::VllmV1Params params;
    params.blocks = calls * 82 + calls * 40;  // running calls and a good half as much cache
    params.sequences = calls;
    params.async = async;
    return params;
  }

  void arrive() {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    ++span_;
    kv::Content& content = contents_[slot];
    content.clear();
    content.push_back({2 * span_, 0, 1024});
    content.push_back({2 * span_ + 1, 0, 256});
    serving::Request request;
    request.call = CallSlot{slot};
    request.content = content;
    request.prompt = 1024;
    request.output = 256;
    if (owner_.size() <= slot) owner_.resize(contents_.size());
    request.owner = owner_[slot] = owners_.open(now_);
    engine_.add(request);
    ++arrivals_;
    if (finished_ == 0) started_ = arrivals_;
  }

  kv::Owners owners_;
  serving::VllmV1 engine_;
  std::vector<kv::Content> contents_;
  std::vector<std::uint32_t> free_;
  std::vector<OwnerId> owner_;
  std::vector<Time> boundaries_;
  Time now_ = kStart;
  std::uint64_t span_ = 0;
  std::int64_t arrivals_ = 0, started_ = 0;
};

// Every step is carried out.
void stepping(benchmark::State& state) {
  Replica replica(state.range(0), state.range(1) != 0);
  const std::int64_t finished = replica.finished_;
  for (auto _ : state) replica.step();
  state.counters["requests/step"] = static_cast<double>(replica.finished_ - finished) / static_cast<double>(state.iterations());
  state.counters["evicted"] = static_cast<double>(replica.engine().pool().evicted_blocks());
  state.counters["segments"] = static_cast<double>(replica.engine().pool().segments());
}
BENCHMARK(stepping)->ArgNames({"calls", "async"})->Args({64, 0})->Args({64, 1})->Args({500, 0})->Args({500, 1});

// As the cluster drives it: equal steps are passed over. Time per request, with all its steps.
void skipping(benchmark::State& state) {
  Replica replica(state.range(0), state.range(1) != 0);
  const std::int64_t changed = replica.changed_;
  const std::int64_t skipped = replica.skipped_;
  for (auto _ : state) {
    const std::int64_t finished = replica.finished_;
    while (replica.finished_ == finished) {
      replica.step();
      replica.skip(1000);
    }
    state.SetItemsProcessed(state.items_processed() + replica.finished_ - finished);
  }
  state.counters["changed"] = static_cast<double>(replica.changed_ - changed) / static_cast<double>(state.items_processed());
  state.counters["skipped"] = static_cast<double>(replica.skipped_ - skipped) / static_cast<double>(state.items_processed());
}
BENCHMARK(skipping)->ArgNames({"calls", "async"})->Args({64, 0})->Args({64, 1})->Args({500, 0})->Args({500, 1});

// A long run of equal steps alone: one call ends after the other, 50,000 tokens later.
void passed_over(benchmark::State& state) {
  kv::Owners owners;
  serving::VllmV1Params params;
  params.blocks = std::int64_t{1} << 40;
  params.sequences = state.range(0);
  params.max_length = 1 << 30;
  params.async = false;
  serving::VllmV1 engine(params, owners);
  std::vector<kv::Content> contents(static_cast<std::size_t>(state.range(0)));
  Time now = kStart;
  for (std::uint32_t i = 0; i < contents.size(); ++i) {
    contents[i] = {{i, 0, 1 << 30}};
    serving::Request request;
    request.call = CallSlot{i};
    request.content = contents[i];
    request.prompt = 100 + i;
    request.output = (1 << 30) - 100000;
    request.owner = owners.open(now);
    engine.add(request);
  }
  for (int i = 0; i < 100; ++i) {
    if (engine.in_flight() > 0) engine.complete(now);
    engine.schedule(now);
  }
  std::vector<Time> boundaries(100);
  std::int64_t steps = 0;
  for (auto _ : state) {
    for (Time& boundary : boundaries) boundary = now += Duration{10'000'000};
    const std::int64_t repeats = engine.repeats(100);
    if (repeats < 100) {
      state.SkipWithError("the pool is full");
      break;
    }
    engine.repeat(boundaries);
    steps += 100;
  }
  state.SetItemsProcessed(steps);
}
BENCHMARK(passed_over)->ArgName("calls")->Arg(64)->Arg(500)->Iterations(10000);

}  // namespace

BENCHMARK_MAIN();
