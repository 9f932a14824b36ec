// Fuzz target of the llmservingsim reader.
#include "sim/traffic/traces/llmservingsim.h"
#include "tests/fuzz/fuzz_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return marea::fuzz::trace<marea::traffic::traces::LlmServingSim>(data, size);
}
