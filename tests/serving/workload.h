// A workload in the form of the recorded schedules: an engine configuration and requests that arrive at steps.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/kv/content.h"
#include "sim/serving/vllm_v1.h"

namespace marea::test {

struct WorkloadRequest {
  std::string id;
  std::optional<std::int64_t> arrive;  // step, or:
  std::int64_t after = -1;             // request whose finish it follows ...
  std::int64_t delay = 0;              // ... by so many steps
  double fraction = 0;                 // of the arrival time behind the step
  kv::Content content;                 // prompt and output
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::int64_t priority = 0;
  std::int64_t abort_at = -1;  // step before whose schedule it is aborted, if it is still there
  std::uint32_t session = 0;   // owner of its KV
};

struct Workload {
  std::string name;
  serving::VllmV1Params params;
  std::vector<WorkloadRequest> requests;
};

// From the header line of a recording.
Workload read_workload(const nlohmann::json& header, bool async);

}  // namespace marea::test
