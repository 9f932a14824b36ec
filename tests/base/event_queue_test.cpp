// The order of events: against a stable sort, under random pushes and pops.
#include "sim/base/event_queue.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>
#include <vector>

using namespace marea;

TEST_CASE("events come out by time, then kind, then order of arrival") {
  EventQueue<> queue;
  const auto at = [](int t) { return kStart + Duration{t}; };
  queue.push(at(5), 1, {1, 0});
  queue.push(at(5), 0, {2, 0});
  queue.push(at(3), 9, {3, 0});
  queue.push(at(5), 1, {4, 0});
  queue.push(at(5), 0, {5, 0});
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop().payload.first);
  CHECK(order == std::vector<std::uint32_t>{3, 2, 5, 1, 4});
}

TEST_CASE("any mixture of pushes and pops agrees with a stable sort") {
  CHECK(rc::check("against std::stable_sort", [] {
    struct Waiting {
      std::int64_t time;
      int kind;
      std::uint32_t id;
    };
    EventQueue<> queue;
    std::vector<Waiting> waiting;
    std::uint32_t next = 0;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 3), rc::gen::inRange(0, 6), rc::gen::inRange(0, 256)));
    for (const auto& [action, time, kind] : steps) {
      if (action > 0) {
        queue.push(kStart + Duration{time}, static_cast<std::uint8_t>(kind), {next, next + 1});
        waiting.push_back({time, kind, next++});
      } else if (!waiting.empty()) {
        // `waiting` keeps the order of arrival, so a stable sort of it is the order wanted.
        std::stable_sort(waiting.begin(), waiting.end(),
                         [](const Waiting& a, const Waiting& b) { return std::tie(a.time, a.kind) < std::tie(b.time, b.kind); });
        RC_ASSERT(queue.top().payload.first == waiting.front().id);
        RC_ASSERT(queue.next_time() == kStart + Duration{waiting.front().time});
        const auto event = queue.pop();
        RC_ASSERT(event.payload.first == waiting.front().id);
        RC_ASSERT(event.payload.second == waiting.front().id + 1);
        RC_ASSERT(event.kind == waiting.front().kind);
        RC_ASSERT(event.time == kStart + Duration{waiting.front().time});
        waiting.erase(waiting.begin());
      }
      RC_ASSERT(queue.size() == waiting.size());
    }
  }));
}

TEST_CASE("an order of the caller's own decides ties whenever it was pushed") {
  EventQueue<> queue;
  for (std::uint32_t order : {3u, 1u, 2u, 0u}) queue.push(kStart + Duration{7}, 4, order, {order, 0});
  for (std::uint32_t order = 0; order < 4; ++order) CHECK(queue.pop().payload.first == order);
}

TEST_CASE("a queue refuses what it cannot order") {
  EventQueue<> queue;
  CHECK_THROWS_AS(queue.push(kStart - Duration{1}, 0, {}), InternalError);
  CHECK_THROWS_AS(queue.push(kStart, 0, std::uint64_t{1} << 56, {}), InternalError);
  CHECK_THROWS_AS(queue.pop(), InternalError);
}

TEST_CASE("thousands of events come out in order") {
  EventQueue<> queue;
  std::uint64_t state = 1;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    queue.push(kStart + Duration{static_cast<std::int64_t>(state >> 54)}, static_cast<std::uint8_t>((state >> 50) & 3), {i, 0});
  }
  auto before = queue.pop();
  while (!queue.empty()) {
    const auto event = queue.pop();
    const auto key = [](const auto& e) { return std::make_tuple(e.time, e.kind, e.payload.first); };
    REQUIRE(key(before) < key(event));
    before = event;
  }
}
