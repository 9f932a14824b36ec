// Splitting a model's matrices over tensor ranks.
#include "sim/cost/shapes.h"

namespace marea::cost {

namespace {

void add_grouped(const spec::Model& model, const spec::Deployment& deployment, std::vector<Matrix>& out) {
  const spec::Attention& a = model.attention;
  const std::int64_t queries = a.heads / deployment.tensor * a.head_dim;
  const std::int64_t keys = spec::kv_heads_per_rank(model, deployment.tensor) * a.head_dim;
  out.push_back({MatrixRole::attention, deployment.attention_weights, model.hidden, queries + 2 * keys, a.layers});
  out.push_back({MatrixRole::attention, deployment.attention_weights, queries, model.hidden, a.layers});
}

// The compressions into query and latent are repeated on every rank, like an index; what leads out of them is split by heads.
void add_latent(const spec::Model& model, const spec::Deployment& deployment, std::vector<Matrix>& out) {
  const spec::Attention& a = model.attention;
  const std::int64_t heads = a.heads / deployment.tensor;
  const std::int64_t query_width = heads * (a.nope_dim + a.rope_dim);
  const spec::Format format = deployment.attention_weights;
  if (a.query_rank > 0) {
    out.push_back({MatrixRole::attention, format, model.hidden, a.query_rank + a.latent + a.rope_dim, a.layers});
    out.push_back({MatrixRole::attention, format, a.query_rank, query_width, a.layers});
  } else {
    out.push_back({MatrixRole::attention, format, model.hidden, query_width + a.latent + a.rope_dim, a.layers});
  }
  out.push_back({MatrixRole::attention, format, a.latent, heads * (a.nope_dim + a.value_dim), a.layers});
  out.push_back({MatrixRole::attention, format, heads * a.value_dim, model.hidden, a.layers});
  if (a.index_layers == 0 || a.index_heads == 0 || a.query_rank == 0) return;
  out.push_back({MatrixRole::attention, format, a.query_rank, a.index_heads * a.index_dim, a.index_layers});
  out.push_back({MatrixRole::attention, format, model.hidden, a.index_heads + a.index_dim, a.index_layers});
}

// With a gate, gate and up are one matrix of twice the width.
void add_feed_forward(std::int64_t hidden, std::int64_t width, std::int64_t matrices, std::int64_t layers, spec::Format format,
                      std::vector<Matrix>& out) {
  out.push_back({MatrixRole::feed_forward, format, hidden, (matrices - 1) * width, layers});
  out.push_back({MatrixRole::feed_forward, format, width, hidden, layers});
}

}  // namespace

std::vector<Matrix> matrices(const spec::Model& model, const spec::Deployment& deployment) {
  std::vector<Matrix> out;
  if (model.attention.kind == spec::AttentionKind::grouped)
    add_grouped(model, deployment, out);
  else
    add_latent(model, deployment, out);
  if (model.recurrent.parameters > 0) {
    const std::int64_t columns = (model.recurrent.parameters / deployment.tensor + model.hidden - 1) / model.hidden;
    out.push_back({MatrixRole::attention, deployment.attention_weights, model.hidden, columns, model.recurrent.layers});
  }
  if (model.feed_forward.layers > 0)
    add_feed_forward(model.hidden, model.feed_forward.width / deployment.tensor, model.feed_forward.matrices, model.feed_forward.layers,
                     deployment.feed_forward_weights, out);
  if (model.experts) {
    out.push_back({MatrixRole::router, spec::Format::bf16, model.hidden, model.experts->count, model.experts->layers});
    if (model.experts->shared_width > 0)
      add_feed_forward(model.hidden, (model.experts->shared_width + deployment.tensor - 1) / deployment.tensor, 3, model.experts->layers,
                       deployment.feed_forward_weights, out);
  }
  return out;
}

ExpertsPerRank experts_per_rank(const spec::Model& model, const spec::Deployment& deployment) {
  if (!model.experts) return {};
  return {model.experts->count / deployment.expert_ranks, model.experts->width / (deployment.ranks() / deployment.expert_ranks)};
}

std::int64_t vocabulary_per_rank(const spec::Model& model, const spec::Deployment& deployment) {
  return (model.vocabulary + deployment.tensor - 1) / deployment.tensor;
}

}  // namespace marea::cost
