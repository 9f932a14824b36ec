// The fingerprint changes with what happened and with nothing else.
#include "sim/metrics/fingerprint.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <functional>
#include <set>

#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::test;
using metrics::Fingerprint;

namespace {

std::string of(const Story& story) { return results_of(story).fingerprint; }

std::string of_runs(const std::vector<Time>& ends, const std::set<std::size_t>& cuts) {
  Fingerprint fingerprint(1);
  std::size_t from = 0;
  for (std::size_t i = 0; i <= ends.size(); ++i) {
    if (i < ends.size() && !cuts.contains(i)) continue;
    const Time start = from == 0 ? kStart : ends[from - 1];
    fingerprint.on(cluster::StepsRun{ReplicaId{0}, start, std::span(ends).subspan(from, i - from), {}, {}});
    from = i;
  }
  return fingerprint.digits();
}

}  // namespace

TEST_CASE("the fingerprint is 32 hexadecimal digits and the same for the same run") {
  const std::string digits = of(two_calls());
  CHECK(digits.size() == 32);
  CHECK(digits.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(of(two_calls()) == digits);
}

TEST_CASE("how runs of steps are cut does not change the fingerprint") {
  const bool holds = rc::check([](const std::set<std::size_t>& cuts, const std::vector<std::uint16_t>& gaps) {
    std::vector<Time> ends;
    Time end = kStart;
    for (const std::uint16_t gap : gaps) ends.push_back(end += Duration{1 + gap});
    RC_ASSERT(of_runs(ends, cuts) == of_runs(ends, {}));
    if (ends.empty()) return;
    ends[ends.size() / 2] += Duration{1};
    RC_ASSERT(of_runs(ends, cuts) != of_runs({ends.begin(), ends.end() - 1}, {}));
  });
  CHECK(holds);
  CHECK(of_runs({at(1), at(2)}, {}) != of_runs({at(1), at(3)}, {}));
  CHECK(of_runs({at(1), at(2)}, {}) != of_runs({at(2), at(1)}, {}));
}

TEST_CASE("how the run was computed does not change the fingerprint") {
  Story story = two_calls();
  nth<cluster::RunEnded>(story).events += 100;
  nth<cluster::RunEnded>(story).changed_steps += 1;
  CHECK(of(story) == of(two_calls()));
}

TEST_CASE("every field of what happened changes the fingerprint") {
  using namespace cluster;
  const std::vector<std::function<void(Story&)>> changes = {
      [](Story& s) {
        nth<CallEnded>(s, 1).lost = {0, 1, 0};
      },
      [](Story& s) {
        nth<CallEnded>(s, 1).lost = {0, 0, 1};
      },
      [](Story& s) { nth<CallEnded>(s, 1).hit = 11; },
      [](Story& s) { nth<CallEnded>(s, 1).known = 14; },
      [](Story& s) { nth<CallEnded>(s, 1).compaction = true; },
      [](Story& s) { nth<CallEnded>(s, 1).after = After::person; },
      [](Story& s) { nth<CallEnded>(s, 1).replica = ReplicaId{1}; },
      [](Story& s) { nth<CallEnded>(s).queued = at(111); },
      [](Story& s) { nth<CallEnded>(s).scheduled = at(121); },
      [](Story& s) { nth<CallEnded>(s).first_token = at(141); },
      [](Story& s) { nth<CallEnded>(s).prompt = 11; },
      [](Story& s) { nth<ToolEnded>(s).failed = true; },
      [](Story& s) { nth<ToolEnded>(s).ran += Duration{1}; },
      [](Story& s) { nth<ToolEnded>(s).queued += Duration{1}; },
      [](Story& s) { nth<SessionEnded>(s).critical_path += Duration{1}; },
      [](Story& s) {
        nth<MemoryBooked>(s, 0).token_nanoseconds += 1;
        nth<MemoryBooked>(s, 1).token_nanoseconds -= 1;
      },
      [](Story& s) { nth<MemoryBooked>(s, 0).owner = KvOwner::prefill; },
      [](Story& s) { nth<MemoryBooked>(s, 1).state = KvState::cached_never; },
      [](Story& s) { nth<RunEnded>(s).steps += 1; },
      [](Story& s) { nth<RunEnded>(s).evicted_blocks += 1; },
      [](Story& s) { nth<RunEnded>(s).preemptions += 1; },
  };
  std::set<std::string> seen = {of(two_calls())};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    Story story = two_calls();
    changes[i](story);
    CHECK(seen.insert(of(story)).second);
  }
}
