// Schedules that a person can check with a pencil, and the promises of the engine's interface that no recording covers.
#include <doctest/doctest.h>

#include "sim/kv/pool.h"
#include "sim/serving/schedulers/fcfs.h"
#include "sim/serving/schedulers/priority.h"
#include "sim/serving/schedulers/session_first_arrival.h"
#include "sim/serving/schedulers/shortest_job.h"
#include "sim/serving/vllm_v1.h"
#include "sim/serving/waiting_queue.h"

namespace marea::serving {
namespace {

Time at(std::int64_t nanoseconds) { return kStart + Duration{nanoseconds}; }

struct Rig {
  explicit Rig(const VllmV1Params& params) : engine(params, owners) { contents.reserve(64); }

  CallSlot add(kv::Content prompt, std::int64_t output, SchedulingKey key = {}) {
    Request request;
    request.call = CallSlot{static_cast<std::uint32_t>(contents.size())};
    request.prompt = kv::length(prompt);
    request.output = output;
    kv::append(prompt, {1000 + contents.size(), 0, output});
    contents.push_back(std::move(prompt));
    request.content = contents.back();
    request.owner = owners.open(kStart);
    request.key = key;
    engine.add(request);
    return request.call;
  }

  kv::Owners owners;
  std::vector<kv::Content> contents;
  VllmV1 engine;
};

VllmV1Params small() {
  VllmV1Params params;
  params.block = 4;
  params.blocks = 12;
  params.batch_tokens = 16;
  params.sequences = 8;
  params.max_length = 1000;
  params.async = false;
  return params;
}

TEST_CASE("four calls on eleven blocks: hits within a step, and a blocked head") {
  // r0 and r1: the same 8 tokens; r2: those and 9 more; r3: 14 other tokens. Budget 16.
  //   r0: 8 tokens, 2 blocks. r1: hits 7 / 4 = 1 block, computes 4. r2: hits 16 / 4 = 4, but only 2 blocks exist: 8 tokens; 16 - 8 - 4 = 4
  //   of its 9. free: 11 - 2 - 1 - 1 = 7.
  Rig rig(small());
  rig.add({{1, 0, 8}}, 5);
  rig.add({{1, 0, 8}}, 5);
  rig.add({{1, 0, 8}, {2, 0, 9}}, 5);
  rig.add({{3, 0, 14}}, 5);
  const Batch& first = rig.engine.schedule(at(0));
  REQUIRE(first.admitted.size() == 3);
  CHECK(first.admitted[0].hit == 0);
  CHECK(first.admitted[1].hit == 4);
  CHECK(first.admitted[2].hit == 8);
  CHECK(first.chunks[2].tokens == 4);
  CHECK_FALSE(first.chunks[2].completes);
  CHECK(first.head == HeadBlock::budget);
  CHECK(first.sums.tokens == 16);
  CHECK(first.sums.sampled == 2);
  // Pairs: 8 x 9 / 2 = 36; 4 x 4 + 10 = 26; 4 x 8 + 10 = 42.
  CHECK(first.sums.prefill_pairs == 36 + 26 + 42);
  CHECK(rig.engine.load().free_blocks == 7);

  // r0 and r1 decode into a new block each; r2 takes its last 5 tokens, 2 blocks: 7 - 4 = 3 free, and r3 needs 4.
  CHECK(rig.engine.complete(at(10)).first_tokens.size() == 2);
  const Batch& second = rig.engine.schedule(at(10));
  CHECK(second.sums.decode_sequences == 2);
  CHECK(second.sums.decode_context == 9 + 9);
  CHECK(second.sums.prefill_tokens == 5);
  CHECK(second.head == HeadBlock::blocks);
  CHECK(rig.engine.load().free_blocks == 3);
  CHECK(rig.engine.blocked_hit() == 0);
}

TEST_CASE("a run of decodes is passed over up to the first last token") {
  // 5 tokens of prompt, 4 and 9 of output: both decode from schedule 2 on; the first has its last decode in schedule 4.
  VllmV1Params params = small();
  params.window = 7;
  Rig rig(params);
  rig.add({{1, 0, 5}}, 4);
  rig.add({{2, 0, 5}}, 9);
  rig.engine.schedule(at(0));
  CHECK(rig.engine.repeats(100) == 0);  // the running batch brings first tokens
  rig.engine.complete(at(10));
  rig.engine.schedule(at(10));
  CHECK(rig.engine.next_step().decode_context == 6 + 6);
  CHECK(rig.engine.repeats(100) == 1);  // with the next step both contexts fill the window of 7
  CHECK(rig.engine.windowed_growth() == 2);
  const std::vector<Time> one{at(20)};
  rig.engine.repeat(one);
  CHECK(rig.engine.next_step().decode_context == 7 + 7);
  CHECK(rig.engine.next_step().decode_windowed == 7 + 7);
  CHECK(rig.engine.repeats(100) == 0);  // the growth of the windowed sum has changed
  CHECK(rig.engine.complete(at(30)).finished.empty());
  rig.engine.schedule(at(30));
  CHECK(rig.engine.next_step().decode_context == 8 + 8);
  CHECK(rig.engine.next_step().decode_windowed == 7 + 7);
  CHECK(rig.engine.complete(at(40)).finished == std::vector<CallSlot>{CallSlot{0}});
  rig.engine.schedule(at(40));
  // The other computes tokens 9 to 13 of its 14: its last decode is four steps on.
  CHECK(rig.engine.repeats(100) == 4);
  CHECK(rig.engine.repeats(3) == 3);
  const std::vector<Time> four{at(50), at(60), at(70), at(80)};
  rig.engine.repeat(four);
  CHECK(rig.engine.next_step().decode_context == 13);
  CHECK(rig.engine.complete(at(90)).finished == std::vector<CallSlot>{CallSlot{1}});
  CHECK_FALSE(rig.engine.can_schedule());
}

TEST_CASE("two batches in flight: a finished call keeps its place for one more schedule, and one empty schedule follows") {
  VllmV1Params params = small();
  params.async = true;
  params.sequences = 1;
  Rig rig(params);
  rig.add({{1, 0, 5}}, 2);
  rig.add({{2, 0, 5}}, 1);
  rig.engine.schedule(at(0));                                    // s0: prefill of the first
  CHECK(rig.engine.schedule(at(0)).sums.decode_sequences == 1);  // s1: its only decode
  CHECK_FALSE(rig.engine.can_schedule());
  CHECK(rig.engine.complete(at(10)).first_tokens.size() == 1);  // s0
  const Batch& s2 = rig.engine.schedule(at(10));
  CHECK(s2.sums.tokens == 0);  // its last token is on its way, and it holds the only slot
  CHECK(s2.head == HeadBlock::slots);
  CHECK(rig.engine.complete(at(20)).finished.size() == 1);  // s1
  CHECK(rig.engine.schedule(at(20)).admitted.size() == 1);  // s3
  rig.engine.complete(at(20));                              // s2, which took no time
  rig.engine.schedule(at(20));                              // s4: nothing
  CHECK(rig.engine.complete(at(30)).finished.size() == 1);  // s3: first and last token of the second
  CHECK(rig.engine.can_schedule());                         // to flush the finished id
  CHECK(rig.engine.schedule(at(30)).sums.tokens == 0);
  rig.engine.complete(at(30));
  rig.engine.complete(at(30));
  CHECK_FALSE(rig.engine.can_schedule());
  CHECK(rig.engine.in_flight() == 0);
}

TEST_CASE("an abort frees the blocks at once and drops what is in flight") {
  VllmV1Params params = small();
  params.async = true;
  Rig rig(params);
  const CallSlot first = rig.add({{1, 0, 6}}, 5);
  const CallSlot second = rig.add({{2, 0, 6}}, 5);
  const CallSlot third = rig.add({{3, 0, 40}}, 5);  // can never be admitted to 11 blocks
  rig.engine.schedule(at(0));
  rig.engine.schedule(at(0));
  rig.engine.complete(at(10));
  CHECK(rig.engine.load().free_blocks == 11 - 4);
  rig.engine.abort(first, at(10));
  CHECK(rig.engine.load().free_blocks == 11 - 2);
  CHECK(rig.engine.load().running == 1);
  CHECK(rig.engine.schedule(at(10)).sums.decode_sequences == 1);
  rig.engine.abort(third, at(10));
  CHECK(rig.engine.load().waiting == 0);
  rig.engine.abort(second, at(10));
  while (rig.engine.in_flight() > 0) CHECK(rig.engine.complete(at(20)).finished.empty());
  CHECK(rig.engine.load().free_blocks == 11);
  CHECK(rig.engine.lookup(rig.contents[0], 6) == 4);  // its full block keeps its key
}

TEST_CASE("an arrival matters unless it stays behind a blocked head or a full batch") {
  VllmV1Params params = small();
  params.keyed_order = true;
  params.sequences = 2;
  Rig rig(params);
  CHECK(rig.engine.arrival_matters({5, 0, 0}));
  rig.add({{1, 0, 30}}, 8, {5, 0, 0});
  rig.add({{2, 0, 30}}, 8, {5, 1, 1});
  rig.engine.schedule(at(0));  // 16 of the first one's 30 tokens; the budget is gone
  rig.engine.complete(at(10));
  rig.engine.schedule(at(10));                         // the rest; the second needs 8 blocks and 3 are free
  CHECK_FALSE(rig.engine.arrival_matters({5, 2, 2}));  // behind the blocked head
  CHECK(rig.engine.arrival_matters({4, 2, 2}));        // would be the head
  const CallSlot urgent = rig.add({{3, 0, 4}}, 8, {4, 2, 2});
  CHECK(rig.engine.head() == urgent);
  rig.engine.complete(at(20));
  CHECK(rig.engine.schedule(at(20)).admitted.size() == 1);
  CHECK_FALSE(rig.engine.arrival_matters({1, 0, 3}));  // every slot is taken
}

TEST_CASE("a keyed queue gives its calls in order, whichever are taken out in between") {
  std::vector<Sequence> sequences(200);
  WaitingQueue queue(sequences, true);
  for (SequenceId id = 0; id < 200; ++id) {
    sequences[id].request.key = {static_cast<std::int64_t>(id * 7919 % 23), static_cast<std::int64_t>(id * 31 % 7), id};
    sequences[id].known = 1;
    queue.push(id);
  }
  for (SequenceId id = 0; id < 200; id += 3) queue.remove(id);
  SchedulingKey last{INT64_MIN, 0, 0};
  std::int64_t count = 0;
  while (!queue.empty()) {
    const SequenceId id = queue.head();
    CHECK(id % 3 != 0);
    const SchedulingKey& key = sequences[id].request.key;
    CHECK(std::tie(last.first, last.second, last.tie) < std::tie(key.first, key.second, key.tie));
    last = key;
    queue.remove(id);
    CHECK(queue.tokens() == 200 - 67 - ++count);
  }
}

TEST_CASE("each scheduler policy orders two calls by its own idea") {
  struct Known final : Future {
    std::int64_t output(CallSlot call) const override { return call.value == 0 ? 500 : 10; }
  } future;
  const CallView early{CallSlot{0}, 0, at(10), 1, 100, at(9), 1};
  const CallView late{CallSlot{1}, 1, at(20), 0, 200, at(5), 0};
  const auto first = [](const SchedulingKey& a, const SchedulingKey& b) {
    return std::tie(a.first, a.second, a.tie) < std::tie(b.first, b.second, b.tie);
  };
  const auto early_first = [&](const Scheduler& scheduler) { return first(scheduler.key(early), scheduler.key(late)); };
  CHECK(early_first(schedulers::Fcfs({}, future)));
  CHECK_FALSE(schedulers::Fcfs({}, future).keyed());
  CHECK_FALSE(early_first(schedulers::Priority({}, future)));             // 1 against 0
  CHECK_FALSE(early_first(schedulers::ShortestJob({}, future)));          // 600 against 210 tokens
  CHECK_FALSE(early_first(schedulers::SessionFirstArrival({}, future)));  // sessions of 9 against 5 ns
}

}  // namespace
}  // namespace marea::serving
