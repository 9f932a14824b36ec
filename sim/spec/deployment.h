// How a model is put on devices, under which limits, and what is asked of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/spec/device.h"
#include "sim/spec/model.h"

namespace marea::spec {

// One replica. Embeddings, output head and routers stay in 16 bits whatever the format of the rest.
struct Deployment {
  Format attention_weights = Format::bf16;     // projections
  Format feed_forward_weights = Format::bf16;  // dense layers and shared experts
  Format expert_weights = Format::bf16;
  Format kv = Format::bf16;
  std::int64_t tensor = 1;        // ranks that split the heads of one sequence
  std::int64_t data = 1;          // such groups, each with sequences of its own; they share the experts and step together
  std::int64_t expert_ranks = 1;  // of all ranks share out whole experts; the others split each expert's width

  std::int64_t ranks() const { return tensor * data; }  // devices of the replica
};

// A deployment from the formats a user names. Four-bit weights of a model with experts leave its attention projections in 16 bits, as the
// published checkpoints do (gpt-oss, the NVFP4 ones of DeepSeek, Kimi and MiniMax).
Deployment deploy(const Model& model, Format weights, Format kv, std::int64_t tensor, std::int64_t expert_ranks = 1, std::int64_t data = 1);

// Why a model cannot run so on such devices ("64 query heads do not split over 3 ranks; take 1, 2, 4, 8"), or an empty text.
std::string refusal(const Model& model, const Device& device, const Deployment& deployment);

// KV heads that one tensor rank holds: at least one, so beyond kv_heads ranks they repeat.
std::int64_t kv_heads_per_rank(const Model& model, std::int64_t tensor);

// The limits of the serving engine that decide memory; of one data rank where there are several.
struct EngineLimits {
  double memory_fraction = 0.92;  // of device memory that the engine may fill
  std::int64_t batch_tokens = 8192;
  std::int64_t sequences = 256;
  std::int64_t max_length = 0;         // tokens of one sequence; 0: the model's
  std::int64_t block = 16;             // tokens
  std::optional<std::int64_t> blocks;  // given outright, the null block included
  bool before_2026 = false;            // memory as vLLM counted it then: top-p sampled by sorting, graphs left outside the fraction
};

// What is asked of every call.
struct Targets {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> resume;
  double attainment = 0.9;  // share of a session's calls that must meet all of them
};
Targets read_targets(const Value& value);

}  // namespace marea::spec
