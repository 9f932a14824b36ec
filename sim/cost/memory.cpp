// The memory account of one device.
#include "sim/cost/memory.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/shapes.h"

namespace marea::cost {

namespace {

using spec::Status;

Bytes rounded(double bytes) { return Bytes{static_cast<std::int64_t>(std::llround(bytes))}; }

struct Weights {
  Bytes attention{}, feed_forward{}, experts{}, vocabulary{}, encoders{}, positions{};
  Bytes total() const { return attention + feed_forward + experts + vocabulary + encoders + positions; }
};

std::int64_t padded(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

// Numbers of one matrix of an expert on one rank. vLLM pads mxfp4 experts to whole tiles of their kernel: 256 of the hidden size, 128 of
// the width (Marlin on Hopper, mxfp4.py).
double expert_matrix(const spec::Model& model, const spec::Deployment& deployment) {
  const std::int64_t width = experts_per_rank(model, deployment).width;
  if (deployment.expert_weights != spec::Format::mxfp4) return static_cast<double>(model.hidden * width);
  return static_cast<double>(padded(model.hidden, 256) * padded(width, 128));
}

// Sines and cosines of every position that the model knows, in 16 bits, once for all layers and whole on every rank.
double position_table(const spec::Model& model) {
  const spec::Attention& a = model.attention;
  const std::int64_t rotated = a.kind == spec::AttentionKind::latent ? a.rope_dim : a.head_dim;
  return static_cast<double>(model.max_length) * static_cast<double>(rotated) * 2;
}

Weights weights(const spec::Model& model, const spec::Deployment& deployment) {
  double attention = 0, feed_forward = 0, vocabulary = 0;
  for (const Matrix& matrix : matrices(model, deployment)) {
    const double bytes = static_cast<double>(matrix.layers) * static_cast<double>(matrix.k) * static_cast<double>(matrix.n) *
                         spec::bytes_per_number(matrix.format);
    (matrix.role == MatrixRole::attention ? attention : matrix.role == MatrixRole::feed_forward ? feed_forward : vocabulary) += bytes;
  }
  const double rows = static_cast<double>(vocabulary_per_rank(model, deployment)) * static_cast<double>(model.hidden);
  vocabulary += rows * (model.tied_embeddings ? 1 : 2) * spec::bytes_per_number(spec::Format::bf16);
  double experts = 0;
  if (model.experts) {
    const ExpertsPerRank own = experts_per_rank(model, deployment);
    experts = static_cast<double>(model.experts->layers * own.count) * 3 * expert_matrix(model, deployment) *
              spec::bytes_per_number(deployment.expert_weights);
  }
  const double encoders = static_cast<double>(model.encoder_parameters) / static_cast<double>(deployment.tensor) * 2;
  return {rounded(attention),  rounded(feed_forward), rounded(experts),
          rounded(vocabulary), rounded(encoders),     rounded(position_table(model))};
}

// KV of one token in one layer on one rank.
double kv_bytes_per_layer(const spec::Model& model, const spec::Deployment& deployment) {
  const spec::Attention& a = model.attention;
  const std::int64_t numbers =
      a.kind == spec::AttentionKind::latent ? a.latent + a.rope_dim : 2 * spec::kv_heads_per_rank(model, deployment.tensor) * a.head_dim;
  return static_cast<double>(numbers) * spec::bytes_per_number(deployment.kv);
}

// The largest moment of a forward pass of `tokens` tokens, an assumption: hidden states (residual, normed, input and output of a block)
// beside the widest intermediate of one layer, all in 16 bits.
double forward_peak(const spec::Model& model, const spec::Deployment& deployment, const spec::EngineLimits& limits) {
  const double tokens = static_cast<double>(limits.batch_tokens);
  const double hidden = static_cast<double>(model.hidden);
  double widest = 0;  // numbers a token
  for (const Matrix& matrix : matrices(model, deployment))
    if (matrix.role == MatrixRole::attention) widest = std::max(widest, static_cast<double>(matrix.n) + hidden);
  if (model.feed_forward.layers > 0)
    widest = std::max(widest, static_cast<double>(model.feed_forward.matrices * model.feed_forward.width / deployment.tensor));
  if (model.experts) {
    // Every token, of all data ranks, is copied to each expert it chose: gate, up and their product, and the output before it is summed.
    const double copies = static_cast<double>(model.experts->per_token * deployment.data) / static_cast<double>(deployment.expert_ranks);
    widest = std::max(widest, copies * (3 * static_cast<double>(experts_per_rank(model, deployment).width) + hidden));
  }
  return tokens * 2 * (4 * hidden + widest);
}

// Bytes of one logit while it is sampled with top-p. Before 2026: itself in 16 and in 32 bits, sorted values and their indices (4 + 8), a
// second set of indices (8) and what the radix sort needs beside its output (4 + 8). vLLM 0.10 and 0.11 on an H100 with 1,024 sequences of
// gpt-oss-120b log 7.4 and 7.5 GiB beside the weights at 8,192 and at 1,024 tokens a step (issues 23278 and 27508); 38 bytes make 7.3.
// Since then a kernel masks in place: 16 and 32 bits, probabilities (4) and the noise that they are divided by (4).
double logit_bytes(const spec::EngineLimits& limits) { return limits.before_2026 ? 38 : 14; }

// Sampling of as many rows as the engine may run, after the pass, while its last hidden states are still there.
double sampling_peak(const spec::Model& model, const spec::EngineLimits& limits) {
  const double rows = static_cast<double>(std::min(limits.sequences, limits.batch_tokens));
  return static_cast<double>(limits.batch_tokens * model.hidden) * 2 + rows * static_cast<double>(model.vocabulary) * logit_bytes(limits);
}

// vLLM runs a full step with full sampling before it counts what is left for KV.
MemoryRow activation_row(const spec::Model& model, const spec::Deployment& deployment, const spec::EngineLimits& limits) {
  const double forward = forward_peak(model, deployment, limits);
  const double sampling = sampling_peak(model, limits);
  if (forward >= sampling)
    return {"activations, peak of " + std::to_string(limits.batch_tokens) + " tokens", rounded(forward), spec::Status::assumed};
  return {"activations, peak of sampling " + std::to_string(std::min(limits.sequences, limits.batch_tokens)) + " rows", rounded(sampling),
          spec::Status::assumed};
}

Bytes per_sequence(const spec::Model& model, const spec::Deployment& deployment, std::int64_t max_length) {
  const spec::Attention& a = model.attention;
  const double window = static_cast<double>(std::min(a.window, max_length) * a.windowed_layers) * kv_bytes_per_layer(model, deployment);
  return rounded(window + static_cast<double>(model.recurrent.state.value) / static_cast<double>(deployment.tensor));
}

double growing_per_token(const spec::Model& model, const spec::Deployment& deployment) {
  return static_cast<double>(model.attention.layers - model.attention.windowed_layers) * kv_bytes_per_layer(model, deployment) +
         static_cast<double>(model.attention.index_per_token.value);
}

// Rows of everything that is not KV blocks, in the order of the account.
std::vector<MemoryRow> fixed_rows(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment,
                                  const spec::EngineLimits& limits, const MemoryAccount& account) {
  std::vector<MemoryRow> rows;
  const auto add = [&](std::string name, Bytes bytes, Status status) {
    if (bytes.value != 0) rows.push_back({std::move(name), bytes, status});
  };
  const Weights held = weights(model, deployment);
  // The fraction is of what the driver's context leaves. Before 2026 graphs were captured, once the pool was there, from what lies outside.
  const Bytes usable = account.capacity - device.reserve.context;
  const Bytes outside = usable - rounded(static_cast<double>(usable.value) * limits.memory_fraction);
  add("outside the memory fraction", limits.before_2026 ? std::max(Bytes{}, outside - device.reserve.graphs) : outside,
      device.memory.origin.status);
  add("weights: attention", held.attention, model.origin.status);
  add("weights: feed-forward", held.feed_forward, model.origin.status);
  add("weights: experts", held.experts, model.origin.status);
  add("weights: embeddings, head and routers", held.vocabulary, model.origin.status);
  add("weights: encoders of other inputs", held.encoders, model.origin.status);
  add("table of positions", held.positions, model.origin.status);
  rows.push_back(activation_row(model, deployment, limits));
  add("driver context and kernels", device.reserve.context, device.reserve.origin.status);
  if (deployment.ranks() > 1) add("communication buffers", device.reserve.communication, device.reserve.origin.status);
  add("captured graphs", device.reserve.graphs, device.reserve.origin.status);
  add("window and recurrent state of " + std::to_string(limits.sequences) + " sequences", account.per_sequence * limits.sequences,
      model.origin.status);
  return rows;
}

}  // namespace

Bytes weights_per_rank(const spec::Model& model, const spec::Deployment& deployment) { return weights(model, deployment).total(); }

Bytes kv_per_token(const spec::Model& model, const spec::Deployment& deployment) { return rounded(growing_per_token(model, deployment)); }

MemoryAccount account(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment,
                      const spec::EngineLimits& limits) {
  check(limits.block >= 1 && limits.batch_tokens >= 1 && limits.sequences >= 1, "engine limits below one");
  MemoryAccount account;
  account.capacity = device.memory.capacity;
  account.block = limits.block;
  account.max_length = limits.max_length > 0 ? limits.max_length : model.max_length;
  account.per_token = kv_per_token(model, deployment);
  account.per_block = rounded(growing_per_token(model, deployment) * static_cast<double>(limits.block));
  account.per_sequence = per_sequence(model, deployment, account.max_length);
  account.rows = fixed_rows(model, device, deployment, limits, account);
  Bytes left = account.capacity;
  for (const MemoryRow& row : account.rows) left -= row.bytes;

  // A model all of whose KV is windowed has blocks of no bytes; it is then bounded by its sequences alone.
  const std::int64_t needed = (account.max_length + account.block - 1) / account.block + 1;
  const std::int64_t room =
      account.per_block.value == 0 ? limits.sequences * needed : std::max<std::int64_t>(0, left.value) / account.per_block.value;
  account.blocks = limits.blocks.value_or(room);
  account.tokens = std::max<std::int64_t>(0, account.blocks - 1) * account.block;
  account.longest = std::min(account.tokens, account.max_length);
  if (account.blocks > 0)
    account.rows.push_back({"KV, " + std::to_string(account.blocks) + " blocks of " + std::to_string(account.block) + " tokens",
                            account.per_block * account.blocks, limits.blocks ? Status::assumed : device.memory.origin.status, true});
  const Bytes rest = left - account.per_block * account.blocks;
  if (rest.value != 0) account.rows.push_back({rest.value > 0 ? "left over" : "short of", rest, Status::assumed});
  // The null block is never handed out, so it is not enough to have as many blocks as the sequence.
  if (account.blocks < needed) account.missing = account.per_block * needed - (limits.blocks ? account.per_block * account.blocks : left);
  return account;
}

}  // namespace marea::cost
