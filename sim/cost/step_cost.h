// How long one engine step takes, priced from its sums: a roofline whose efficiencies ramp with size, plus collectives and host.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/base/time.h"
#include "sim/cost/fitted_range.h"
#include "sim/cost/laws.h"
#include "sim/cost/step.h"
#include "sim/spec/deployment.h"
#include "sim/spec/host.h"

namespace marea::cost {

enum class Component : std::uint8_t { dense, experts, prefill_attention, decode_attention, collectives, head, small_kernels, host };
inline constexpr int kComponents = 8;
std::string_view name(Component component);

// Seconds of one step by component, and the same seconds by how the coefficients behind them came to be. Both sum to the price (to
// rounding).
struct Breakdown {
  std::array<Seconds, kComponents> component{};
  std::array<Seconds, spec::kStatuses> status{};
  Seconds total() const;
};

// Prices the steps of replicas that are alike. Remembers what depends on the number of tokens alone, so one object serves one thread, and
// any number of replicas on it.
class StepCost {
 public:
  // `batch_tokens` bounds the tokens of a step. The deployment must not be refused (spec::refusal).
  StepCost(const spec::Model& model, const spec::Device& device, const spec::Deployment& deployment, const spec::HostCost& host,
           std::int64_t batch_tokens);
  ~StepCost();
  StepCost(StepCost&&) noexcept;
  StepCost(const StepCost&) = delete;

  // Time from the start of the step to its output. 0 <= sums.tokens <= batch_tokens; a step without tokens costs nothing.
  Seconds price(const StepSums& sums);
  Breakdown breakdown(const StepSums& sums);
  // In which respects the step lies outside what its coefficients were fitted on, by Beyond.
  std::array<bool, kBeyond> beyond(const StepSums& sums) const;

 private:
  friend class DecodeRun;
  struct State;
  std::unique_ptr<State> state_;
};

// Host time adds to the device's, or hides behind it.
inline double with_host(double device, double host, bool overlaps) { return overlaps ? (device > host ? device : host) : device + host; }

// Consecutive steps of the same decoding sequences, whose contexts grow by a token each. next() is bit-identical to price() of the same
// sums.
class DecodeRun {
 public:
  // `first` holds decodes alone, at least one. `windowed_growth` is what decode_windowed grows by in each step (sequences still below the
  // key limit; without a limit, all of them).
  DecodeRun(StepCost& cost, const StepSums& first, std::int64_t windowed_growth);
  // The price of the present step; moves on to the next.
  Seconds next() {
    const double device = fixed_ + growth_.at(sequences_, share_ * static_cast<double>(context_), share_ * static_cast<double>(windowed_));
    context_ += context_growth_;
    windowed_ += windowed_growth_;
    return Seconds{with_host(device, host_, overlaps_)};
  }

 private:
  DecodeGrowth growth_;
  std::int64_t context_;
  std::int64_t windowed_;
  std::int64_t context_growth_;
  std::int64_t windowed_growth_;
  double sequences_ = 0;  // of the busiest data rank
  double share_ = 1;      // of the contexts that it holds
  double fixed_ = 0;      // everything on the device that does not depend on the contexts
  double host_ = 0;
  bool overlaps_;
};

}  // namespace marea::cost
