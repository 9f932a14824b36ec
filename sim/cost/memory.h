// Where the memory of one device of a replica goes, and how many KV blocks are left: an account whose rows sum to the device exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/spec/deployment.h"

namespace marea::cost {

struct MemoryRow {
  std::string name;
  Bytes bytes{};
  spec::Status status = spec::Status::assumed;
  bool kv_pool = false;  // the row of the KV blocks
};

// Of one device (tensor rank); all ranks of a replica are alike.
struct MemoryAccount {
  Bytes capacity{};
  std::vector<MemoryRow> rows;  // sum to capacity exactly; the row "short of" is negative where the model does not fit
  Bytes per_token{};            // KV that grows with the context, the sparse index included
  Bytes per_sequence{};         // window and recurrent state of one sequence
  Bytes per_block{};
  std::int64_t block = 0;       // tokens
  std::int64_t blocks = 0;      // N, the null block included; 0 when there is no room at all
  std::int64_t tokens = 0;      // that the usable N - 1 blocks hold
  std::int64_t max_length = 0;  // asked for
  std::int64_t longest = 0;     // one sequence that fits, at most max_length
  Bytes missing{};              // what one sequence of max_length is short of; 0 when it fits
  bool fits() const { return missing.value == 0; }
};

// vLLM's accounting: fraction x memory - weights - activation peak - runtime = KV pool. With limits.blocks the pool is as stated and
// whatever that leaves or lacks is shown.
MemoryAccount account(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment,
                      const spec::EngineLimits& limits);

// Bytes of weights on one rank.
Bytes weights_per_rank(const spec::Model& model, const spec::Deployment& deployment);
// KV and index bytes that one more token of context takes on one rank.
Bytes kv_per_token(const spec::Model& model, const spec::Deployment& deployment);

}  // namespace marea::cost
