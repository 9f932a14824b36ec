// The shape of a large language model: everything that decides its bytes and its work, nothing about any machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/spec/number.h"

namespace marea::spec {

enum class AttentionKind : std::uint8_t { grouped, latent };

// Attention of all layers. Layers are of three sorts: full; windowed (keep and read the last `window` tokens); sparse (keep everything,
// read `sparse_keys` tokens chosen through an index). Windowed and sparse layers do not occur in one model.
struct Attention {
  AttentionKind kind = AttentionKind::grouped;
  std::int64_t layers = 0;  // with KV; the model's other layers have none
  std::int64_t heads = 0;   // query heads
  // grouped (multi-head and multi-query are special cases)
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool sixteen_bit = false;  // published checkpoints leave the projections in 16 bits whatever the format of the rest
  // latent (MLA): one vector of latent + rope numbers a token, the same for all heads
  std::int64_t query_rank = 0;  // 0: the query is not compressed
  std::int64_t latent = 0;
  std::int64_t rope_dim = 0;
  std::int64_t nope_dim = 0;
  std::int64_t value_dim = 0;

  std::int64_t windowed_layers = 0;
  std::int64_t window = 0;
  std::int64_t sparse_layers = 0;
  std::int64_t sparse_keys = 0;
  std::int64_t index_layers = 0;  // sparse layers that own an index; the others choose the keys that the last index before them chose
  Bytes index_per_token{};        // all of them together; held by every tensor rank
  std::int64_t index_heads = 0;   // query heads and width of the index scores
  std::int64_t index_dim = 0;

  std::int64_t full_layers() const { return layers - windowed_layers - sparse_layers; }
  // Most keys that a query of a windowed or sparse layer reads, 0 without such layers: the `window` of StepSums.
  std::int64_t key_limit() const { return windowed_layers > 0 ? window : sparse_keys; }
};

// Dense feed-forward layers. matrices: 3 with a gate (SwiGLU), 2 without.
struct FeedForward {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t matrices = 3;
};

// Mixture-of-experts layers.
struct Experts {
  std::int64_t layers = 0;
  std::int64_t count = 0;      // routed experts a layer
  std::int64_t per_token = 0;  // of them used by a token
  std::int64_t width = 0;
  std::int64_t shared_width = 0;  // of all shared experts together; 0: none
};

// Layers with a recurrent state in place of KV (linear attention, state-space).
struct Recurrent {
  std::int64_t layers = 0;
  Bytes state{};                // per sequence, all layers
  std::int64_t parameters = 0;  // per layer
};

struct Model {
  std::string name;
  std::string about;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  std::int64_t max_length = 0;          // tokens
  double published_parameters = 0;      // as its makers state it; 0: not stated
  std::int64_t encoder_parameters = 0;  // of images or sound, in 16 bits: they take memory, and no time where the input is text
  Attention attention;
  FeedForward feed_forward;
  std::optional<Experts> experts;
  Recurrent recurrent;
  Origin origin;

  bool has_experts() const { return experts.has_value(); }
};

// Reads a model from its map; errors where the shape cannot be (heads that do not divide, more sorted layers than layers).
Model read_model(const Value& value);

// Parameters by the format they are stored in, of the whole model, from the shape alone (no norms, no biases, no draft heads).
struct Parameters {
  std::int64_t embedding = 0;
  std::int64_t head = 0;  // 0 with tied embeddings
  std::int64_t router = 0;
  std::int64_t attention = 0;
  std::int64_t feed_forward = 0;  // dense layers, and shared experts
  std::int64_t experts = 0;       // routed
  std::int64_t total() const { return embedding + head + router + attention + feed_forward + experts; }
};
Parameters parameters(const Model& model);
// Parameters that one token passes through, without the input embedding.
std::int64_t active_parameters(const Model& model);

// KV of one token in all layers, both in the part that grows with the context and in windowed layers, and the part that grows alone.
// The sparse index is not in it.
double kv_bytes_per_token(const Model& model, Format kv);
double growing_kv_bytes_per_token(const Model& model, Format kv);

}  // namespace marea::spec
