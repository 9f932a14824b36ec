// Reading a model, its parameters and its KV bytes from the shape.
#include "sim/spec/model.h"

namespace marea::spec {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 32;  // far above any shape, far below overflow of a product of two

std::int64_t count(Section& section, std::string_view key, std::int64_t least = 1) { return section.required(key).integer(least, kMost); }

std::int64_t count_or(Section& section, std::string_view key, std::int64_t otherwise, std::int64_t least = 0) {
  const std::optional<Value> value = section.optional(key);
  return value ? value->integer(least, kMost) : otherwise;
}

void read_grouped(Section& section, Attention& attention) {
  attention.kv_heads = count(section, "kv_heads");
  attention.head_dim = count(section, "head_dim");
  if (attention.heads % attention.kv_heads != 0)
    section.fail(std::to_string(attention.heads) + " query heads do not divide over " + std::to_string(attention.kv_heads) +
                 " KV heads; `heads` is a multiple of `kv_heads`");
}

void read_latent(const Value& value, Attention& attention) {
  Section section(value);
  attention.kind = AttentionKind::latent;
  attention.query_rank = count_or(section, "query_rank", 0);
  attention.latent = count(section, "rank");
  attention.rope_dim = count(section, "rope_dim", 0);
  attention.nope_dim = count(section, "nope_dim");
  attention.value_dim = count(section, "value_dim");
  section.close();
}

void read_layer_sorts(Section& section, Attention& attention) {
  if (const std::optional<Value> windowed = section.optional("windowed")) {
    Section block(*windowed);
    attention.windowed_layers = count(block, "layers");
    attention.window = block.required("window").tokens(Tokens{1}).value;
    block.close();
  }
  if (const std::optional<Value> sparse = section.optional("sparse")) {
    Section block(*sparse);
    if (attention.windowed_layers > 0) block.fail("a model has windowed or sparse layers, not both; leave one of them out");
    attention.sparse_layers = count(block, "layers");
    attention.sparse_keys = block.required("keys").tokens(Tokens{1}).value;
    attention.index_layers = count_or(block, "index_layers", attention.sparse_layers);
    if (attention.index_layers > attention.sparse_layers)
      block.fail("more layers with an index than the " + std::to_string(attention.sparse_layers) + " sparse ones");
    attention.index_per_token = block.required("index").bytes();
    attention.index_heads = count_or(block, "index_heads", 0);
    attention.index_dim = count_or(block, "index_dim", 0);
    block.close();
  }
  if (attention.full_layers() < 0)
    section.fail("more windowed or sparse layers than the " + std::to_string(attention.layers) + " layers with attention");
}

Attention read_attention(const Value& value, std::int64_t layers) {
  Section section(value);
  Attention attention;
  attention.layers = count_or(section, "layers", layers);
  if (attention.layers > layers) section.fail("more layers with attention than the " + std::to_string(layers) + " of the model");
  attention.heads = count(section, "heads");
  if (const std::optional<Value> kept = section.optional("sixteen_bit")) attention.sixteen_bit = kept->boolean();
  if (const std::optional<Value> latent = section.optional("latent"))
    read_latent(*latent, attention);
  else
    read_grouped(section, attention);
  read_layer_sorts(section, attention);
  section.close();
  return attention;
}

FeedForward read_feed_forward(const Value& value, std::int64_t layers) {
  Section section(value);
  FeedForward result;
  result.layers = count_or(section, "layers", layers);
  result.width = count(section, "width");
  result.matrices = section.has("matrices") ? section.required("matrices").integer(2, 3) : 3;
  section.close();
  return result;
}

Experts read_experts(const Value& value) {
  Section section(value);
  Experts result;
  result.layers = count(section, "layers");
  result.count = count(section, "count");
  result.per_token = section.required("per_token").integer(1, result.count);
  result.width = count(section, "width");
  result.shared_width = count_or(section, "shared_width", 0);
  section.close();
  return result;
}

Recurrent read_recurrent(const Value& value) {
  Section section(value);
  Recurrent result;
  result.layers = count(section, "layers");
  result.state = section.required("state").bytes();
  result.parameters = count(section, "parameters", 0);
  section.close();
  return result;
}

std::int64_t attention_parameters_per_layer(const Model& model) {
  const Attention& a = model.attention;
  const std::int64_t h = model.hidden;
  if (a.kind == AttentionKind::grouped) return 2 * h * a.heads * a.head_dim + 2 * h * a.kv_heads * a.head_dim;
  const std::int64_t query_width = a.heads * (a.nope_dim + a.rope_dim);
  const std::int64_t query = a.query_rank > 0 ? h * a.query_rank + a.query_rank * query_width : h * query_width;
  return query + h * (a.latent + a.rope_dim) + a.latent * a.heads * (a.nope_dim + a.value_dim) + a.heads * a.value_dim * h;
}

// The index queries come from the compressed query, keys and head weights from the hidden state.
std::int64_t index_parameters_per_layer(const Model& model) {
  const Attention& a = model.attention;
  if (a.kind == AttentionKind::grouped) return 0;
  return a.query_rank * a.index_heads * a.index_dim + model.hidden * (a.index_heads + a.index_dim);
}

double kv_numbers_per_layer(const Attention& a) {
  return static_cast<double>(a.kind == AttentionKind::grouped ? 2 * a.kv_heads * a.head_dim : a.latent + a.rope_dim);
}

}  // namespace

Model read_model(const Value& value) {
  Section section(value);
  const Sources sources(section);
  Model model;
  model.name = section.required("name").text();
  if (const std::optional<Value> about = section.optional("about")) model.about = about->text();
  model.layers = section.required("layers").integer(1, 1'000'000);
  model.hidden = count(section, "hidden");
  model.vocabulary = count(section, "vocabulary");
  if (const std::optional<Value> tied = section.optional("tied_embeddings")) model.tied_embeddings = tied->boolean();
  model.max_length = section.required("max_length").tokens(Tokens{1}).value;
  if (const std::optional<Value> published = section.optional("published_parameters"))
    model.published_parameters = published->number(0, 1e18);
  model.encoder_parameters = count_or(section, "encoder_parameters", 0);
  model.attention = read_attention(section.required("attention"), model.layers);
  if (const std::optional<Value> experts = section.optional("experts")) model.experts = read_experts(*experts);
  if (const std::optional<Value> recurrent = section.optional("recurrent")) model.recurrent = read_recurrent(*recurrent);
  const std::int64_t left = model.layers - (model.experts ? model.experts->layers : 0);
  if (const std::optional<Value> dense = section.optional("feed_forward")) model.feed_forward = read_feed_forward(*dense, left);
  if (!model.experts && model.feed_forward.layers == 0)
    section.fail("no `feed_forward` and no `experts`; a model has at least one of them");
  if (model.feed_forward.layers > left)
    section.fail("more dense and expert layers than the " + std::to_string(model.layers) + " of the model");
  if (model.attention.layers + model.recurrent.layers > model.layers)
    section.fail("more layers with attention and recurrent state than the " + std::to_string(model.layers) + " of the model");
  model.origin = sources.read(section);
  section.close();
  return model;
}

Parameters parameters(const Model& model) {
  Parameters result;
  result.embedding = model.vocabulary * model.hidden;
  result.head = model.tied_embeddings ? 0 : result.embedding;
  result.attention = model.attention.layers * attention_parameters_per_layer(model) +
                     model.attention.index_layers * index_parameters_per_layer(model) + model.recurrent.layers * model.recurrent.parameters;
  result.feed_forward = model.feed_forward.layers * model.feed_forward.matrices * model.hidden * model.feed_forward.width;
  if (model.experts) {
    const Experts& e = *model.experts;
    result.router = e.layers * model.hidden * e.count;
    result.feed_forward += e.layers * 3 * model.hidden * e.shared_width;
    result.experts = e.layers * e.count * 3 * model.hidden * e.width;
  }
  return result;
}

std::int64_t active_parameters(const Model& model) {
  const Parameters all = parameters(model);
  const std::int64_t chosen = model.experts ? all.experts / model.experts->count * model.experts->per_token : 0;
  return model.vocabulary * model.hidden + all.router + all.attention + all.feed_forward + chosen;
}

double kv_bytes_per_token(const Model& model, Format kv) {
  return static_cast<double>(model.attention.layers) * kv_numbers_per_layer(model.attention) * bytes_per_number(kv);
}

double growing_kv_bytes_per_token(const Model& model, Format kv) {
  return static_cast<double>(model.attention.layers - model.attention.windowed_layers) * kv_numbers_per_layer(model.attention) *
         bytes_per_number(kv);
}

}  // namespace marea::spec
