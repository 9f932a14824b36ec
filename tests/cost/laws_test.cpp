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
  law.wave_norm = 1.7;
  law.wave_rows = 0.5;
  law.row_tile = 0.4;
  law.depth_offset = 200;
  law.narrow = 900;
  law.sustained = 0.2;
  law.activation = 3;
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

TEST_CASE("each refinement of a product adds what it says") {
  const spec::GemmCost law = plain_gemm();
  const auto seconds = [](const spec::GemmCost& cost, double m) { return cost::gemm(cost, kMachine, m, 8192, 8192, 2); };
  spec::GemmCost changed = law;
  changed.activation = 3;  // three passes over 100 x 8192 numbers of 2 bytes
  CHECK(seconds(changed, 100) - seconds(law, 100) == Approx(3 * 2.0 * 100 * 8192 / 4e12));
  changed = law;
  changed.narrow = 8192;  // as many columns: 1 / sqrt(2) of the bandwidth, and at one row memory is all
  CHECK(seconds(changed, 1) == Approx(std::sqrt(2) * seconds(law, 1)).epsilon(1e-3));
  changed = law;
  changed.row_tile = 1;  // 16,385 rows are computed as 16,512; compute binds
  CHECK(seconds(changed, 16385) == Approx(seconds(law, 16512)).epsilon(1e-4));
  changed = law;
  changed.unaligned = 0.25;
  CHECK(seconds(changed, 16385) == Approx(1.25 * seconds(law, 16385)).epsilon(1e-3));
  CHECK(seconds(changed, 16384) == seconds(law, 16384));
  changed = law;
  changed.sustained = 0.5;  // half of it at 16,384 rows
  CHECK(seconds(changed, 16384) == Approx(1.25 * seconds(law, 16384)).epsilon(1e-3));
  changed = law;
  changed.wave = 0.5;  // half a tile on each of 100 units: 0.5 * 2 * 128 * 128 * 8192 * 100 / (0.5 PFLOP/s) = 26.8 us, hidden by memory
  const double first = 0.5 * 2 * 128 * 128 * 8192 * 100 / 5e14;
  const double memory = (8192.0 * 8192 * 2 + 128 * 8192 * 2 + 2 * 128 * 8192) / 3.2e12;
  const double full = 2.0 * 128 * 8192 * 8192 / 5e14;
  changed.wave_norm = 2;
  CHECK(seconds(changed, 128) == Approx(std::pow(std::pow(std::hypot(first, full), 4) + std::pow(memory, 4), 0.25)));
  changed.wave_rows = 1;  // with a quarter of the rows a quarter of the wave
  const double few = 2.0 * 32 * 8192 * 8192 / 5e14;
  const double memory_few = (8192.0 * 8192 * 2 + 32 * 8192 * 2 + 2 * 32 * 8192) / 3.2e12;
  CHECK(seconds(changed, 32) == Approx(std::pow(std::pow(std::hypot(first / 4, few), 4) + std::pow(memory_few, 4), 0.25)));
}

TEST_CASE("experts that many tokens touch cost their bytes, and beyond that their arithmetic") {
  spec::ExpertsCost law;
  law.compute_efficiency = 0.5;
  law.memory_efficiency = 0.8;
  law.norm = 8;
  const double weights = 3.0 * 4096 * 1024;
  CHECK(cost::experts(law, kMachine, {4096, 1024, 128, 64, 1}, 64) == Approx(64 * weights / 3.2e12).epsilon(1e-3));
  CHECK(cost::experts(law, kMachine, {4096, 1024, 2e6, 64, 1}, 1e6) == Approx(2.0 * 2e6 * weights / 5e14).epsilon(1e-3));
  const double before = cost::experts(law, kMachine, {4096, 1024, 2e6, 64, 1}, 1e6);
  law.per_expert = Seconds{1e-7};
  law.per_token = Seconds{2e-8};
  law.traffic = 2;
  CHECK(cost::experts(law, kMachine, {4096, 1024, 2e6, 64, 1}, 1e6) - before ==
        Approx(64 * 1e-7 + 1e6 * 2e-8 + 2 * 2e6 * (2 * 4096 + 3 * 1024) * 2 / 4e12));
}

TEST_CASE("sorting out the experts of other ranks costs a rank that shares them out, and no other") {
  spec::ExpertsCost law;
  law.floor = Seconds{2e-5};
  law.spread_floor = Seconds{3e-5};
  cost::ExpertShape shape{4096, 1024, 128, 64, 1};
  const double alone = cost::experts(law, kMachine, shape, 64);
  shape.spread = true;
  CHECK(cost::experts(law, kMachine, shape, 64) - alone == Approx(3e-5));
}

TEST_CASE("the busiest rank has more than its share, one rank has all, and equal experts are dealt equally") {
  const std::vector<double> popular = cost::choice_probabilities(256, 8, 0.7);
  double all = 0;
  for (const double p : popular) all += p;
  CHECK(all == Approx(8));
  CHECK(popular[0] / popular[9] == Approx(std::pow(10, 0.7)));
  CHECK(cost::busiest_rank(popular, 1) == popular);
  double before = 1;
  for (const std::size_t ranks : {2, 4, 8, 16}) {
    double share = 0;
    const std::vector<double> own = cost::busiest_rank(popular, ranks);
    CHECK(own.size() == 256 / ranks);
    for (const double p : own) share += p / 8;
    CHECK(share > 1.0 / static_cast<double>(ranks));
    CHECK(share < before);
    before = share;
  }
  double even = 0;
  for (const double p : cost::busiest_rank(cost::choice_probabilities(64, 4, 0), 8)) even += p;
  CHECK(even == Approx(0.5));
  // Two of four experts would be chosen beyond certainty by a strong skew: the first is certain, the others share the rest.
  CHECK(cost::choice_probabilities(4, 3, 2)[0] == 1);
}

TEST_CASE("decode attention reads its keys at the stated share of bandwidth") {
  spec::DecodeAttentionCost law;
  law.memory_efficiency = 0.8;
  law.floor = Seconds{1e-5};
  law.width_floor = Seconds{2e-6};
  // 32 query heads over 8 KV heads of 128 numbers of 2 bytes: 4,096 bytes a key.
  const cost::DecodeShape shape{32, 8, 128, 4096, 4 * 128};
  const double rate = 4096 / 3.2e12;
  CHECK(cost::decode_law(law, kMachine, shape).rate == Approx(rate));
  CHECK(cost::decode_law(law, kMachine, shape).floor == Approx(1.2e-5));
  CHECK(cost::decode_law(law, kMachine, shape).at(8, 1e5) == Approx(rate * 1e5));
  law.per_head = Seconds{2e-8};
  law.per_query = Seconds{1e-9};
  law.tile_keys = 100;
  law.ramp = Seconds{5e-6};
  // Blocks: (2e-8 x 8 + 1e-9 x 32) a sequence; reading: (1e5 + 100 x 8) keys.
  const double blocks = (2e-8 * 8 + 1e-9 * 32) * 8;
  const double read = rate * (1e5 + 800);
  CHECK(cost::decode_law(law, kMachine, shape).at(8, 1e5) == Approx(std::hypot(blocks, read) + read * 5e-6 / (read + 5e-6)));
  law.head_width = 0.5;  // heads twice as wide start half as slow again
  CHECK(cost::decode_law(law, kMachine, {32, 8, 256, 8192, 4 * 256}).block == Approx(2e-8 * 1.5 * 8 + 1e-9 * 32));
  law.compute_efficiency = 0.1;
  law.query_rows = 12;
  law.wide_head = 1;
  const double bytes = 8192 / 3.2e12;
  const double flops = 4.0 * 256 * (32 + 12 * 8) * 2 / 1e14;
  CHECK(cost::decode_law(law, kMachine, {32, 8, 256, 8192, 4 * 256}).rate ==
        Approx(std::cbrt(bytes * bytes * bytes + flops * flops * flops)));
}

TEST_CASE("layers that read a limited number of keys pay for those alone") {
  const cost::DecodeLaw one{1e-5, 1e-9, 0, 0, 0};
  const cost::DecodeLaw chosen{1e-5, 3e-9, 0, 0, 0};
  const cost::DecodeGrowth growth{one, 10, chosen, 30, 2e-10};
  CHECK(growth.at(4, 4e4, 512) == Approx(4e4 * 2e-10 + 10 * 4e4 * 1e-9 + 30 * 512 * 3e-9));
  CHECK(growth.at(0, 0, 0) == 0);
}

TEST_CASE("prefill attention costs its causal pairs") {
  spec::PrefillAttentionCost law;
  law.compute_efficiency = 0.5;
  // 4 x heads x head width x pairs; 8192 tokens alone: 8192 x 8193 / 2 pairs.
  const double pairs = 8192.0 * 8193 / 2;
  const cost::PrefillWork work{2, 8192, pairs, 8192, false};
  CHECK(cost::prefill_attention(law, kMachine, {32, 8, 128}, work) == Approx(4 * 32 * 128 * pairs / 5e14));
  law.traffic = 3;
  law.row = 0.5;
  law.narrow_head = 0.2;
  law.tile_waste = 600;
  law.sequence_rows = 50;
  law.window_waste = 40;
  law.per_token = Seconds{1e-9};
  // Heads of 64: 1 + 0.2 x (128 / 64 - 1) times as long.
  const auto expected = [&](double extra) {
    const double all = 4 * 32 * 64 * (pairs + (8192 + 50 * 2) * 300.0 + extra);
    const double row = 0.5 * 4 * 64 * 128 * 8192 * 100;
    return std::hypot(all, row) / 5e14 * 1.2 + 3.0 * 8192 * 2 * 8 * 64 * 2 / 4e12 + 8192e-9;
  };
  CHECK(cost::prefill_attention(law, kMachine, {32, 8, 64}, work) == Approx(expected(0)));
  CHECK(cost::prefill_attention(law, kMachine, {32, 8, 64}, {2, 8192, pairs, 8192, true}) == Approx(expected(8192 * 40)));
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
