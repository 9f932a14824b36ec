// The loop over the cases and the sharing of its time.
#include "kernels/campaign.h"

#include <fmt/format.h>

#include <algorithm>

namespace marea::probe {

namespace {

// A case may take its part of the time left, and a little more, as many take less.
constexpr double kLeastSeconds = 0.03;
constexpr double kMostSeconds = 4;
constexpr double kShare = 1.5;

class Campaign {
 public:
  Campaign(Backend& backend, const Plan& plan, Table* table, const std::function<double()>& clock, const Say& say)
      : backend_(backend), plan_(plan), table_(table), clock_(clock), say_(say), begin_(clock()) {}

  Outcome run() {
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
      const Case& one = plan_.cases[i];
      const double left = plan_.budget - (clock_() - begin_);
      if (left <= 0) {
        out_.unreached = static_cast<int>(plan_.cases.size() - i);
        break;
      }
      place_ = fmt::format("[{}/{}] {}", i + 1, plan_.cases.size(), describe(one));
      seconds_ = std::clamp(kShare * left / static_cast<double>(plan_.cases.size() - i), kLeastSeconds, kMostSeconds);
      if (table_ != nullptr && table_->has(plan_.device, backend_.source(one), one))
        ++out_.held;
      else
        attempt(one);
    }
    return out_;
  }

 private:
  void attempt(const Case& one) {
    try {
      const std::unique_ptr<Kernel> kernel = backend_.prepare(one, plan_.seed);
      if (right(one, *kernel) && table_ != nullptr) time(one, *kernel);
    } catch (const Unsupported& reason) {
      out_.unsupported.push_back({one, reason.what()});
      say_(fmt::format("{}: skipped: {}", place_, reason.what()));
    }
  }

  bool right(const Case& one, Kernel& kernel) {
    kernel.poison();
    kernel.run();
    const double error = kernel.error();
    const bool good = error <= kernel.tolerance();  // false for NaN
    const std::string words = fmt::format("relative error {:.2g}, at most {:.2g} is right", error, kernel.tolerance());
    if (!good) out_.wrong.push_back({one, words});
    if (!good || table_ == nullptr) say_(fmt::format("{}: {}{}", place_, good ? "" : "WRONG: ", words));
    return good;
  }

  void time(const Case& one, Kernel& kernel) {
    Rule rule = plan_.rule;
    rule.seconds = seconds_;
    const Measurement time = measure([&] { return kernel.sample(); }, rule, clock_);
    if (time.samples == 0) {
      out_.throttled.push_back({one, fmt::format("all of {} samples were throttled", time.dropped)});
      say_(fmt::format("{}: {}", place_, out_.throttled.back().why));
      return;
    }
    table_->write(plan_.device, backend_.source(one), one, time);
    out_.measured.push_back(one);
    say_(fmt::format("{}: {:.2f} us +- {:.1f} %, {} samples{}", place_, time.median * 1e6, time.noise * 100, time.samples,
                     time.dropped > 0 ? fmt::format(", {} throttled ones dropped", time.dropped) : ""));
  }

  Backend& backend_;
  const Plan& plan_;
  Table* table_;
  const std::function<double()>& clock_;
  const Say& say_;
  double begin_;
  std::string place_;
  double seconds_ = 0;  // for the case at hand
  Outcome out_;
};

}  // namespace

Outcome perform(Backend& backend, const Plan& plan, Table* table, const std::function<double()>& clock, const Say& say) {
  return Campaign(backend, plan, table, clock, say).run();
}

}  // namespace marea::probe
