// Fuzz target of the reader of tables with named columns.
#include "sim/traffic/traces/csv.h"
#include "tests/fuzz/fuzz_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using marea::traffic::traces::Csv;
  Csv::Params params;
  params.prompt = "in";
  params.output = "out";
  params.session = "conversation";
  params.time = {"arrived", 1e9};
  params.wait = {"pause", 1e9};
  params.prefix = "template";
  params.prefix_tokens = 40;
  return marea::fuzz::trace<Csv>(data, size, params);
}
