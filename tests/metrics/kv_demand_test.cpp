// KV demand: unique tokens of all live contexts, checked against counting them one by one.
#include "sim/metrics/kv_demand.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::metrics;
using namespace marea::test;

namespace {

constexpr Window kAlways{kStart, at(1'000'000)};

// Every token of a context as the whole prefix that ends with it: two contexts share exactly the prefixes they have in common.
using Prefix = std::vector<std::pair<std::uint64_t, std::int64_t>>;

std::size_t count_unique(const std::vector<kv::Content>& contexts) {
  std::set<Prefix> unique;
  for (const kv::Content& content : contexts) {
    Prefix prefix;
    for (const kv::Piece& piece : content)
      for (std::int64_t i = 0; i < piece.length; ++i) {
        prefix.emplace_back(piece.span, piece.first + i);
        unique.insert(prefix);
      }
  }
  return unique.size();
}

// Contexts over few spans and short pieces, so that they often share and often part inside a piece.
kv::Content drawn_content() {
  kv::Content content;
  const int pieces = *rc::gen::inRange(1, 5);
  for (int i = 0; i < pieces; ++i)
    kv::append(content,
               {*rc::gen::inRange<std::uint64_t>(0, 3), *rc::gen::inRange<std::int64_t>(0, 2), *rc::gen::inRange<std::int64_t>(1, 5)});
  return content;
}

}  // namespace

TEST_CASE("the trend is the demand of the last fifth of a planned window over that of its middle fifth") {
  // Window [100, 1100): middle fifth [500, 700), last [900, 1100). Session 0 holds 10 tokens from 0 on, session 1 holds 30 from 1000 on:
  // 10 x 200 in the middle, 10 x 200 + 30 x 100 = 5000 in the last.
  const Window window{at(100), at(1100)};
  const kv::Content small{{1, 0, 10}}, large{{2, 0, 30}};
  const auto demand_of = [&](const Window& planned) {
    KvDemand demand(64, planned);
    demand.on(cluster::ContextGrew{SessionSlot{0}, ClassId{0}, 0, small, 0, at(0)}, window);
    demand.on(cluster::ContextGrew{SessionSlot{1}, ClassId{0}, 0, large, 0, at(1000)}, window);
    Report report;
    demand.report(report, window);
    return report.take();
  };
  CHECK(value_of(demand_of(window), "kv_demand_trend") == doctest::Approx(2.5));
  CHECK(value_of(demand_of(window), "kv_demand_peak") == doctest::Approx(40.0 / 64));
  CHECK(metric(demand_of({at(100), kNever}), "kv_demand_trend") == nullptr);
  CHECK(metric(demand_of({at(100), at(2000)}), "kv_demand_trend") == nullptr);  // it was cut short
}

TEST_CASE("a tree of contexts counts the tokens of their union, whatever is held and released") {
  const bool holds = rc::check([] {
    ContextTree tree;
    std::vector<std::pair<ContextTree::Handle, kv::Content>> held;
    const int moves = *rc::gen::inRange(1, 40);
    for (int move = 0; move < moves; ++move) {
      if (!held.empty() && *rc::gen::inRange(0, 3) == 0) {
        const auto which = *rc::gen::inRange<std::size_t>(0, held.size());
        tree.release(held[which].first);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        kv::Content content = drawn_content();
        const std::int64_t tokens = *rc::gen::inRange<std::int64_t>(0, kv::length(content) + 1);
        const ContextTree::Handle handle = tree.hold(content, tokens);
        kv::Content prefix;
        std::int64_t left = tokens;
        for (kv::Piece piece : content) {
          piece.length = std::min(piece.length, left);
          left -= piece.length;
          kv::append(prefix, piece);
        }
        held.emplace_back(handle, prefix);
      }
      std::vector<kv::Content> contexts;
      for (const auto& [handle, content] : held) contexts.push_back(content);
      RC_ASSERT(tree.unique_tokens() == static_cast<std::int64_t>(count_unique(contexts)));
    }
    for (const auto& [handle, content] : held) tree.release(handle);
    RC_ASSERT(tree.unique_tokens() == 0);
  });
  CHECK(holds);
}

TEST_CASE("a shared prefix counts once, what is private counts for each session") {
  KvDemand demand(100);
  const kv::Content a = {{1, 0, 10}, {2, 0, 5}}, b = {{1, 0, 10}, {3, 0, 7}};
  demand.on(cluster::ContextGrew{SessionSlot{0}, ClassId{0}, 0, a, 10, at(1)}, kAlways);
  CHECK(demand.unique_tokens() == 15);
  demand.on(cluster::ContextGrew{SessionSlot{1}, ClassId{0}, 0, b, 10, at(2)}, kAlways);
  CHECK(demand.unique_tokens() == 22);
  CHECK(demand.now() == doctest::Approx(0.22));
  demand.on(cluster::SessionEnded{.session = SessionSlot{0}, .at = at(3)}, kAlways);
  CHECK(demand.unique_tokens() == 17);
  demand.on(cluster::SessionEnded{.session = SessionSlot{1}, .at = at(4)}, kAlways);
  CHECK(demand.unique_tokens() == 0);
}

TEST_CASE("a context that grows replaces the one before it, and a compacted one frees what it dropped") {
  KvDemand demand(100);
  const kv::Content first = {{1, 0, 10}, {2, 0, 5}}, grown = {{1, 0, 10}, {2, 0, 9}, {3, 0, 6}}, compacted = {{1, 0, 10}, {4, 0, 2}};
  for (const auto& [content, tokens] : {std::pair{&first, 15}, std::pair{&grown, 25}, std::pair{&compacted, 12}}) {
    demand.on(cluster::ContextGrew{SessionSlot{0}, ClassId{0}, 0, *content, 10, at(1)}, kAlways);
    CHECK(demand.unique_tokens() == tokens);
  }
}

TEST_CASE("where everything may be shared, equal contexts of two sessions count once") {
  KvDemand demand(100);
  const kv::Content a = {{1, 0, 10}, {2, 0, 5}}, b = {{1, 0, 10}, {2, 0, 3}, {9, 0, 1}};
  demand.on(cluster::ContextGrew{SessionSlot{0}, ClassId{0}, 0, a, INT64_MAX, at(1)}, kAlways);
  demand.on(cluster::ContextGrew{SessionSlot{1}, ClassId{0}, 0, b, INT64_MAX, at(1)}, kAlways);
  CHECK(demand.unique_tokens() == 16);
}

TEST_CASE("a forked sub-agent shares its parent's context, one of its own does not, and both are gone when they end") {
  KvDemand demand(100);
  const kv::Content main = {{1, 0, 4}, {2, 0, 10}}, forked = {{1, 0, 4}, {2, 0, 10}, {3, 0, 5}}, fresh = {{1, 0, 4}, {5, 0, 7}};
  const auto grow = [&](std::uint32_t thread, const kv::Content& content) {
    demand.on(cluster::ContextGrew{SessionSlot{0}, ClassId{0}, thread, content, 4, at(1)}, kAlways);
  };
  grow(0, main);
  grow(1, forked);
  CHECK(demand.unique_tokens() == 14 + 5);
  grow(2, fresh);
  CHECK(demand.unique_tokens() == 14 + 5 + 7);
  const kv::Content longer = {{1, 0, 4}, {2, 0, 10}, {3, 0, 8}};
  grow(1, longer);
  CHECK(demand.unique_tokens() == 14 + 8 + 7);
  demand.on(cluster::ThreadEnded{.session = SessionSlot{0}, .thread = 1, .at = at(2)}, kAlways);
  CHECK(demand.unique_tokens() == 14 + 7);
  demand.on(cluster::SessionEnded{.session = SessionSlot{0}, .at = at(3)}, kAlways);
  CHECK(demand.unique_tokens() == 0);
}

TEST_CASE("the mean is over the time of the window and the peak inside it") {
  // 50 tokens from 0 to 200, none after; window 100 to 300: mean 25 of 100.
  KvDemand demand(100);
  const Window window{at(100), at(300)};
  const kv::Content content = {{1, 0, 50}}, huge = {{2, 0, 99}};
  demand.on(cluster::ContextGrew{SessionSlot{1}, ClassId{0}, 0, huge, 0, at(0)}, window);
  demand.on(cluster::SessionEnded{.session = SessionSlot{1}, .at = at(90)}, window);  // before the window
  demand.on(cluster::ContextGrew{SessionSlot{0}, ClassId{0}, 0, content, 0, at(90)}, window);
  demand.on(cluster::SessionEnded{.session = SessionSlot{0}, .at = at(200)}, window);
  Report report;
  demand.report(report, window);
  const Results results = report.take();
  CHECK(value_of(results, "kv_demand") == doctest::Approx(0.25));
  CHECK(value_of(results, "kv_demand_peak") == doctest::Approx(0.5));
}
