// Which steps lie outside what was fitted: ranges with round numbers, checked by hand.
#include <doctest/doctest.h>

#include "sim/cost/fitted_range.h"

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
