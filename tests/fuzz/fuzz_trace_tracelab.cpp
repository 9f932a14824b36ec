// Fuzz target of the tracelab reader.
#include "sim/traffic/traces/tracelab.h"
#include "tests/fuzz/fuzz_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return marea::fuzz::trace<marea::traffic::traces::TraceLab>(data, size);
}
