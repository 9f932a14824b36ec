// The auditor lets a lawful run pass and finds every law that is broken in it.
#include "sim/metrics/audit.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "tests/metrics/story.h"

using namespace marea;
using namespace marea::test;
using cluster::Cause;

namespace {

// What the auditor says about a story; empty when it has nothing to say.
std::string verdict(const Story& story) {
  metrics::Observers observers(plain_setup());
  try {
    tell(story, observers);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

struct Violation {
  const char* law;
  std::function<void(Story&)> plant;
};

Duration& part(std::array<Duration, cluster::kCauses>& booked, Cause cause) { return booked[static_cast<std::size_t>(cause)]; }

template <class Kind>
void erase_nth(Story& story, std::size_t n) {
  const Kind* wanted = &nth<Kind>(story, n);
  std::erase_if(story, [&](const Fact& fact) { return std::get_if<Kind>(&fact) == wanted; });
}

const std::vector<Violation>& violations() {
  using namespace cluster;
  static const std::vector<Time> disordered = {at(150), at(150)};
  static const std::vector<std::int64_t> two = {2};
  static const std::vector<Violation> table = {
      {"the clock went back", [](Story& s) { nth<SessionStarted>(s).at = at(101); }},
      {"the clock went back", [](Story& s) { nth<RunEnded>(s).at = at(1099); }},
      {"the run has other traffic classes than its observers", [](Story& s) { nth<RunStarted>(s).classes = 2; }},
      {"the run has other replicas than its observers", [](Story& s) { nth<RunStarted>(s).replicas = 2; }},
      {"a session started in the slot of a live one", [](Story& s) { s.insert(s.begin() + 2, nth<SessionStarted>(s)); }},
      {"a fact names a session that is not alive", [](Story& s) { erase_nth<SessionStarted>(s, 0); }},
      {"a session ended as another one", [](Story& s) { nth<SessionEnded>(s).index = 8; }},
      {"the bookings of a session are not those that its end states", [](Story& s) { nth<TimeBooked>(s, 3).cause = Cause::preempted; }},
      {"the bookings of a session do not sum to its life",
       [](Story& s) {
         nth<TimeBooked>(s, 4).duration += Duration{1};
         part(nth<SessionEnded>(s).booked, Cause::tool) += Duration{1};
       }},
      {"a negative duration was booked", [](Story& s) { nth<TimeBooked>(s, 0).duration = Duration{-1}; }},
      {"the bookings of sub-agents do not sum to their lives",
       [](Story& s) {
         TimeBooked extra = nth<TimeBooked>(s, 0);
         extra.thread = 1;
         s.insert(s.begin() + 4, extra);
       }},
      {"the bookings of a sub-agent do not sum to its life",
       [](Story& s) {
         s.insert(s.begin() + 4, ThreadEnded{SessionSlot{0}, ClassId{0}, 1, 0, at(100), at(110), true, booked({{Cause::decode, 9}})});
       }},
      {"a session ended before one of its calls", [](Story& s) { erase_nth<CallEnded>(s, 1); }},
      {"a session completed without all its calls", [](Story& s) { nth<SessionEnded>(s).calls_planned = 3; }},
      {"a call ended that was not issued", [](Story& s) { erase_nth<ContextGrew>(s, 1); }},
      {"the bookings of a call do not sum to its life", [](Story& s) { part(nth<CallEnded>(s).booked, Cause::decode) -= Duration{1}; }},
      {"a call was queued before it was issued", [](Story& s) { nth<CallEnded>(s).queued = at(99); }},
      {"a call was scheduled before it was queued", [](Story& s) { nth<CallEnded>(s).scheduled = at(109); }},
      {"a call emitted a token before it was scheduled", [](Story& s) { nth<CallEnded>(s).first_token = at(119); }},
      {"a call emitted its last token before its first", [](Story& s) { nth<CallEnded>(s).last_token = at(139); }},
      {"a call emitted a token after its end", [](Story& s) { nth<CallEnded>(s).last_token = at(161); }},
      {"a call emitted more tokens than it was to", [](Story& s) { nth<CallEnded>(s).generated = 4; }},
      {"a call completed without all its tokens", [](Story& s) { nth<CallEnded>(s).generated = 2; }},
      {"one token has two times", [](Story& s) { nth<CallEnded>(s, 1).first_token = at(239); }},
      {"a refused call reached an engine", [](Story& s) { nth<CallEnded>(s).end = CallEnd::refused; }},
      {"a call knows more than its prompt", [](Story& s) { nth<CallEnded>(s, 1).known = 16; }},
      {"the cache gave the whole prompt of a call", [](Story& s) { nth<CallEnded>(s, 1).hit = 15; }},
      {"the cache gave tokens that were neither known nor shared", [](Story& s) { nth<CallEnded>(s, 1).hit = 14; }},
      {"a call lost a negative number of tokens", [](Story& s) { nth<CallEnded>(s, 1).lost[0] = -1; }},
      {"the steps of a replica overlap", [](Story& s) { nth<StepsRun>(s, 1).start = at(139); }},
      {"the steps of a replica overlap", [](Story& s) { nth<StepsRun>(s, 1).ends = disordered; }},
      {"a tool took negative time", [](Story& s) { nth<ToolEnded>(s).queued = Duration{-1}; }},
      {"a replica holds more blocks than its pool", [](Story& s) { nth<ReplicaSampled>(s).cached_blocks = 4; }},
      {"the memory bookings of a replica do not sum to pool x window", [](Story& s) { nth<MemoryBooked>(s, 2).token_nanoseconds -= 1; }},
      {"the measuring window closed twice", [](Story& s) { s.insert(s.end() - 1, nth<WindowClosed>(s)); }},
      {"the run ended inside its measuring window", [](Story& s) { erase_nth<WindowClosed>(s, 0); }},
      {"the run had another measuring window than its observers", [](Story& s) { nth<RunEnded>(s).window_end = at(1000); }},
      {"a run ended before one of its sessions", [](Story& s) { erase_nth<SessionEnded>(s, 0); }},
      {"the time ledger is not the life of all sessions inside the window", [](Story& s) { nth<TimeBooked>(s, 0).measured = false; }},
      {"calls were preempted more often than engines did it", [](Story& s) { nth<CallEnded>(s).preemptions = 1; }},
      {"tokens and the gaps between them do not agree", [](Story& s) { nth<StepsRun>(s, 1).gaps_by_class = two; }},
      {"tokens and the gaps between them do not agree", [](Story& s) { erase_nth<StepsRun>(s, 1); }},
  };
  return table;
}

}  // namespace

TEST_CASE("a lawful run passes the audit") { CHECK(verdict(two_calls()).empty()); }

TEST_CASE("the audit finds every planted violation and names the law") {
  for (const Violation& violation : violations()) {
    CAPTURE(violation.law);
    Story story = two_calls();
    violation.plant(story);
    const std::string found = verdict(story);
    CAPTURE(found);
    CHECK(found.find(violation.law) != std::string::npos);
    CHECK(found.find("at ") != std::string::npos);  // and when
  }
}

TEST_CASE("a hit beyond what was known is lawful up to the shared part of the context") {
  Story story = two_calls();
  nth<cluster::CallEnded>(story, 1).hit = 14;
  nth<cluster::ContextGrew>(story, 1).shareable = 14;
  CHECK(verdict(story).empty());
}

TEST_CASE("an aborted call may leave tokens behind that an engine still emits") {
  Story story = two_calls();
  cluster::CallEnded& call = nth<cluster::CallEnded>(story);
  call.end = cluster::CallEnd::aborted;
  call.generated = 0;
  nth<cluster::SessionEnded>(story).end = cluster::SessionEnd::failed;
  CHECK(verdict(story).empty());
}

TEST_CASE("results before the end of the run are refused") {
  metrics::Observers observers(plain_setup());
  CHECK_THROWS_AS(observers.finish(), InternalError);
}
