// What the progress line says at every stage of a run: never a share of something that nobody knows.
#include <doctest/doctest.h>

#include "sim/base/time.h"
#include "tests/cli/support.h"
#include "tools/progress_text.h"

using namespace marea;
using namespace marea::test;
using cli::progress_text;
using cli::RunState;

namespace {

RunState at(Duration now, std::optional<Duration> end, bool done = false) {
  run::Progress progress;
  progress.now = kStart + now;
  if (end) progress.end = kStart + *end;
  progress.events = 2'000'000;
  progress.sessions = 1234;
  return {progress, done};
}

constexpr auto kHour = std::chrono::hours(1);

}  // namespace

TEST_CASE("inside its window a run shows the share of it that is done") {
  CHECK(progress_text("pond", {at(std::chrono::minutes(30), 2 * kHour)}, 4) == "pond  25 % of 2 h, 12 s to its end  2.0 M events, 0.5 M/s");
  CHECK(progress_text("pond", {at(Duration{}, 2 * kHour)}, 4) == "pond  0 % of 2 h  2.0 M events, 0.5 M/s");
}

TEST_CASE("after its window a run drains, of which nobody knows the end") {
  CHECK(progress_text("pond", {at(5 * kHour, 2 * kHour)}, 4) == "pond  draining, 3 h after the window  2.0 M events, 0.5 M/s");
  CHECK(progress_text("pond", {at(2 * kHour, 2 * kHour)}, 4) == "pond  draining, 0 ns after the window  2.0 M events, 0.5 M/s");
}

TEST_CASE("a run without a stated end shows its time and sessions, and no total") {
  CHECK(progress_text("trace", {at(3 * kHour, {})}, 4) == "trace  3 h, 1234 sessions  2.0 M events, 0.5 M/s");
}

TEST_CASE("several runs count those that are done") {
  const RunState ended = at(5 * kHour, 2 * kHour, true), begun = at(kHour, 2 * kHour), waiting{};
  CHECK(progress_text("pond", {ended, begun, waiting, waiting}, 10) == "pond  1 of 4 runs done, 30 s left  4.0 M events, 0.4 M/s");
  CHECK(progress_text("pond", {begun, waiting}, 10) == "pond  0 of 2 runs done  2.0 M events, 0.2 M/s");
  CHECK(progress_text("pond", {at(3 * kHour, {}, true), at(kHour, {})}, 10) == "pond  1 of 2 runs done, 10 s left  4.0 M events, 0.4 M/s");
}

TEST_CASE("the line fits 79 columns whatever the name") {
  CHECK(progress_text(std::string(100, 'x'), {at(kHour, 2 * kHour)}, 4).size() == 79);
}
