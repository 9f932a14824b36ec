// What one engine step contains, as sums. A step's time is a pure function of them, so pricing never walks the batch.
#pragma once

#include <cstdint>

namespace marea::cost {

// One forward pass of a replica. Sequences that decode contribute one token each.
struct StepSums {
  std::int64_t tokens = 0;             // new tokens of all sequences, decodes included
  std::int64_t decode_sequences = 0;   // sequences that compute exactly their newest generated token
  std::int64_t decode_context = 0;     // sum over them of the KV read: tokens cached before this step, plus the new one
  std::int64_t decode_windowed = 0;    // sum over them of min(that, window); equals decode_context without a window
  std::int64_t prefill_sequences = 0;  // sequences that compute a chunk of known tokens
  std::int64_t prefill_tokens = 0;     // sum of the chunks
  std::int64_t longest_prefill = 0;    // largest (context before + chunk) among them
  double prefill_pairs = 0;            // sum over chunks of (chunk x context before + chunk x (chunk + 1) / 2): causal query-key pairs
  double prefill_windowed_pairs = 0;   // the same with at most `window` keys a query
  std::int64_t admissions = 0;         // requests admitted into this step
  std::int64_t sampled = 0;            // rows that go through the output head (decodes and prefills that complete)

  bool operator==(const StepSums&) const = default;
};

}  // namespace marea::cost
