// Composition of a step from the laws.
#include "sim/cost/step_cost.h"

#include "sim/cost/step_state.h"

namespace marea::cost {

namespace {

constexpr double kNotPriced = std::numeric_limits<double>::quiet_NaN();

double real(std::int64_t count) { return static_cast<double>(count); }

}  // namespace

std::string_view name(Component component) {
  static constexpr std::array<std::string_view, kComponents> names{"dense",       "experts", "prefill attention", "decode attention",
                                                                   "collectives", "head",    "small kernels",     "host"};
  return names[static_cast<std::size_t>(component)];
}

Seconds Breakdown::total() const {
  Seconds sum{};
  for (const Seconds part : component) sum += part;
  return sum;
}

StepCost::State::State(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment_,
                       const spec::HostCost& host_, std::int64_t batch_tokens)
    : deployment(deployment_), host(host_), sampler_(device.costs.sampler), small_cost_(device.costs.small_kernels) {
  check(batch_tokens >= 1, "a step of no tokens at most");
  check(spec::refusal(model, device, deployment).empty(), "a step cost for a deployment that is refused");
  host_captured = host.step.count() + host.layer.count() * real(model.layers);
  host_eager = host.eager.count() + host.eager_layer.count() * real(model.layers);
  layers_ = real(model.layers);
  for (const Matrix& matrix : matrices(model, deployment)) {
    const spec::GemmCost cost = device.gemm(matrix.format);
    products_.push_back(
        {cost, machine(device, cost.math), real(matrix.k), real(matrix.n), real(matrix.layers), spec::bytes_per_number(matrix.format)});
    FittedRange::narrow(range.tokens, cost.fit.range(spec::Extent::m));
    range.require(cost.fit.range(spec::Extent::k), real(matrix.k));
    range.require(cost.fit.range(spec::Extent::n), real(matrix.n));
  }
  const spec::GemmCost head_cost = device.gemm(spec::Format::bf16);
  head_product_ = {head_cost, machine(device, head_cost.math),           real(model.hidden), real(vocabulary_per_rank(model, deployment)),
                   1,         spec::bytes_per_number(spec::Format::bf16)};
  set_attention(model, device);
  set_experts(model, device);
  set_small_kernels(model);
  set_collectives(model, device);
  most_tokens_ = batch_tokens;
  per_rank_.size(static_cast<std::size_t>(batch_tokens));
  shared_.size(static_cast<std::size_t>(batch_tokens));
  head_seconds_.assign(static_cast<std::size_t>(batch_tokens) + 1, kNotPriced);
}

Machine StepCost::State::machine(const spec::Device& device, spec::Format math) const {
  return {device.peak(math).value, device.memory.bandwidth.value, real(device.compute.units)};
}

void StepCost::State::set_attention(const spec::Model& model, const spec::Device& device) {
  const spec::Attention& a = model.attention;
  const bool latent = a.kind == spec::AttentionKind::latent;
  const auto kv = static_cast<std::size_t>(deployment.kv == spec::Format::fp16 ? spec::Format::bf16 : deployment.kv);
  const double bytes = spec::bytes_per_number(deployment.kv);
  const double heads = real(a.heads / deployment.tensor);
  attention_machine_ = machine(device, spec::Format::bf16);
  decode = latent ? *device.costs.decode_latent[kv] : *device.costs.decode_attention[kv];
  prefill_ = latent ? *device.costs.prefill_latent[kv] : *device.costs.prefill_attention[kv];
  DecodeShape shape;
  if (latent) {
    // Decoding absorbs the expansion into the query: one latent vector is read for all heads (scores over latent + rope, values over
    // latent). Prefill expands keys and values: nope + rope numbers for scores, value_dim for outputs.
    shape = {heads, 1, 128, real(a.latent + a.rope_dim) * bytes, 2 * real(2 * a.latent + a.rope_dim)};
    prefill_shape_ = {heads, heads, real(a.nope_dim + a.rope_dim + a.value_dim) / 2};
  } else {
    const double kv_heads = real(spec::kv_heads_per_rank(model, deployment.tensor));
    shape = {heads, kv_heads, real(a.head_dim), 2 * kv_heads * real(a.head_dim) * bytes, 4 * real(a.head_dim)};
    prefill_shape_ = {heads, kv_heads, real(a.head_dim)};
  }
  full_layers_ = real(a.full_layers());
  limited_layers_ = real(a.windowed_layers + a.sparse_layers);
  key_limit_ = real(a.key_limit());
  windowed_ = a.windowed_layers > 0;
  growth.law = growth.limited = decode_law(decode, attention_machine_, shape);
  growth.layers = full_layers_;
  growth.limited_layers = limited_layers_;
  if (a.sparse_layers > 0) set_sparse(model, device, shape);
  const spec::FitRecord& seen = sparse_decode_ ? sparse_decode_->fit : decode.fit;
  const spec::FitRecord& prompts = sparse_prefill_ ? sparse_prefill_->fit : prefill_.fit;
  FittedRange::narrow(range.sequences, seen.range(spec::Extent::batch));
  FittedRange::narrow(range.context, seen.range(spec::Extent::context));
  FittedRange::narrow(range.prompt, prompts.range(spec::Extent::tokens));
  FittedRange::narrow(range.prefix, prompts.range(spec::Extent::context));
  range.require(seen.range(spec::Extent::heads), heads);
  if (!latent) range.require(seen.range(spec::Extent::head_dim), real(a.head_dim));
}

// Where no law of sparse attention was fitted, chosen keys are read as all keys are, the index is scanned at the same rate, and its scores
// are multiplied as those of attention.
void StepCost::State::set_sparse(const spec::Model& model, const spec::Device& device, const DecodeShape& shape) {
  const spec::Attention& a = model.attention;
  const auto kv = static_cast<std::size_t>(deployment.kv == spec::Format::fp16 ? spec::Format::bf16 : deployment.kv);
  const bool latent = a.kind == spec::AttentionKind::latent;
  index_layers_ = real(a.index_layers);
  const double entry = index_layers_ > 0 ? real(a.index_per_token.value) / index_layers_ : 0;
  const SparseShape sparse{shape.heads, shape.key_bytes, shape.key_flops, real(a.index_heads), real(a.index_dim), entry};
  const double index_peak =
      device.compute.peak[spec::at(spec::Format::fp8)] ? device.peak(spec::Format::fp8).value : attention_machine_.peak;
  if (latent && device.costs.decode_sparse[kv]) {
    sparse_decode_ = device.costs.decode_sparse[kv];
    const SparseLaw law = sparse_law(*sparse_decode_, attention_machine_, index_peak, sparse);
    growth.limited = {law.floor, law.key, law.query + index_layers_ / limited_layers_ * law.index_query, 0, 0};
    growth.scan = index_layers_ * law.index_key;
    index_decode_floor_ = law.index_floor;
  } else {
    growth.scan = real(a.index_per_token.value) / (decode.memory_efficiency * attention_machine_.bandwidth);
    index_decode_floor_ = decode.floor.count();
  }
  if (latent && device.costs.prefill_sparse[kv]) {
    sparse_prefill_ = device.costs.prefill_sparse[kv];
    sparse_prompts_ = sparse_law(*sparse_prefill_, attention_machine_, index_peak, sparse);
  } else {
    sparse_prompts_.index_floor = prefill_.floor.count();
    sparse_prompts_.index_key = 2 * real(a.index_heads * a.index_dim) / (prefill_.compute_efficiency * attention_machine_.peak);
  }
}

void StepCost::State::set_experts(const spec::Model& model, const spec::Device& device) {
  if (!model.experts) return;
  experts_cost_ = device.experts(deployment.expert_weights);
  experts_machine_ = machine(device, experts_cost_.math);
  expert_layers_ = real(model.experts->layers);
  const ExpertsPerRank own = experts_per_rank(model, deployment);
  FittedRange::narrow(range.tokens, experts_cost_.fit.range(spec::Extent::tokens));
  range.require(experts_cost_.fit.range(spec::Extent::hidden), real(model.hidden));
  range.require(experts_cost_.fit.range(spec::Extent::width), real(own.width));
  range.require(experts_cost_.fit.range(spec::Extent::experts), real(model.experts->count));
  range.require(experts_cost_.fit.range(spec::Extent::chosen), real(model.experts->per_token));
  range.ranks = range.ranks && experts_cost_.fit.range(spec::Extent::expert_ranks).holds(real(deployment.expert_ranks));
  expert_shape_ = {real(model.hidden),         real(own.width), 0, 0, spec::bytes_per_number(deployment.expert_weights),
                   deployment.expert_ranks > 1};
  const std::vector<double> chosen =
      choice_probabilities(static_cast<std::size_t>(model.experts->count), real(model.experts->per_token), device.costs.routing_skew);
  chosen_ = busiest_rank(chosen, static_cast<std::size_t>(deployment.expert_ranks));
  for (const double p : chosen_) rows_per_token_ += p;
}

// Bytes of a token in one layer: 2 * (10 hidden + 3 feed-forward + 2 query width). Expert layers activate inside their own kernels.
void StepCost::State::set_small_kernels(const spec::Model& model) {
  const spec::Attention& a = model.attention;
  const std::int64_t query_width =
      a.heads / deployment.tensor * (a.kind == spec::AttentionKind::latent ? a.nope_dim + a.rope_dim : a.head_dim);
  double numbers = 10 * real(model.layers * model.hidden) + 2 * real(a.layers * query_width);
  numbers += 3 * real(model.feed_forward.layers * (model.feed_forward.width / deployment.tensor));
  if (model.experts) numbers += 3 * real(model.experts->layers * (model.experts->shared_width / deployment.tensor));
  small_bytes_ = 2 * numbers;
}

// One reduction over the tensor ranks after each attention (or recurrent) block and one after each feed-forward or expert block. With data
// ranks the tokens of all are gathered before the experts and their sums scattered after them instead, over all ranks.
void StepCost::State::set_collectives(const spec::Model& model, const spec::Device& device) {
  payload_ = real(model.hidden) * 2;
  const auto over = [&](std::int64_t ranks) {
    spec::AllReduceCost found;
    for (const spec::AllReduceCost& cost : device.costs.all_reduce) {
      found = cost;
      if (cost.ranks >= ranks) break;
    }
    range.ranks = range.ranks && found.ranks == ranks;
    found.ranks = ranks;
    return found;
  };
  const std::int64_t expert_layers = model.experts ? model.experts->layers : 0;
  std::int64_t reductions = model.attention.layers + model.recurrent.layers + model.feed_forward.layers;
  if (deployment.data == 1) reductions += expert_layers;
  if (deployment.tensor > 1) {
    reductions_ = real(reductions);
    all_reduce_ = over(deployment.tensor);
  }
  if (deployment.data > 1) {
    gatherings_ = real(expert_layers);
    all_gather_ = over(deployment.ranks());
  }
}

void StepCost::State::add_dense(double tokens, LinearParts& parts) const {
  for (const Product& product : products_) {
    const double seconds = product.layers * gemm(product.cost, product.machine, tokens, product.k, product.n, product.weight_bytes);
    parts.dense += seconds;
    parts.status[static_cast<std::size_t>(product.cost.origin.status)] += seconds;
  }
}

void StepCost::State::add_experts(double tokens, LinearParts& parts) const {
  if (expert_layers_ <= 0) return;
  ExpertShape shape = expert_shape_;
  shape.rows = tokens * rows_per_token_;
  shape.touched = touched_experts(chosen_, tokens);
  parts.experts = expert_layers_ * experts(experts_cost_, experts_machine_, shape, tokens);
  parts.status[static_cast<std::size_t>(experts_cost_.origin.status)] += parts.experts;
}

void StepCost::State::add_reductions(double count, const spec::AllReduceCost& cost, double tokens, LinearParts& parts) const {
  if (count <= 0) return;
  parts.collectives = count * all_reduce(cost, tokens * payload_);
  parts.status[static_cast<std::size_t>(cost.origin.status)] += parts.collectives;
}

LinearParts StepCost::State::price_shared(double tokens) const {
  LinearParts parts;
  add_experts(tokens, parts);
  add_reductions(gatherings_, all_gather_, tokens, parts);
  return parts;
}

LinearParts StepCost::State::price_per_rank(double tokens) const {
  LinearParts parts;
  add_dense(tokens, parts);
  parts.small_kernels = layers_ * small_cost_.per_layer * small_cost_.floor.count() +
                        tokens * small_bytes_ / (small_cost_.memory_efficiency * attention_machine_.bandwidth);
  parts.status[static_cast<std::size_t>(small_cost_.origin.status)] += parts.small_kernels;
  add_reductions(reductions_, all_reduce_, tokens, parts);
  return parts;
}

double StepCost::State::head_gemm(double rows) const {
  const Product& p = head_product_;
  return rows > 0 ? gemm(p.cost, p.machine, rows, p.k, p.n, p.weight_bytes) : 0;
}

double StepCost::State::sampling(double rows) const { return rows > 0 ? sampler_.floor.count() + sampler_.per_row.count() * rows : 0; }

double StepCost::State::head(std::int64_t rows) {
  double& seconds = head_seconds_[static_cast<std::size_t>(rows)];
  if (std::isnan(seconds)) seconds = head_gemm(real(rows)) + sampling(real(rows));
  return seconds;
}

double StepCost::State::prefill(const StepSums& sums) const {
  if (sums.prefill_tokens <= 0) return 0;
  const double tokens = real(sums.prefill_tokens);
  const double longest = real(sums.longest_prefill);
  double seconds = 0;
  PrefillWork work{real(sums.prefill_sequences), tokens, sums.prefill_pairs, longest, false};
  if (full_layers_ > 0) seconds += full_layers_ * prefill_attention(prefill_, attention_machine_, prefill_shape_, work);
  if (sparse_prefill_) {
    seconds += limited_layers_ * (sparse_prompts_.floor + sparse_prompts_.attend(tokens, sums.prefill_windowed_pairs));
  } else if (limited_layers_ > 0) {
    work.pairs = sums.prefill_windowed_pairs;
    work.longest = longest < key_limit_ ? longest : key_limit_;
    work.windowed = windowed_;
    seconds += limited_layers_ * prefill_attention(prefill_, attention_machine_, prefill_shape_, work);
  }
  if (index_layers_ > 0) seconds += index_layers_ * (sparse_prompts_.index_floor + sparse_prompts_.choose(tokens, sums.prefill_pairs));
  return seconds;
}

double StepCost::State::decode_fixed(double sequences) const {
  if (sequences <= 0) return 0;
  return full_layers_ * growth.law.floor + limited_layers_ * growth.limited.floor + index_layers_ * index_decode_floor_;
}

double StepCost::State::on_device(const StepSums& own, const StepSums& sums) {
  check(sums.tokens <= most_tokens_ && sums.sampled >= 0 && sums.sampled <= most_tokens_,
        "a step with more tokens than its cost was made for");
  const double linear = per_rank_.total(own.tokens, [this](double count) { return price_per_rank(count); }) +
                        shared_.total(sums.tokens, [this](double count) { return price_shared(count); });
  return linear + head(own.sampled) + prefill(own) + decode_fixed(real(own.decode_sequences));
}

StepSums busiest_rank(const StepSums& sums, std::int64_t ranks) {
  const auto part = [ranks](std::int64_t count) { return (count + ranks - 1) / ranks; };
  StepSums own = sums;
  own.decode_sequences = part(sums.decode_sequences);
  own.prefill_sequences = part(sums.prefill_sequences);
  own.sampled = part(sums.sampled);
  if (sums.prefill_sequences > 0) {
    const double share = real(own.prefill_sequences) / real(sums.prefill_sequences);
    own.prefill_tokens = static_cast<std::int64_t>(std::ceil(share * real(sums.prefill_tokens)));
    own.prefill_pairs = share * sums.prefill_pairs;
    own.prefill_windowed_pairs = share * sums.prefill_windowed_pairs;
  }
  own.tokens = own.decode_sequences + own.prefill_tokens;
  return own;
}

StepCost::StepCost(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment, const spec::HostCost& host,
                   std::int64_t batch_tokens)
    : state_(std::make_unique<State>(model, device, deployment, host, batch_tokens)) {}
StepCost::~StepCost() = default;
StepCost::StepCost(StepCost&&) noexcept = default;

Seconds StepCost::price(const StepSums& sums) {
  if (sums.tokens <= 0) return Seconds{0};
  State& s = *state_;
  const StepSums own = s.own(sums);
  const double share = s.decode_share(own, sums);
  const double device = s.on_device(own, sums) +
                        s.growth.at(real(own.decode_sequences), share * real(sums.decode_context), share * real(sums.decode_windowed));
  return Seconds{with_host(device, s.host_time(own), s.host.overlaps)};
}

Breakdown StepCost::breakdown(const StepSums& sums) {
  Breakdown result;
  if (sums.tokens <= 0) return result;
  State& s = *state_;
  const StepSums own = s.own(sums);
  const double share = s.decode_share(own, sums);
  const double grown = s.growth.at(real(own.decode_sequences), share * real(sums.decode_context), share * real(sums.decode_windowed));
  const double on_device = s.on_device(own, sums) + grown;
  const auto add = [&](Component component, double seconds, spec::Status status) {
    result.component[static_cast<std::size_t>(component)] += Seconds{seconds};
    result.status[static_cast<std::size_t>(status)] += Seconds{seconds};
  };
  for (const LinearParts* parts : {&s.per_rank(own.tokens), &s.shared(sums.tokens)}) {
    for (std::size_t i = 0; i < result.status.size(); ++i) result.status[i] += Seconds{parts->status[i]};
    result.component[static_cast<std::size_t>(Component::dense)] += Seconds{parts->dense};
    result.component[static_cast<std::size_t>(Component::experts)] += Seconds{parts->experts};
    result.component[static_cast<std::size_t>(Component::small_kernels)] += Seconds{parts->small_kernels};
    result.component[static_cast<std::size_t>(Component::collectives)] += Seconds{parts->collectives};
  }
  add(Component::prefill_attention, s.prefill(own), s.prefill_status());
  add(Component::decode_attention, s.decode_fixed(real(own.decode_sequences)) + grown, s.decode_status());
  add(Component::head, s.head_gemm(real(own.sampled)), s.head_status());
  add(Component::head, s.sampling(real(own.sampled)), s.sampler_status());
  // Overlapping host time counts only as far as it lengthens the step.
  add(Component::host, with_host(on_device, s.host_time(own), s.host.overlaps) - on_device, s.host.origin.status);
  return result;
}

std::array<bool, kBeyond> StepCost::beyond(const StepSums& sums) const { return state_->range.beyond(state_->own(sums)); }

DecodeRun::DecodeRun(StepCost& cost, const StepSums& first, std::int64_t windowed_growth)
    : growth_(cost.state_->growth),
      context_(first.decode_context),
      windowed_(first.decode_windowed),
      context_growth_(first.decode_sequences),
      windowed_growth_(windowed_growth),
      overlaps_(cost.state_->host.overlaps) {
  check(first.tokens == first.decode_sequences && first.tokens > 0 && first.prefill_tokens == 0 && first.admissions == 0,
        "a run of decodes that holds something else");
  const StepSums own = cost.state_->own(first);
  sequences_ = real(own.decode_sequences);
  share_ = cost.state_->decode_share(own, first);
  fixed_ = cost.state_->on_device(own, first);
  host_ = cost.state_->host_time(own);
}

}  // namespace marea::cost
