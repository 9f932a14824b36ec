// What StepCost keeps: the model's work per layer on one rank, and what has been priced before. Private to sim/cost.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "sim/cost/laws.h"
#include "sim/cost/shapes.h"
#include "sim/cost/step_cost.h"

namespace marea::cost {

// Parts of a step that depend on a number of tokens alone: those of one data rank, or those of all of them.
struct LinearParts {
  double dense = 0;
  double experts = 0;
  double small_kernels = 0;
  double collectives = 0;
  std::array<double, spec::kStatuses> status{};
  bool priced = false;
  double total() const { return dense + experts + small_kernels + collectives; }
};

// Prices by number of tokens, made when first asked for.
class LinearTable {
 public:
  void size(std::size_t most) { totals_.assign(most + 1, std::numeric_limits<double>::quiet_NaN()); }
  // `price(tokens)` gives the parts.
  template <class Price>
  double total(std::int64_t tokens, const Price& price) {
    double& known = totals_[static_cast<std::size_t>(tokens)];
    return std::isnan(known) ? known = parts(tokens, price).total() : known;
  }
  template <class Price>
  const LinearParts& parts(std::int64_t tokens, const Price& price) {
    if (parts_.empty()) parts_.resize(totals_.size());
    LinearParts& known = parts_[static_cast<std::size_t>(tokens)];
    if (!known.priced) known = price(static_cast<double>(tokens));
    known.priced = true;
    return known;
  }

 private:
  std::vector<double> totals_;
  std::vector<LinearParts> parts_;
};

// What the busiest of several data ranks does in a step. Sequences are spread evenly, whole ones: of n, the busiest holds ceil(n / ranks),
// of the mean length. All ranks step together, so its time is the step's.
StepSums busiest_rank(const StepSums& sums, std::int64_t ranks);

struct StepCost::State {
  State(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment, const spec::HostCost& host,
        std::int64_t batch_tokens);

  // The pieces of a price. Together: device = on_device(sums) + growth.at(...), then with_host().
  // `own`: of the busiest data rank. `sums`: of all of them.
  double on_device(const StepSums& own, const StepSums& sums);  // all but what grows with the contexts of decodes
  StepSums own(const StepSums& sums) const { return deployment.data == 1 ? sums : busiest_rank(sums, deployment.data); }
  // Share of the decodes that the busiest data rank holds.
  double decode_share(const StepSums& own, const StepSums& sums) const {
    return sums.decode_sequences == own.decode_sequences
               ? 1.0
               : static_cast<double>(own.decode_sequences) / static_cast<double>(sums.decode_sequences);
  }
  double host_time(const StepSums& sums) const {
    return host_captured + (sums.prefill_sequences > 0 ? host_eager : 0) +
           host.prompt_token.count() * static_cast<double>(sums.prefill_tokens) +
           host.sequence.count() * static_cast<double>(sums.decode_sequences + sums.prefill_sequences) +
           host.admission.count() * static_cast<double>(sums.admissions);
  }
  const LinearParts& per_rank(std::int64_t tokens) {
    return per_rank_.parts(tokens, [this](double count) { return price_per_rank(count); });
  }
  const LinearParts& shared(std::int64_t tokens) {
    return shared_.parts(tokens, [this](double count) { return price_shared(count); });
  }
  double head(std::int64_t rows);  // product of the output head, and sampling
  double prefill(const StepSums& sums) const;
  double decode_fixed(double sequences) const;

  spec::Deployment deployment;
  spec::HostCost host;
  double host_captured = 0;  // a step
  double host_eager = 0;     // more, where the step holds prompt chunks
  FittedRange range;
  spec::DecodeAttentionCost decode;
  DecodeGrowth growth;
  spec::Status prefill_status() const { return sparse_prefill_ ? sparse_prefill_->origin.status : prefill_.origin.status; }
  spec::Status decode_status() const { return sparse_decode_ ? sparse_decode_->origin.status : decode.origin.status; }
  double head_gemm(double rows) const;
  double sampling(double rows) const;
  spec::Status head_status() const { return head_product_.cost.origin.status; }
  spec::Status sampler_status() const { return sampler_.origin.status; }

 private:
  LinearParts price_per_rank(double tokens) const;  // attention's products, small kernels, reductions over tensor ranks
  LinearParts price_shared(double tokens) const;    // experts, and bringing the tokens of all data ranks to them
  void add_reductions(double count, const spec::AllReduceCost& cost, double tokens, LinearParts& parts) const;
  void add_dense(double tokens, LinearParts& parts) const;
  void add_experts(double tokens, LinearParts& parts) const;
  void set_attention(const spec::Model& model, const spec::Device& device);
  void set_sparse(const spec::Model& model, const spec::Device& device, const DecodeShape& shape);
  void set_experts(const spec::Model& model, const spec::Device& device);
  void set_small_kernels(const spec::Model& model);
  void set_collectives(const spec::Model& model, const spec::Device& device);
  Machine machine(const spec::Device& device, spec::Format math) const;

  struct Product {
    spec::GemmCost cost;
    Machine machine;
    double k = 0, n = 0, layers = 0, weight_bytes = 0;
  };
  std::vector<Product> products_;
  Product head_product_;
  spec::SamplerCost sampler_;

  spec::ExpertsCost experts_cost_;
  Machine experts_machine_;
  ExpertShape expert_shape_;
  std::vector<double> chosen_;  // probability that a token chooses an expert, for those of the busiest rank
  double rows_per_token_ = 0;   // their sum
  double expert_layers_ = 0;

  spec::SmallKernelCost small_cost_;
  double small_bytes_ = 0;  // a token, all layers
  double layers_ = 0;

  spec::AllReduceCost all_reduce_;  // over tensor ranks
  double reductions_ = 0;           // a step
  spec::AllReduceCost all_gather_;  // over all ranks: gathering tokens for the experts and scattering their sums moves as much
  double gatherings_ = 0;           // a step
  double payload_ = 0;              // bytes a token

  Machine attention_machine_;
  spec::PrefillAttentionCost prefill_;
  PrefillShape prefill_shape_;
  double full_layers_ = 0;
  double limited_layers_ = 0;  // by a window or a choice of keys
  double key_limit_ = 0;
  bool windowed_ = false;
  double index_layers_ = 0;
  double index_decode_floor_ = 0;  // a layer
  std::optional<spec::SparseAttentionCost> sparse_decode_;
  std::optional<spec::SparseAttentionCost> sparse_prefill_;
  SparseLaw sparse_prompts_;  // without a cost of its own: the index alone

  LinearTable per_rank_;
  LinearTable shared_;
  std::int64_t most_tokens_ = 0;
  std::vector<double> head_seconds_;
};

}  // namespace marea::cost
