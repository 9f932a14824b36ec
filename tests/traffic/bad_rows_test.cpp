// What a wrong row of a trace says, and what is left when such rows are skipped.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/traffic/yaml.h"

using namespace marea;
using namespace marea::traffic;

namespace {

// A trace file for the length of a test.
struct File {
  explicit File(const std::string& text)
      : path((std::filesystem::temp_directory_path() / ("marea_traffic_" + std::to_string(counter()++) + ".trace")).string()) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path); }
  static int& counter() {
    static int count = 0;
    return count;
  }
  std::string path;
};

template <class Reader>
std::string message(const std::string& text, const typename Reader::Params& params = {}) {
  const File file(text);
  std::string what = test::error_of([&] { Reader::read(file.path, params, {}); });
  if (what.starts_with(file.path)) what.erase(0, file.path.size() + 1);
  return what;
}

template <class Reader>
Trace skipping(const std::string& text, const typename Reader::Params& params = {}) {
  const File file(text);
  return Reader::read(file.path, params, {.skip_bad_rows = true});
}

const std::string kGood = "{\"timestamp\": 5, \"input_length\": 600, \"output_length\": 2, \"hash_ids\": [1, 2]}\n";

std::string mooncake(const std::string& time, const std::string& input, const std::string& output, const std::string& ids) {
  return "{\"timestamp\": " + time + ", \"input_length\": " + input + ", \"output_length\": " + output + ", \"hash_ids\": " + ids + "}\n";
}

}  // namespace

TEST_CASE("a wrong row of a JSON trace is named by line and path") {
  using traces::Mooncake;
  CHECK(message<Mooncake>(kGood + mooncake("6", "0", "2", "[1]")) == "2: input_length: 0 is out of range; 1 to 100000000 is accepted");
  CHECK(message<Mooncake>(mooncake("6", "600", "-2", "[1]")) == "1: output_length: -2 is out of range; 1 to 100000000 is accepted");
  CHECK(message<Mooncake>(mooncake("6", "99999999999999999999", "2", "[]")).starts_with("1: input_length: a whole number from 1"));
  CHECK(message<Mooncake>(mooncake("6", "600", "2", "[1, \"x\"]")).starts_with("1: hash_ids[1]: a whole number from 0"));
  CHECK(message<Mooncake>(mooncake("6", "600", "2", "[1, 2, 3]")) == "1: hash_ids: more ids than blocks in input_length");
  CHECK(message<Mooncake>(kGood + mooncake("4", "600", "2", "[1]")) ==
        "2: timestamp: earlier than the row before; rows must be in order of time");
  CHECK(message<Mooncake>(mooncake("NaN", "600", "2", "[1]")).find("not valid JSON") != std::string::npos);
  CHECK(message<Mooncake>(mooncake("1e999", "600", "2", "[1]")).ends_with(": not valid JSON: a number is too large"));
  CHECK(message<Mooncake>(mooncake("-1", "600", "2", "[1]")).starts_with("1: timestamp: -1 is out of range"));
  CHECK(message<Mooncake>("{\"timestamp\": 5}\n") == "1: `input_length` is missing");
  CHECK(message<Mooncake>("{\"timestamp\": 5, \"timestamp\": 6}\n").find("the key `timestamp` is given twice") != std::string::npos);
  CHECK(message<Mooncake>("[1]\n") == "1: a JSON object is expected on each line");
  CHECK(message<Mooncake>(std::string(100, '[')).find("nested deeper than 32") != std::string::npos);
  CHECK(message<Mooncake>("{\"timestamp\": 5,").find("not valid JSON") != std::string::npos);
  CHECK(
      message<traces::Weka>("{\"block_size\":64,\"requests\":[{\"t\":0,\"type\":\"n\",\"in\":64,\"out\":1,\"hash_ranges\":[[1,2]]}]}\n") ==
      "1: requests[0].hash_ranges: more blocks than `in` has");
  CHECK(message<traces::Weka>("{\"block_size\":64,\"requests\":[]}\n") == "1: requests: at least one request is expected");
  CHECK(message<traces::LlmServingSim>("{\"arrival_time_ns\":1,\"input_toks\":3,\"output_toks\":1,\"input_tok_ids\":[1,2]}\n") ==
        "1: input_tok_ids: input_toks token ids are expected");
}

TEST_CASE("a trace of bad rows alone says how many were skipped and why the first one was") {
  const File file("garbage\n" + mooncake("6", "0", "2", "[1]"));
  CHECK(test::error_of([&] { traces::Mooncake::read(file.path, {}, {.skip_bad_rows = true}); })
            .starts_with(file.path + ": holds no sessions: 2 rows were skipped as bad rows; the first: " + file.path +
                         ":1:1: not valid JSON: "));
}

TEST_CASE("a wrong row of a table is named by line and column") {
  using traces::Azure2023;
  const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n", good = "2023-11-16 18:15:46.6805900,374,44\n";
  CHECK(message<Azure2023>(head + good + "2023-13-16 18:15:46,1,1\n").find("not a time of the form") != std::string::npos);
  CHECK(message<Azure2023>(head + good + "2023-11-16 18:15:46.1,1,1\n").find("TIMESTAMP: earlier than the row before") !=
        std::string::npos);
  CHECK(message<Azure2023>(head + "2023-11-16 18:15:46.1,0,1\n").find("ContextTokens") != std::string::npos);
  CHECK(message<Azure2023>(head + "2023-11-16 18:15:46.1,nan,1\n").find("ContextTokens") != std::string::npos);
  CHECK(message<Azure2023>(head + "2023-11-16 18:15:46.1,5\n").find("2 fields") != std::string::npos);
  CHECK(message<Azure2023>("TIMESTAMP,ContextToken,GeneratedTokens\n").find("ContextTokens") != std::string::npos);
  CHECK(message<traces::TraceLab>("session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n1,1,0,5,5,0\n")
            .find("round_idx: round 0 of the session is expected") != std::string::npos);
}

TEST_CASE("bad rows are skipped and counted when asked for") {
  const Trace trace = skipping<traces::Mooncake>(kGood + "garbage\n" + mooncake("6", "0", "2", "[1]") + kGood);
  CHECK(trace.size() == 2);
  REQUIRE(trace.notes.size() == 1);
  CHECK(trace.notes[0].text == "bad rows skipped");
  CHECK(trace.notes[0].count == 2);
  const Trace table =
      skipping<traces::Azure2023>("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1,1\n2023-11-16 18:15:46,1,1\n");
  CHECK(table.size() == 1);
  CHECK(table.notes[0].count == 1);
  // A session of several rows goes with its bad one; the next session is whole.
  const Trace sessions = skipping<traces::TraceLab>(
      "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n1,0,0,5,5,0\n1,1,0,5,x,0\n2,0,0,7,5,0\n");
  REQUIRE(sessions.size() == 1);
  CHECK(sessions.calls[0].prompt == 7);
  // So does it where the row cannot even be split.
  const Trace torn = skipping<traces::TraceLab>(
      "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n1,0,0,5,5,0\n1,1,0\n1,2,0,5,5,0\n2,0,0,7,5,0\n");
  REQUIRE(torn.size() == 1);
  CHECK(torn.calls[0].prompt == 7);
}

TEST_CASE("a limit reads the first sessions only") {
  const File file(kGood + kGood + "garbage\n");
  CHECK(traces::Mooncake::read(file.path, {}, {.limit = 2}).size() == 2);
}

TEST_CASE("a trace without sessions is refused") {
  const File file("\n");
  const std::string what =
      test::error_of([&] { test::read_class("{name: a, lanes: 1, trace: {format: mooncake, file: " + file.path + "}}"); });
  CHECK(what.find("holds no sessions") != std::string::npos);
}
