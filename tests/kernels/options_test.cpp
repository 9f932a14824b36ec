// The command line of marea-probe and what it says about mistakes.
#include "kernels/options.h"

#include <doctest/doctest.h>

using namespace marea::probe;

namespace {

Options read(std::vector<const char*> words) {
  words.insert(words.begin(), "marea-probe");
  return read_options(static_cast<int>(words.size()), words.data());
}

std::string complaint(const std::vector<const char*>& words) {
  try {
    read(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options are read") {
  const Options given =
      read({"--backend", "cuda", "--out", "t.csv", "--budget", "90 s", "--operations", "gemm,file_read", "--formats=bf16,fp8", "--seed",
            "18446744073709551615", "--device", "h100-sxm", "--resume", "--quick", "--quiet"});
  CHECK(given.what == Options::Do::measure);
  CHECK(given.backend == "cuda");
  CHECK(given.out == "t.csv");
  CHECK(given.budget == 90);
  CHECK(given.operations == std::set<Operation>{Operation::gemm, Operation::file_read});
  CHECK(given.formats == std::set<std::string>{"bf16", "fp8"});
  CHECK(given.seed == 18446744073709551615u);
  CHECK(given.device == "h100-sxm");
  CHECK((given.resume && given.quick && given.quiet));
  CHECK(read({"--list"}).what == Options::Do::list);
  CHECK(read({"--check"}).what == Options::Do::check);
  CHECK(read({"-h"}).what == Options::Do::help);
}

TEST_CASE("times have units") {
  CHECK(read_duration("8min") == 480);
  CHECK(read_duration("1.5 h") == 5400);
  for (const char* wrong : {"8", "min", "-1s", "0 s", "8 minutes", "nan s", "inf s", "200 h", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read_duration(wrong), UsageError);
  }
}

TEST_CASE("mistakes are named with what would be right") {
  CHECK(complaint({}) == "--out is missing: the file for the table");
  CHECK(complaint({"--out", "t", "--backend", "metal"}) == "--backend metal: host or cuda would be right");
  CHECK(complaint({"--out", "t", "--budget", "8"}) == "--budget 8: not a time of at most a week with its unit, such as 90s, 8min or 1h");
  CHECK(complaint({"--out", "t", "--formats", "bf16,fp7"}) ==
        "--formats: no number format is called 'fp7'; there are fp32, bf16, fp16, fp8, int8, nvfp4");
  CHECK(complaint({"--out", "t", "--operations", "gem"}).rfind("--operations: no operation is called 'gem'; there are memory_read, ", 0) ==
        0);
  CHECK(complaint({"--out", "t", "--seed", "-1"}) == "--seed -1: not a whole number from 0 to 2^64 - 1");
  CHECK(complaint({"--list", "--check"}) == "--list and --check exclude each other");
  CHECK_FALSE(complaint({"--out", "t", "stray"}).empty());
  CHECK_FALSE(complaint({"--out"}).empty());
  CHECK_FALSE(complaint({"--out", "t", "--nonsense"}).empty());
}

TEST_CASE("a format asked for matches weights, activations and KV; what has no format is always wanted") {
  Options options;
  options.formats = {"fp8"};
  CHECK(wanted(options, {.operation = Operation::gemm, .format = "fp8"}));
  CHECK_FALSE(wanted(options, {.operation = Operation::gemm, .format = "bf16"}));
  CHECK(wanted(options, {.operation = Operation::decode_attention, .format = "bf16", .kv = "fp8"}));
  CHECK(wanted(options, {.operation = Operation::memory_copy}));
  options.operations = {Operation::gemm};
  CHECK_FALSE(wanted(options, {.operation = Operation::memory_copy}));
}
