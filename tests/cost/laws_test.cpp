// The laws, against pencil and paper and against what must hold of any machine.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "sim/cost/laws.h"

using namespace marea;
using doctest::Approx;

namespace {

spec::GemmCost plain_gemm() {
  spec::GemmCost cost;
  cost.math = spec::Format::bf16;
  cost.compute_efficiency = 0.5;
  cost.memory_efficiency = 0.8;
  cost.norm = 4;
  return cost;
}

const cost::Machine kMachine{1e15, 4e12, 100};

}  // namespace

TEST_CASE("a product that is far on one side costs what that side costs") {
  const spec::GemmCost law = plain_gemm();
  // One row: 8192 x 8192 weights of 2 bytes at 0.8 x 4 TB/s = 41.9 us; the activations add 2 x 16 kB (rows in) and 2 x 8192 (rows out).
  const double bytes = 8192.0 * 8192 * 2 + 8192 * 2 + 2 * 8192;
  CHECK(cost::gemm(law, kMachine, 1, 8192, 8192, 2) == Approx(bytes / 3.2e12).epsilon(1e-4));
  // 65,536 rows: 2 m n k / (0.5 x 1 PFLOP/s).
  CHECK(cost::gemm(law, kMachine, 65536, 8192, 8192, 2) == Approx(2.0 * 65536 * 8192 * 8192 / 5e14).epsilon(1e-2));
  spec::GemmCost floored = law;
  floored.floor = Seconds{5e-6};
  CHECK(cost::gemm(floored, kMachine, 1, 64, 64, 2) - cost::gemm(law, kMachine, 1, 64, 64, 2) == Approx(5e-6));
}

TEST_CASE("a product at the ridge costs 2^(1/q) of either side") {
  spec::GemmCost law = plain_gemm();
  const double compute = 2.0 * 1024 * 4096 * 4096 / 5e14;
  const double memory = (4096.0 * 4096 * 2 + 1024 * 4096 * 2 + 2 * 1024 * 4096) / 0.8;
  const cost::Machine ridge{1e15, memory / compute, 100};
  CHECK(cost::gemm(law, ridge, 1024, 4096, 4096, 2) == Approx(compute * std::pow(2, 0.25)));
}

TEST_CASE("more work, less bandwidth and less arithmetic never make a product faster") {
  spec::GemmCost law = plain_gemm();
  law.wave = 0.3;
  law.row_offset = 50;
  law.depth_offset = 200;
  for (double m = 1; m < 20000; m *= 1.7)
    for (double k = 512; k < 30000; k *= 2.3) {
      const double now = cost::gemm(law, kMachine, m, k, 4096, 1);
      CHECK(cost::gemm(law, kMachine, m + 1, k, 4096, 1) >= now);
      CHECK(cost::gemm(law, kMachine, m, k + 128, 4096, 1) >= now);
      CHECK(cost::gemm(law, kMachine, m, k, 4224, 1) >= now);
      CHECK(cost::gemm(law, kMachine, m, k, 4096, 2) >= now);
      CHECK(cost::gemm(law, {kMachine.peak * 2, kMachine.bandwidth, 100}, m, k, 4096, 1) <= now);
      CHECK(cost::gemm(law, {kMachine.peak, kMachine.bandwidth * 2, 100}, m, k, 4096, 1) <= now);
    }
}

TEST_CASE("touched experts follow the uniform formula and its limits") {
  // E (1 - (1 - k/E)^T): 256 experts, 8 a token, at 1, 8, 32, 64, 128, 256 tokens.
  const std::vector<double> deepseek(256, 8.0 / 256);
  const std::array<std::array<double, 2>, 6> table{{{1, 8}, {8, 57.4}, {32, 163.3}, {64, 222.4}, {128, 251.6}, {256, 255.9}}};
  for (const auto& [tokens, touched] : table) CHECK(cost::touched_experts(deepseek, tokens) == Approx(touched).epsilon(1e-3));
  const std::vector<double> mixtral(8, 2.0 / 8);
  CHECK(cost::touched_experts(mixtral, 4) == Approx(5.47).epsilon(1e-3));
  CHECK(cost::touched_experts(std::vector<double>{1, 0.5, 0}, 1000) == Approx(2));
  CHECK(cost::touched_experts(deepseek, 1e9) == Approx(256));
}

TEST_CASE("experts that many tokens touch cost their bytes, and beyond that their arithmetic") {
  spec::ExpertsCost law;
  law.compute_efficiency = 0.5;
  law.memory_efficiency = 0.8;
  law.norm = 8;
  cost::ExpertShape shape{4096, 1024, 2, 1, 64, 1};
  CHECK(cost::experts(law, kMachine, shape, 64, 0) == Approx(64.0 * 3 * 4096 * 1024 / 3.2e12).epsilon(1e-3));
  CHECK(cost::experts(law, kMachine, shape, 1e6, 0) == Approx(2.0 * 2e6 * 3 * 4096 * 1024 / 5e14).epsilon(1e-3));
  law.imbalance = 0.3;
  shape.ranks = 8;
  // Skew 0.7 over 8 ranks: the busiest has 1 + 0.3 x 0.7 x (1 + 3) times the mean.
  CHECK(cost::experts(law, kMachine, shape, 1e7, 0.7) == Approx(2.0 * 2e7 / 8 * 1.84 * 3 * 4096 * 1024 / 5e14).epsilon(1e-3));
}

TEST_CASE("decode attention reads its keys at the stated share of bandwidth") {
  spec::DecodeAttentionCost law;
  law.memory_efficiency = 0.8;
  law.floor = Seconds{1e-5};
  law.per_head = Seconds{2e-9};
  const double rate = cost::seconds_per_key(law, kMachine, {4096, 0});
  CHECK(rate == Approx(4096 / 3.2e12));
  CHECK(cost::decode_floor(law, 10, 8) == Approx(1e-5 + 2e-9 * 80));
  // 8 sequences of 256 keys: one doubling; of 768 keys: two.
  const cost::DecodeGrowth growth{rate, 1e-6, 2 * rate, 3e-6, true};
  CHECK(growth.at(cost::DecodeGrowth::share(8), 8 * 256, 8 * 768) == Approx(rate * 2048 + 1e-6 + 2 * rate * 6144 + 3e-6 * 2));
  law.compute_efficiency = 0.1;
  const double bytes = 4096 / 3.2e12;
  const double flops = 1e6 / 1e14;
  CHECK(cost::seconds_per_key(law, kMachine, {4096, 1e6}) == Approx(std::cbrt(bytes * bytes * bytes + flops * flops * flops)));
}

TEST_CASE("the rough logarithm is exact at powers of two, rises and stays within a hundredth") {
  for (double power = 1; power < 1e9; power *= 2) CHECK(cost::rough_log2(power) == std::log2(power));
  double before = 0;
  for (double x = 1; x < 1e7; x *= 1.003) {
    CHECK(std::abs(cost::rough_log2(x) - std::log2(x)) < 0.01);
    CHECK(cost::rough_log2(x) >= before);
    before = cost::rough_log2(x);
  }
}

TEST_CASE("prefill attention costs its causal pairs") {
  spec::PrefillAttentionCost law;
  law.compute_efficiency = 0.5;
  // 4 x heads x head width x pairs; 8192 tokens alone: 8192 x 8193 / 2 pairs.
  const double pairs = 8192.0 * 8193 / 2;
  CHECK(cost::prefill_attention(law, kMachine, {32, 8, 128}, 8192, pairs, 8192) == Approx(4 * 32 * 128 * pairs / 5e14));
  law.traffic = 3;
  law.row = 0.5;
  law.narrow_head = 0.2;
  const double work = 4 * 32 * 64 * pairs + 0.5 * 4 * 64 * 128 * 8192 * 100;
  CHECK(cost::prefill_attention(law, kMachine, {32, 8, 64}, 8192, pairs, 8192) ==
        Approx(work / 5e14 * 1.2 + 3.0 * 8192 * (2 * 32 * 64 + 2 * 8 * 64) * 2 / 4e12));
}

TEST_CASE("an all-reduce moves 2 (n - 1) / n of its payload") {
  spec::AllReduceCost law;
  law.ranks = 4;
  law.floor = Seconds{4e-6};
  law.root = Seconds{4e-9};
  law.bus = Bandwidth{4e11};
  const double moved = 1e6 * 1.5;
  CHECK(cost::all_reduce(law, 1e6) == Approx(4e-6 + 4e-9 * std::sqrt(moved) + moved / 4e11));
}
