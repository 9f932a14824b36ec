// Fuzz target of the azure_2023 reader.
#include "sim/traffic/traces/azure_2023.h"
#include "tests/fuzz/fuzz_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return marea::fuzz::trace<marea::traffic::traces::Azure2023>(data, size);
}
