// Fuzz target of the mooncake reader.
#include "sim/traffic/traces/mooncake.h"
#include "tests/fuzz/fuzz_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return marea::fuzz::trace<marea::traffic::traces::Mooncake>(data, size);
}
