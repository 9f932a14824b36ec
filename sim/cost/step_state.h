// What StepCost keeps: the model's work per layer on one rank, and what has been priced before. Private to sim/cost.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "sim/cost/laws.h"
#include "sim/cost/shapes.h"
#include "sim/cost/step_cost.h"

namespace marea::cost {

// Parts of a step that depend on the number of tokens alone.
struct LinearParts {
  double dense = std::numeric_limits<double>::quiet_NaN();  // not priced yet
  double experts = 0;
  double small_kernels = 0;
  double collectives = 0;
  std::array<double, spec::kStatuses> status{};
  double total() const { return dense + experts + small_kernels + collectives; }
};

struct StepCost::State {
  State(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment, const spec::HostCost& host,
        std::int64_t batch_tokens);

  // The pieces of a price. Together: device = on_device(sums) + growth.at(...), then with_host().
  double on_device(const StepSums& sums);  // all but what grows with the contexts of decodes
  double host_time(const StepSums& sums) const {
    return host_captured + (sums.prefill_sequences > 0 ? host_eager : 0) +
           host.prompt_token.count() * static_cast<double>(sums.prefill_tokens) +
           host.sequence.count() * static_cast<double>(sums.decode_sequences + sums.prefill_sequences) +
           host.admission.count() * static_cast<double>(sums.admissions);
  }
  const LinearParts& linear(std::int64_t tokens);
  double head(std::int64_t rows);  // product of the output head, and sampling
  double prefill(const StepSums& sums) const;
  double decode_fixed(double sequences) const;

  spec::Deployment deployment;
  spec::HostCost host;
  double host_captured = 0;  // a step
  double host_eager = 0;     // more, where the step holds prompt chunks
  spec::DecodeAttentionCost decode;
  DecodeGrowth growth;
  double linear_total(std::int64_t tokens) {
    const double known = linear_total_[static_cast<std::size_t>(tokens)];
    return std::isnan(known) ? linear_total_[static_cast<std::size_t>(tokens)] = linear(tokens).total() : known;
  }
  spec::Status prefill_status() const { return prefill_.origin.status; }
  double head_gemm(double rows) const;
  double sampling(double rows) const;
  spec::Status head_status() const { return head_product_.cost.origin.status; }
  spec::Status sampler_status() const { return sampler_.origin.status; }

 private:
  LinearParts price_linear(double tokens) const;
  void add_dense(double tokens, LinearParts& parts) const;
  void add_experts(double tokens, LinearParts& parts) const;
  void set_attention(const spec::Model& model, const spec::Device& device);
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

  spec::AllReduceCost all_reduce_;
  double reductions_ = 0;  // a step
  double payload_ = 0;     // bytes a token

  Machine attention_machine_;
  spec::PrefillAttentionCost prefill_;
  PrefillShape prefill_shape_;
  double full_layers_ = 0;
  double limited_layers_ = 0;  // by a window or a choice of keys
  double key_limit_ = 0;
  bool windowed_ = false;
  double index_layers_ = 0;
  double index_pair_rate_ = 0;  // seconds a query-key pair, all sparse layers

  std::vector<double> linear_total_;
  std::vector<LinearParts> linear_parts_;
  std::vector<double> head_seconds_;
};

}  // namespace marea::cost
