// Which formats and splits a deployment amounts to, and which are impossible.
#include "sim/spec/deployment.h"

#include <algorithm>

namespace marea::spec {

namespace {

// "1, 2, 4, 8": the numbers of ranks up to 64 over which every one of the counts divides.
std::string divisors(std::int64_t count) {
  std::string out;
  for (std::int64_t ranks = 1; ranks <= std::min<std::int64_t>(count, 64); ++ranks)
    if (count % ranks == 0) out.append(out.empty() ? "" : ", ").append(std::to_string(ranks));
  return out;
}

std::string does_not_split(std::string_view what, std::int64_t count, std::int64_t ranks) {
  return std::to_string(count) + " " + std::string(what) + " do not split over " + std::to_string(ranks) + " ranks; take " +
         divisors(count);
}

std::string refused_split(const Model& model, const Deployment& deployment) {
  const std::int64_t tensor = deployment.tensor;
  const Attention& attention = model.attention;
  if (attention.heads % tensor != 0) return does_not_split("query heads", attention.heads, tensor);
  if (attention.kind == AttentionKind::grouped && attention.kv_heads % tensor != 0 && tensor % attention.kv_heads != 0)
    return std::to_string(attention.kv_heads) + " KV heads neither split over nor repeat on " + std::to_string(tensor) +
           " ranks; take a divisor or a multiple of " + std::to_string(attention.kv_heads);
  if (model.feed_forward.layers > 0 && model.feed_forward.width % tensor != 0)
    return does_not_split("feed-forward columns", model.feed_forward.width, tensor);
  if (!model.experts) {
    if (deployment.data > 1) return "data ranks share experts, and this model has none; take several replicas instead";
    return deployment.expert_ranks == 1 ? "" : "a model without experts has no expert ranks; take 1";
  }
  if (deployment.ranks() % deployment.expert_ranks != 0) return does_not_split("ranks", deployment.ranks(), deployment.expert_ranks);
  if (model.experts->count % deployment.expert_ranks != 0) return does_not_split("experts", model.experts->count, deployment.expert_ranks);
  const std::int64_t split = deployment.ranks() / deployment.expert_ranks;
  if (model.experts->width % split != 0) return does_not_split("columns of an expert", model.experts->width, split);
  return "";
}

}  // namespace

Deployment deploy(const Model& model, Format weights, Format kv, std::int64_t tensor, std::int64_t expert_ranks, std::int64_t data) {
  Deployment deployment;
  const bool kept = model.attention.sixteen_bit || (model.experts && is_four_bit(weights));
  deployment.attention_weights = kept && bytes_per_number(weights) < 2 ? Format::bf16 : weights;
  deployment.feed_forward_weights = weights;
  deployment.expert_weights = weights;
  deployment.kv = kv;
  deployment.tensor = tensor;
  deployment.expert_ranks = expert_ranks;
  deployment.data = data;
  return deployment;
}

std::string refusal(const Model& model, const Device& device, const Deployment& deployment) {
  check(deployment.tensor >= 1 && deployment.data >= 1 && deployment.expert_ranks >= 1, "a deployment without ranks");
  if (std::string split = refused_split(model, deployment); !split.empty()) return split;
  const StepCosts& costs = device.costs;
  const bool latent = model.attention.kind == AttentionKind::latent;
  const auto& decode = latent ? costs.decode_latent : costs.decode_attention;
  const auto& prefill = latent ? costs.prefill_latent : costs.prefill_attention;
  if (!decode[at(deployment.kv)] || !prefill[at(deployment.kv)]) {
    std::string known;
    for (const Format format : kAllFormats)
      if (decode[at(format)] && prefill[at(format)]) known.append(known.empty() ? "" : ", ").append(name(format));
    return device.name + " has no attention costs for KV in " + std::string(name(deployment.kv)) +
           (known.empty() ? " nor in any other format" : "; take " + known);
  }
  if (model.experts && !costs.experts[at(deployment.expert_weights)] && !costs.experts[at(Format::bf16)])
    return device.name + " has no costs of expert layers";
  if (deployment.ranks() > 1 && (costs.all_reduce.empty() || costs.all_reduce.back().ranks < deployment.ranks()))
    return device.name + " has no all-reduce costs for " + std::to_string(deployment.ranks()) + " ranks; take at most " +
           std::to_string(costs.all_reduce.empty() ? 1 : costs.all_reduce.back().ranks);
  return "";
}

std::int64_t kv_heads_per_rank(const Model& model, std::int64_t tensor) {
  return model.attention.kind == AttentionKind::latent ? 1 : std::max<std::int64_t>(1, model.attention.kv_heads / tensor);
}

Targets read_targets(const Value& value) {
  Section section(value);
  Targets targets;
  const auto duration = [&](std::string_view key) -> std::optional<Duration> {
    const std::optional<Value> given = section.optional(key);
    if (!given) return std::nullopt;
    return given->duration(Duration{1});
  };
  targets.ttft = duration("ttft");
  targets.tpot = duration("tpot");
  targets.resume = duration("resume");
  if (const std::optional<Value> attainment = section.optional("attainment")) targets.attainment = attainment->fraction();
  section.close();
  return targets;
}

}  // namespace marea::spec
