// Random workloads with every switch, shared and duplicated content, tiny pools, preemption and aborts: the engine decides, prices and
// books exactly as the block-by-block reference does, stepping and skipping, synchronous and asynchronous.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "sim/base/random.h"
#include "sim/kv/pool.h"
#include "tests/serving/compare.h"
#include "tests/serving/reference_engine.h"
#include "tests/serving/segment_subject.h"

namespace marea::test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(1, "engine test", seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(stream_.bits() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  RandomStream stream_;
};

// Prompts are drawn so that prefixes, whole prompts and even the outputs of others come up again.
kv::Content random_prompt(Dice& dice, const Workload& workload, std::int64_t longest, std::uint64_t& span) {
  kv::Content prompt;
  std::int64_t room = dice.between(1, longest);
  if (!workload.requests.empty() && dice.chance(60)) {
    const WorkloadRequest& other =
        workload.requests[static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(workload.requests.size()) - 1))];
    std::int64_t part = std::min(room, dice.between(1, kv::length(other.content)));
    if (dice.chance(30)) part = std::min(room, kv::length(other.content));
    for (const kv::Piece& piece : other.content) {
      const std::int64_t step = std::min(part, piece.length);
      kv::append(prompt, {piece.span, piece.first, step});
      part -= step;
      room -= step;
    }
  }
  while (room > 0 && (prompt.empty() || dice.chance(60))) {
    const std::int64_t step = std::min(room, dice.between(1, longest));
    // Few shared spans, so that equal content also arises from different pieces.
    const bool shared = dice.chance(40);
    kv::append(prompt, {shared ? static_cast<std::uint64_t>(dice.between(1, 3)) : ++span, shared ? 0 : dice.between(0, 5), step});
    room -= step;
  }
  return prompt;
}

Workload random_workload(std::uint64_t seed) {
  Dice dice(seed);
  Workload workload;
  serving::VllmV1Params& params = workload.params;
  params.block = dice.chance(20) ? 1 : dice.between(2, 8);
  params.max_length = dice.between(12, 160);
  const std::int64_t longest = std::max<std::int64_t>(1, params.max_length - 1 - dice.between(0, params.max_length / 2));
  const std::int64_t whole = (params.max_length + params.block - 1) / params.block;
  params.blocks = 1 + whole + dice.between(0, dice.chance(50) ? whole : 6 * whole);
  params.batch_tokens = dice.chance(30) ? dice.between(4, 16) : dice.between(16, 128);
  params.sequences = dice.between(1, std::min<std::int64_t>(12, params.batch_tokens));
  params.long_prefill_threshold = dice.chance(30) ? dice.between(1, 20) : 0;
  params.chunked_prefill = !dice.chance(15);
  if (!params.chunked_prefill) params.batch_tokens = std::max(params.batch_tokens, params.max_length);
  params.prefix_caching = !dice.chance(10);
  params.reserve_full_prompt = dice.chance(60);
  params.watermark = dice.chance(25) ? static_cast<double>(dice.between(1, 15)) / 100 : 0;
  params.free_order = dice.chance(70) ? serving::FreeOrder::unhashed_first : serving::FreeOrder::append;
  params.async = dice.chance(50);
  params.keyed_order = dice.chance(40);
  params.window = dice.chance(40) ? dice.between(1, 40) : 0;
  std::uint64_t span = 100;
  const std::int64_t count = dice.between(2, 24);
  const std::int64_t spread = dice.between(0, 60);
  for (std::int64_t i = 0; i < count; ++i) {
    WorkloadRequest request;
    request.id = "r" + std::to_string(dice.between(1000, 9999)) + std::to_string(i);
    if (i > 0 && dice.chance(40)) {
      request.after = dice.between(0, i - 1);
      request.delay = dice.between(1, 10);
    } else {
      request.arrive = dice.between(0, spread);
    }
    request.fraction = static_cast<double>(dice.between(0, 3)) / 4;
    request.content = random_prompt(dice, workload, longest, span);
    request.prompt = kv::length(request.content);
    request.output = dice.chance(15) ? dice.between(1, 3) : dice.between(1, 60);
    // Now and then an output that others generate as well, or that continues what stands in other prompts.
    const int kind = static_cast<int>(dice.between(1, 10));
    const std::uint64_t output = kind == 1 ? 50 : kind == 2 ? static_cast<std::uint64_t>(dice.between(1, 3)) : ++span;
    kv::append(request.content, {output, kind <= 2 && dice.chance(50) ? dice.between(0, 20) : 0, request.output});
    request.priority = dice.between(0, 2);
    if (dice.chance(10)) request.abort_at = dice.between(0, 120);
    request.session = static_cast<std::uint32_t>(dice.between(0, std::min<std::int64_t>(i, 5)));
    workload.requests.push_back(std::move(request));
  }
  return workload;
}

// Sessions whose states change now and then; the engines look back at those changes.
struct Sessions {
  explicit Sessions(std::uint64_t seed, Time until) {
    Dice dice(seed ^ 0x5e55);
    for (int i = 0; i < 6; ++i) {
      owner_of.push_back(owners.open(kStart));
      Time at = kStart;
      for (std::size_t k = 0; k + 2 < kv::Owners::kRemembered; ++k) {
        at += Duration{dice.between(1, 2 * (until - kStart).count() / 30)};
        owners.set_state(owner_of.back(), static_cast<kv::OwnerState>(dice.between(0, 4)), at);
      }
    }
  }
  kv::Owners owners;
  std::vector<OwnerId> owner_of;
};

// The sums of one schedule, one sequence after another.
cost::StepSums sums_of(const Line& line, const Workload& workload) {
  cost::StepSums sums;
  const std::int64_t window = workload.params.window > 0 ? workload.params.window : INT64_MAX;
  for (const ScheduledLine& entry : line.scheduled) {
    sums.tokens += entry.tokens;
    sums.admissions += entry.kind != 'C';
    sums.sampled += entry.yields;
    if (entry.decode) {
      ++sums.decode_sequences;
      sums.decode_context += entry.computed + 1;
      sums.decode_windowed += std::min(entry.computed + 1, window);
      continue;
    }
    ++sums.prefill_sequences;
    sums.prefill_tokens += entry.tokens;
    sums.longest_prefill = std::max(sums.longest_prefill, entry.computed + entry.tokens);
    for (std::int64_t i = 1; i <= entry.tokens; ++i) {
      sums.prefill_pairs += static_cast<double>(entry.computed + i);
      sums.prefill_windowed_pairs += static_cast<double>(std::min(entry.computed + i, window));
    }
  }
  return sums;
}

std::string sums_difference(const std::vector<Line>& lines, const std::vector<cost::StepSums>& sums, const Workload& workload) {
  std::size_t k = 0;
  for (const Line& line : lines) {
    if (!line.schedules) continue;
    const cost::StepSums expected = sums_of(line, workload);
    if (k >= sums.size() || !(expected == sums[k])) return "sums differ in schedule " + std::to_string(k);
    ++k;
  }
  return {};
}

struct Totals {
  std::int64_t lines = 0, preempted = 0, evicted = 0, hits = 0, skipped = 0;
};

std::string check_workload(std::uint64_t seed, Totals& totals) {
  const Workload workload = random_workload(seed);
  Dice dice(seed ^ 0xb0);
  std::vector<Time> boundaries;
  Time at = kStart;
  for (int i = 0; i < 2000; ++i) {
    boundaries.push_back(at);
    at += Duration{dice.chance(5) ? 0 : dice.between(1, 5'000'000)};
  }
  const std::int64_t most = 700;
  Sessions watched(seed, boundaries[400]);
  ReferenceEngine reference(workload, &watched.owners, watched.owner_of);
  const Run expected = play(workload, reference, most, boundaries);
  reference.flush(expected.at);
  for (const Line& line : expected.lines) {
    totals.preempted += static_cast<std::int64_t>(line.preempted.size());
    totals.evicted += static_cast<std::int64_t>(line.evicted.size());
    for (const ScheduledLine& entry : line.scheduled) totals.hits += entry.hit > 0;
  }
  totals.lines += static_cast<std::int64_t>(expected.lines.size());
  for (const bool skipping : {false, true}) {
    Sessions sessions(seed, boundaries[400]);
    SegmentSubject engine(workload, sessions.owners, sessions.owner_of, skipping);
    const Run run = play(workload, engine, most, boundaries);
    totals.skipped += run.skipped;
    const std::string how = skipping ? "skipping: " : "stepping: ";
    std::string found = first_difference(expected.lines, run.lines, false);
    if (found.empty()) found = first_difference(expected.end, run.end, false);
    if (found.empty()) found = sums_difference(expected.lines, engine.sums(), workload);
    if (!found.empty()) return how + found;
    kv::Pool& pool = engine.engine().pool();
    pool.flush(run.at);
    const auto whole = static_cast<kv::TokenTime>((workload.params.blocks - 1) * workload.params.block) *
                       static_cast<kv::TokenTime>(since_start(run.at).count());
    if (pool.account().total() != whole) return how + "the memory account does not sum";
    for (int state = 0; state < kv::kKvStates; ++state)
      for (int owner = 0; owner < kv::kKvOwners; ++owner)
        if (pool.account().total(static_cast<kv::KvState>(state), static_cast<kv::KvOwner>(owner)) !=
            reference.account()[static_cast<std::size_t>(state)][static_cast<std::size_t>(owner)])
          return how + "memory of state " + std::to_string(state) + " owner " + std::to_string(owner);
  }
  return {};
}

}  // namespace

TEST_CASE("on random workloads the engine equals the block-by-block reference in decisions, sums and memory") {
#ifdef __SANITIZE_ADDRESS__
  const std::uint64_t count = 400;
#else
  const std::uint64_t count = 3000;
#endif
  const char* only = std::getenv("MAREA_ENGINE_SEED");
  Totals totals;
  for (std::uint64_t seed = only ? std::strtoull(only, nullptr, 10) : 1; seed <= (only ? std::strtoull(only, nullptr, 10) : count);
       ++seed) {
    const std::string found = check_workload(seed, totals);
    CHECK_MESSAGE(found.empty(), "seed ", seed, ": ", found);
  }
  CHECK(totals.preempted > 0);
  CHECK(totals.skipped > 0);
  std::printf("random workloads: %llu, %lld lines, %lld preemptions, %lld evicted blocks, %lld admissions with a hit, %lld lines skipped\n",
              static_cast<unsigned long long>(count), static_cast<long long>(totals.lines), static_cast<long long>(totals.preempted),
              static_cast<long long>(totals.evicted), static_cast<long long>(totals.hits), static_cast<long long>(totals.skipped));
}

}  // namespace marea::test
