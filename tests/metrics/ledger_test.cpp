// Ledgers: every part where it belongs, and parts that sum to the total to the last unit.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::metrics;
using namespace marea::test;
using cluster::Cause;
using doctest::Approx;

namespace {

const Ledger& ledger(const Results& results, std::string_view name) {
  for (const Ledger& found : results.ledgers)
    if (found.name == name) return found;
  throw InternalError("no such ledger");
}

}  // namespace

TEST_CASE("the time ledger holds every nanosecond of a session under its cause") {
  const Results results = results_of(two_calls());
  const Ledger& time = ledger(results, "time");
  CHECK(time.unit == "ns");
  CHECK(time.total == 140);
  CHECK(row_of(time, "class=coders", "front_end") == 20);
  CHECK(row_of(time, "class=coders", "queue_boundary") == 10);
  CHECK(row_of(time, "class=coders", "prefill_new") == 35);
  CHECK(row_of(time, "class=coders", "prefill_lost") == 5);
  CHECK(row_of(time, "class=coders", "decode") == 20);
  CHECK(row_of(time, "class=coders", "tool") == 50);
  CHECK(results.ledgers.size() == 2);  // no sub-agents: no ledgers of them
}

TEST_CASE("sub-agents have rows of their own, and their parent's wait is that of the child that ended last") {
  // Main thread: agents 0 - 100. Child 1 ends at 60, child 2 at 100 after 30 of decode, 20 of tool and 50 of waiting for child 3, which
  // decoded for 50.
  TimeLedger ledgers(1);
  const SessionSlot session{4};
  const auto book = [&](std::uint32_t thread, Cause cause, std::int64_t duration, std::int64_t until) {
    ledgers.on(cluster::TimeBooked{session, ClassId{0}, thread, cause, Duration{duration}, at(until), true});
  };
  book(1, Cause::decode, 60, 60);
  ledgers.on(cluster::ThreadEnded{session, ClassId{0}, 1, 0, at(0), at(60), false, {}});
  book(2, Cause::decode, 30, 30);
  book(3, Cause::decode, 50, 80);
  ledgers.on(cluster::ThreadEnded{session, ClassId{0}, 3, 2, at(30), at(80), true, {}});
  book(2, Cause::agents, 50, 80);
  book(2, Cause::tool, 20, 100);
  ledgers.on(cluster::ThreadEnded{session, ClassId{0}, 2, 0, at(0), at(100), true, {}});
  book(0, Cause::agents, 100, 100);
  Report report;
  ledgers.report(report, {"coders"});
  const Results results = report.take();
  CHECK(ledger(results, "time").total == 100);
  CHECK(row_of(ledger(results, "time"), "class=coders", "agents") == 100);
  const Ledger& agents = ledger(results, "agent time");
  CHECK(agents.total == 60 + 100 + 50);
  CHECK(row_of(agents, "class=coders/agents", "decode") == 60 + 30 + 50);
  CHECK(row_of(agents, "class=coders/agents", "agents") == 50);
  const Ledger& wait = ledger(results, "agents wait");
  CHECK(wait.total == 100);  // what the main thread waited
  CHECK(row_of(wait, "class=coders", "decode") == 30 + 50);
  CHECK(row_of(wait, "class=coders", "tool") == 20);
  CHECK(row_of(wait, "class=coders", "agents") == 0);  // replaced by what child 3 did
}

TEST_CASE("sub-agents of a slot's earlier session leave nothing behind") {
  TimeLedger ledgers(1);
  const SessionSlot session{0};
  ledgers.on(cluster::TimeBooked{session, ClassId{0}, 1, Cause::decode, Duration{60}, at(60), true});
  ledgers.on(cluster::SessionEnded{.session = session, .traffic = ClassId{0}});
  ledgers.on(cluster::TimeBooked{session, ClassId{0}, 1, Cause::tool, Duration{5}, at(70), true});
  ledgers.on(cluster::ThreadEnded{session, ClassId{0}, 1, 0, at(65), at(70), true, {}});
  Report report;
  ledgers.report(report, {"coders"});
  const Results results = report.take();
  CHECK(ledger(results, "agents wait").total == 5);
}

TEST_CASE("rounding by largest remainder: 1.5 + 1.4 + 0.1 of a unit are 3 units: 2, 1 and 0") {
  // Sum 3.0; the floors 1 + 1 + 0 leave one, which goes to .5.
  CHECK(round_to_sum({150, 140, 10}, 100) == std::vector<std::int64_t>{2, 1, 0});
  CHECK(round_to_sum({50, 50}, 100) == std::vector<std::int64_t>{1, 0});  // equal remainders: the first
  CHECK(round_to_sum({}, 100).empty());
}

TEST_CASE("rounded parts sum to the rounded sum and each is within one unit of its part") {
  const bool holds = rc::check([](const std::vector<std::uint64_t>& drawn) {
    const std::uint64_t unit = *rc::gen::inRange<std::uint64_t>(1, 1'000'000'000'000);
    std::vector<Uint128> parts(drawn.begin(), drawn.end());
    const std::vector<std::int64_t> rounded = round_to_sum(parts, unit);
    const Uint128 sum = std::accumulate(parts.begin(), parts.end(), Uint128{0});
    Uint128 total = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      total += static_cast<std::uint64_t>(rounded[i]);
      const Uint128 floor = parts[i] / unit;
      RC_ASSERT(static_cast<std::uint64_t>(rounded[i]) == floor || static_cast<std::uint64_t>(rounded[i]) == floor + 1);
    }
    RC_ASSERT(total == (sum + unit / 2) / unit);
  });
  CHECK(holds);
}

TEST_CASE("the memory ledger is capacity x window, static parts included, in MiB seconds") {
  // Two replicas of 1 MiB a token and 10 tokens, over 4 s: 80 MiB s of pool, and 3 MiB x 2 x 4 s = 24 MiB s of weights.
  MemoryLedger memory({"main"}, {{0, 10, 1 << 20}, {0, 10, 1 << 20}}, {{0, "weights", Bytes{3 << 20}}});
  const auto second = static_cast<std::uint64_t>(1'000'000'000);
  const auto book = [&](std::uint32_t replica, cluster::KvState state, cluster::KvOwner owner, std::uint64_t token_seconds) {
    memory.on(cluster::MemoryBooked{ReplicaId{replica}, state, owner, Uint128{token_seconds} * second});
  };
  book(0, cluster::KvState::referenced, cluster::KvOwner::decode, 15);
  book(0, cluster::KvState::cached_never, cluster::KvOwner::tool, 25);
  book(1, cluster::KvState::referenced, cluster::KvOwner::decode, 5);
  book(1, cluster::KvState::partial, cluster::KvOwner::prefill, 1);
  book(1, cluster::KvState::free, cluster::KvOwner::nobody, 34);
  Report report;
  memory.report(report, std::chrono::seconds{4});
  const Results results = report.take();
  const Ledger& rows = ledger(results, "memory");
  CHECK(rows.unit == "MiB s");
  CHECK(rows.total == 80 + 24);
  CHECK(row_of(rows, "pool=main", "weights") == 24);
  CHECK(row_of(rows, "pool=main", "referenced/decode") == 20);
  CHECK(row_of(rows, "pool=main", "cached_never/tool") == 25);
  CHECK(row_of(rows, "pool=main", "partial/prefill") == 1);
  CHECK(row_of(rows, "pool=main", "free/nobody") == 34);
  CHECK(value_of(results, "kv_usage") == Approx(21.0 / 80));
  CHECK(value_of(results, "kv_wasted_share") == Approx(25.0 / 80));
  CHECK(value_of(results, "idle_kv_share") == Approx(25.0 / 46));
}

TEST_CASE("byte-time beyond 64 bits is held") {
  // 2^50 token-ns x 2^20 bytes = 2^70 byte-ns = 2^50 MiB ns = 2^50 / 1e9 MiB s = 1125899.9 MiB s.
  MemoryLedger memory({"main"}, {{0, 1, 1 << 20}}, {});
  memory.on(cluster::MemoryBooked{ReplicaId{0}, cluster::KvState::free, cluster::KvOwner::nobody, Uint128{1} << 50});
  Report report;
  memory.report(report, Duration{std::int64_t{1} << 50});
  CHECK(ledger(report.take(), "memory").total == 1125900);
}

TEST_CASE("a ledger whose parts do not sum to its total cannot be reported") {
  Report report;
  CHECK_THROWS_AS(report.ledger({"time", "ns", 3, {{"class=a", "decode", 1}, {"class=a", "tool", 1}}}), InternalError);
}
