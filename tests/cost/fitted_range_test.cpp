// Which steps lie outside what was fitted: ranges with round numbers, checked by hand.
#include <doctest/doctest.h>

#include "sim/cost/fitted_range.h"
#include "sim/cost/step_cost.h"
#include "tests/support/catalogue.h"

using namespace marea;
using cost::Beyond;
using cost::FittedRange;

namespace {

bool is(const std::array<bool, cost::kBeyond>& beyond, Beyond what) { return beyond[static_cast<std::size_t>(what)]; }

}  // namespace

TEST_CASE("a step is outside in the respects that leave a range, and in no other") {
  FittedRange range;
  FittedRange::narrow(range.tokens, {8, 1000});
  FittedRange::narrow(range.tokens, {1, 500});  // another law saw less: 8 to 500 is left
  FittedRange::narrow(range.sequences, {1, 100});
  FittedRange::narrow(range.context, {16, 4000});
  FittedRange::narrow(range.prompt, {1, 2000});
  cost::StepSums decodes;
  decodes.tokens = decodes.decode_sequences = 100;
  decodes.decode_context = 100 * 4000;
  CHECK(range.beyond(decodes) == std::array<bool, cost::kBeyond>{});
  ++decodes.decode_context;  // a mean above 4000
  CHECK(is(range.beyond(decodes), Beyond::context));
  CHECK_FALSE(is(range.beyond(decodes), Beyond::sequences));
  decodes.tokens = decodes.decode_sequences = 101;
  CHECK(is(range.beyond(decodes), Beyond::sequences));
  decodes.tokens = decodes.decode_sequences = 7;
  decodes.decode_context = 700;
  CHECK(is(range.beyond(decodes), Beyond::tokens));
  cost::StepSums prompt;
  prompt.tokens = prompt.prefill_tokens = 501;
  prompt.prefill_sequences = 1;
  prompt.longest_prefill = 2000;
  CHECK(is(range.beyond(prompt), Beyond::tokens));
  CHECK_FALSE(is(range.beyond(prompt), Beyond::context));
  prompt.longest_prefill = 2001;
  CHECK(is(range.beyond(prompt), Beyond::context));
}

TEST_CASE("a shape outside its fit makes every step one outside; a law without a fit asks for nothing") {
  FittedRange range;
  cost::StepSums sums;
  sums.tokens = sums.decode_sequences = 1'000'000;
  sums.decode_context = 1'000'000'000'000;
  CHECK(range.beyond(sums) == std::array<bool, cost::kBeyond>{});
  range.require({1024, 65536}, 1024);
  CHECK_FALSE(is(range.beyond(sums), Beyond::shape));
  range.require({1024, 65536}, 512);
  CHECK(is(range.beyond(sums), Beyond::shape));
}

TEST_CASE("a prompt after a cached prefix is outside of a fit that saw none, one that starts a context is not") {
  FittedRange range;
  FittedRange::narrow(range.prefix, {0, 0});
  cost::StepSums prompt;
  prompt.tokens = prompt.prefill_tokens = prompt.longest_prefill = 100;
  prompt.prefill_sequences = 1;
  prompt.prefill_pairs = 100 * 101 / 2.0;
  CHECK(range.beyond(prompt) == std::array<bool, cost::kBeyond>{});
  // Two chunks of 50 that start their contexts have fewer pairs still.
  prompt.prefill_sequences = 2;
  prompt.longest_prefill = 50;
  prompt.prefill_pairs = 2 * 50 * 51 / 2.0;
  CHECK_FALSE(is(range.beyond(prompt), Beyond::prefix));
  // Each after 60 cached tokens: 50 x 60 pairs more, more than one chunk of 100 could have.
  prompt.longest_prefill = 110;
  prompt.prefill_pairs += 2 * 50 * 60;
  CHECK(is(range.beyond(prompt), Beyond::prefix));
  FittedRange::narrow(range.context, {0, 10});
  CHECK_FALSE(is(range.beyond(prompt), Beyond::context));  // that of decodes is not asked
  FittedRange wide;
  FittedRange::narrow(wide.prefix, {0, 128});
  CHECK_FALSE(is(wide.beyond(prompt), Beyond::prefix));
}

TEST_CASE("ranks that no table covers make every step one outside") {
  const auto outside = [](const spec::Device& device, std::int64_t tensor, std::int64_t expert_ranks) {
    const spec::Model model = test::model("qwen3-30b-a3b");
    spec::Deployment deployment = spec::deploy(model, spec::Format::fp8, spec::Format::bf16, tensor, expert_ranks);
    cost::StepCost cost(model, device, deployment, test::host("vllm"), 2048);
    cost::StepSums sums;
    sums.tokens = sums.decode_sequences = sums.sampled = 32;
    sums.decode_context = sums.decode_windowed = 32 * 1000;
    return is(cost.beyond(sums), Beyond::ranks);
  };
  spec::Device device = test::device("h100-sxm");
  CHECK_FALSE(outside(device, 1, 1));
  CHECK_FALSE(outside(device, 4, 4));
  std::erase_if(device.costs.all_reduce, [](const spec::AllReduceCost& cost) { return cost.ranks == 4; });
  CHECK(outside(device, 4, 4));  // priced as of eight
  device = test::device("h100-sxm");
  device.costs.experts[spec::at(spec::Format::fp8)]->fit.ranges[static_cast<std::size_t>(spec::Extent::expert_ranks)] = {1, 2};
  CHECK(outside(device, 4, 4));
  CHECK_FALSE(outside(device, 4, 1));
}
