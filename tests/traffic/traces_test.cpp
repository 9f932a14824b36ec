// Trace readers against the real traces, where they are, and against figures known independently of the readers.
#include <doctest/doctest.h>

#include <algorithm>
#include <unordered_set>

#include "tests/support/shared.h"
#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;

namespace {

struct Totals {
  double prompt = 0, output = 0, known = 0;
};

Totals totals(const Trace& trace) {
  Totals sum;
  for (const Trace::Call& call : trace.calls) {
    sum.prompt += static_cast<double>(call.prompt);
    sum.output += static_cast<double>(call.output);
    sum.known += static_cast<double>(call.known);
    REQUIRE(kv::length(trace.content(call)) == call.prompt + call.output);
    REQUIRE(call.known < call.prompt);
  }
  return sum;
}

std::int64_t median(std::vector<std::int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::int64_t noted(const Trace& trace, std::string_view text) {
  for (const Load::Note& note : trace.notes) {
    if (note.text == text) return note.count;
  }
  return 0;
}

}  // namespace

TEST_CASE("the Mooncake conversation hour has the requests, means and block reuse published for it") {
  const auto file = test::shared("data/mooncake-fast25/conversation_trace.jsonl.gz");
  if (!file) return;
  const Trace trace = traces::Mooncake::read(file->string(), {}, {});
  REQUIRE(trace.size() == 12031);
  const Totals sum = totals(trace);
  CHECK(sum.prompt / 12031 == doctest::Approx(12035).epsilon(0.0005));
  CHECK(sum.output / 12031 == doctest::Approx(343).epsilon(0.002));
  // 36.6 % of its 512-token blocks are hits of an infinite cache: ids seen before.
  std::unordered_set<std::int64_t> seen;
  double blocks = 0, hits = 0;
  for (const Trace::Call& call : trace.calls) {
    for (const kv::Piece& piece : trace.content(call)) {
      if (piece.span != trace.pieces[0].span) continue;
      for (std::int64_t id = piece.first / 512; id * 512 < piece.first + piece.length; ++id) {
        blocks += 1;
        hits += !seen.insert(id).second;
      }
    }
  }
  CHECK(hits / blocks == doctest::Approx(0.366).epsilon(0.002));
}

TEST_CASE("the Azure hours have the requests and lengths published for them") {
  for (const auto& [name, rows, prompt, output, prompt_median, output_median] :
       {std::tuple{"conv", 19366u, 1155.0, 211.0, 1020, 129}, std::tuple{"code", 8819u, 2048.0, 28.0, 1469, 13}}) {
    const auto file = test::shared(std::string("data/azure-llm-2023/AzureLLMInferenceTrace_") + name + ".csv.gz");
    if (!file) return;
    const Trace trace = traces::Azure2023::read(file->string(), {}, {});
    REQUIRE(trace.size() == rows);
    const Totals sum = totals(trace);
    CHECK(sum.prompt / rows == doctest::Approx(prompt).epsilon(0.0005));
    CHECK(sum.output / rows == doctest::Approx(output).epsilon(0.02));
    std::vector<std::int64_t> prompts, outputs;
    for (const Trace::Call& call : trace.calls) {
      prompts.push_back(call.prompt);
      outputs.push_back(call.output);
    }
    CHECK(median(prompts) == prompt_median);
    CHECK(median(outputs) == output_median);
  }
}

TEST_CASE("the WEKA sessions have the calls, sub-agents and cache hits of their corpus") {
  const auto file = test::shared("data/weka-agentic/claude_code_sessions.jsonl.gz");
  if (!file) return;
  const Trace trace = traces::Weka::read(file->string(), {}, {});
  REQUIRE(trace.size() == 484);
  CHECK(trace.calls.size() == 31014 + 513);  // in main threads and in sub-agents: counted in the file by other means
  CHECK(trace.threads.size() == 484 + 50);
  const Totals sum = totals(trace);
  CHECK(sum.known / sum.prompt == doctest::Approx(0.964).epsilon(0.002));  // 96.4 % published for the whole corpus with an infinite cache
  CHECK(noted(trace, "waits missing, taken as 0") == 68);
  CHECK(noted(trace, "calls without output, taken as 1 token") == 25);
  CHECK(noted(trace, "sub-agents without a duration, taken to start at their time and waited for") == 4);
  CHECK(noted(trace, "inputs with fewer ids than full blocks, their rest private") == 0);
  std::vector<std::int64_t> outputs;
  for (const Trace::Call& call : trace.calls) outputs.push_back(call.output);
  CHECK(std::abs(static_cast<double>(median(outputs)) - 217) <= 5);
}

TEST_CASE("the TraceLab sample has 32 sessions and 202 calls, and finds its prefixes where it says that they are") {
  const auto file = test::shared("data/tracelab-sample/replay_sessions.csv");
  if (!file) return;
  const Trace trace = traces::TraceLab::read(file->string(), {}, {});
  CHECK(trace.size() == 32);  // different session_id in the file
  CHECK(trace.calls.size() == 202);
  totals(trace);
  const auto one = test::shared("data/tracelab-sample/one_real_session.csv");
  if (!one) return;
  const Trace real = traces::TraceLab::read(one->string(), {}, {});
  REQUIRE(real.size() == 1);
  REQUIRE(real.calls.size() == 11);
  CHECK(real.calls[1].known == 18333);   // the table's prefix_len
  CHECK(real.calls[10].known == 48060);  // the branch
  CHECK(!real.sessions[0].start);
}

TEST_CASE("the LLMServingSim workloads have 300 requests each") {
  for (const char* name : {"sharegpt-llama-3.1-8b-300-sps10", "sharegpt-qwen3-32b-300-sps10"}) {
    const auto file = test::shared(std::string("data/llmservingsim/workload.") + name + ".jsonl.gz");
    if (!file) return;
    const Trace trace = traces::LlmServingSim::read(file->string(), {}, {});
    CHECK(trace.size() == 300);
    totals(trace);
    CHECK(noted(trace, "inputs with fewer ids than full blocks, their rest private") == 0);
  }
}
