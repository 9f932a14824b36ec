// Trace readers against the real traces, where they are, and against figures known independently of the readers.
#include <doctest/doctest.h>

#include "tests/support/shared.h"
#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;

TEST_CASE("the Mooncake conversation hour has the requests, means and block reuse published for it") {
  const auto file = test::shared("data/mooncake-fast25/conversation_trace.jsonl.gz");
  if (!file) return;
  const Trace trace = traces::Mooncake::read(file->string(), {}, {});
  REQUIRE(trace.size() == 12031);
  double input = 0, output = 0;
  for (const Trace::Call& call : trace.calls) {
    input += static_cast<double>(call.prompt);
    output += static_cast<double>(call.output);
    REQUIRE(kv::length(trace.content(call)) == call.prompt + call.output);
  }
  CHECK(input / 12031 == doctest::Approx(12035).epsilon(0.0005));
  CHECK(output / 12031 == doctest::Approx(343).epsilon(0.002));
}
