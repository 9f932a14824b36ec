// Latent attention over chosen keys: the law term by term, its fit, and what it makes of a model whose layers share indices.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sim/base/random.h"
#include "sim/cost/fit/calibration.h"
#include "sim/cost/laws.h"
#include "sim/cost/step_cost.h"
#include "tests/support/catalogue.h"

using namespace marea;
using cost::Measure;
using doctest::Approx;

namespace {

const cost::Machine kMachine{1e15, 2e12, 100};
constexpr double kIndexPeak = 2e15;
// 16 heads over 512 + 64 numbers in 16 bits; 32 index heads of 128.
const cost::SparseShape kShape{16, 1152, 2176, 32, 128, 132};

spec::SparseAttentionCost known(bool prefill) {
  spec::SparseAttentionCost cost;
  cost.floor = Seconds{prefill ? 25e-6 : 15e-6};
  cost.index_floor = Seconds{prefill ? 10e-6 : 60e-6};
  cost.memory_efficiency = 0.7;
  cost.query = Seconds{8e-6};
  (prefill ? cost.index_traffic : cost.index_memory) = prefill ? 9 : 0.6;
  if (prefill) cost.compute_efficiency = 0.65;
  if (prefill) cost.least_heads = 64;
  if (prefill) cost.index_compute = 0.5;
  cost.head = Seconds{2e-7};
  return cost;
}

double noise(std::uint64_t row) {
  RandomStream draws(11, "noise of a test", row);
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += draws.uniform();
  return std::exp(0.02 * (sum - 6));
}

std::string value(const cost::Block& block, const std::string& key) {
  for (const auto& [name, text] : block.values)
    if (name == key) return text;
  return "0";
}

cost::StepSums prompt(double before, std::int64_t tokens, double keys) {
  cost::StepSums sums;
  sums.tokens = sums.prefill_tokens = tokens;
  sums.prefill_sequences = sums.sampled = 1;
  sums.longest_prefill = static_cast<std::int64_t>(before) + tokens;
  sums.prefill_pairs = static_cast<double>(tokens) * (before + static_cast<double>(tokens + 1) / 2);
  sums.prefill_windowed_pairs = std::min(sums.prefill_pairs, static_cast<double>(tokens) * keys);
  return sums;
}

double attention_of(const cost::Breakdown& parts, cost::Component which) {
  return parts.component[static_cast<std::size_t>(which)].count();
}

}  // namespace

TEST_CASE("chosen keys cost the slower of gathering and multiplying, for padded heads") {
  spec::SparseAttentionCost cost;
  cost.memory_efficiency = 0.5;
  // 1,152 bytes at 1 TB/s.
  CHECK(cost::sparse_law(cost, kMachine, kIndexPeak, kShape).key == Approx(1.152e-9));
  cost.memory_efficiency = 0;
  cost.compute_efficiency = 0.5;
  // 16 heads x 2,176 FLOP at 0.5 PFLOP/s; padded to 64 four times that; beyond the padding in proportion to the heads.
  CHECK(cost::sparse_law(cost, kMachine, kIndexPeak, kShape).key == Approx(6.9632e-11));
  cost.least_heads = 64;
  CHECK(cost::sparse_law(cost, kMachine, kIndexPeak, kShape).key == Approx(4 * 6.9632e-11));
  cost::SparseShape wide = kShape;
  wide.heads = 128;
  CHECK(cost::sparse_law(cost, kMachine, kIndexPeak, wide).key == Approx(8 * 6.9632e-11));
}

TEST_CASE("a query costs its blocks on one of the units, and keys in vain; an index its scores") {
  spec::SparseAttentionCost cost;
  cost.memory_efficiency = 1;
  cost.query = Seconds{1e-6};
  cost.head = Seconds{1e-7};
  cost.tile_keys = 10;
  cost.index_compute = 0.5;
  cost.index_memory = 0.5;
  cost.index_traffic = 3;
  cost.index_query = Seconds{1e-6};
  const cost::SparseLaw law = cost::sparse_law(cost, kMachine, kIndexPeak, kShape);
  // 1,152 bytes at 2 TB/s; (1 us + 16 x 0.1 us) over 100 units.
  CHECK(law.query == Approx(10 * 5.76e-10 + 2.6e-8));
  // 8,192 FLOP at 1 PFLOP/s, 132 bytes at 1 TB/s, three passes over 4 bytes at 2 TB/s.
  CHECK(law.index_key == Approx(8.192e-12 + 1.32e-10 + 6e-12));
  CHECK(law.index_query == Approx(32 * 1e-8));
  CHECK(law.attend(3, 100) == Approx(3 * law.query + 100 * law.key));
  CHECK(law.choose(3, 100) == Approx(3 * law.index_query + 100 * law.index_key));
}

TEST_CASE("known coefficients of sparse attention come back from noisy blocks") {
  const spec::Device device = test::device("b200-sxm");
  const cost::Machine machine{device.peak(spec::Format::bf16).value, device.memory.bandwidth.value,
                              static_cast<double>(device.compute.units)};
  for (const bool prefill : {false, true}) {
    CAPTURE(prefill);
    const spec::SparseAttentionCost truth = known(prefill);
    cost::Timings timings;
    const std::uint32_t source = timings.source("a test");
    for (const double heads : {8, 16, 32, 64, 96, 128})
      for (const double index_heads : {32, 64})
        for (double batch = 1; batch <= 256; batch *= 4)
          for (double length = 32; length <= 32768; length *= 2) {
            cost::Timing row;
            row.operation = prefill ? cost::Operation::prefill_sparse : cost::Operation::decode_sparse;
            row.kv = spec::Format::bf16;
            row.source = source;
            for (const auto& [measure, number] :
                 {std::pair{Measure::batch, batch}, std::pair{prefill ? Measure::tokens : Measure::context, length},
                  std::pair{Measure::heads, heads}, std::pair{Measure::latent, 512.0}, std::pair{Measure::rope_dim, 64.0},
                  std::pair{Measure::chosen_keys, 2048.0}, std::pair{Measure::index_heads, index_heads},
                  std::pair{Measure::index_dim, 128.0}})
              row[measure] = number;
            // Keys of one sequence: those of a decode, or of all queries of a prompt, written out.
            double read = std::min(length + 1, 2048.0), scored = length + 1;
            if (prefill) read = length <= 2048 ? length * (length + 1) / 2 : 2048 * 2049 / 2 + (length - 2048) * 2048;
            if (prefill) scored = length * (length + 1) / 2;
            const double queries = prefill ? batch * length : batch;
            const cost::SparseLaw law =
                cost::sparse_law(truth, machine, device.peak(spec::Format::fp8).value, {heads, 1152, 2176, index_heads, 128, 132});
            row.seconds = (law.floor + law.index_floor + law.attend(queries, batch * read) + law.choose(queries, batch * scored)) *
                          noise(timings.rows.size());
            timings.rows.push_back(row);
          }
    const cost::Calibration fit = cost::calibrate(timings, device, {"test"});
    REQUIRE(fit.blocks.size() == 1);
    const cost::Block& block = fit.blocks.front();
    CHECK(block.law == (prefill ? "prefill_sparse" : "decode_sparse"));
    if (prefill) CHECK(std::stod(value(block, "compute")) == Approx(0.65).epsilon(0.1));
    if (prefill) CHECK(std::stod(value(block, "least_heads")) == Approx(64).epsilon(0.1));
    // Gathering and multiplying are told apart by heads alone; what a key costs is known for few heads and for many.
    spec::SparseAttentionCost found = known(prefill);
    found.memory_efficiency = std::stod(value(block, "memory"));
    found.compute_efficiency = std::stod(value(block, "compute"));
    found.least_heads = std::stod(value(block, "least_heads"));
    const double peak = device.peak(spec::Format::fp8).value;
    for (const double heads : {16, 128}) {
      const cost::SparseShape shape{heads, 1152, 2176, 32, 128, 132};
      CHECK(cost::sparse_law(found, machine, peak, shape).key == Approx(cost::sparse_law(truth, machine, peak, shape).key).epsilon(0.05));
    }
    if (!prefill) CHECK(std::stod(value(block, "index_memory")) == Approx(0.6).epsilon(0.05));
    if (!prefill) CHECK(std::stod(value(block, "floor")) + std::stod(value(block, "index_floor")) == Approx(75).epsilon(0.05));
    CHECK(block.record.held_out.median < 0.03);
    CHECK(block.record.held_out.p90 < 0.07);
  }
}

TEST_CASE("a sparse prompt costs its choice of keys for every query, and an index only in the layers that own one") {
  spec::Model model = test::model("glm-5.2");
  const spec::Device device = test::device("b200-sxm");
  const auto cost_of = [&](const spec::Model& one, const spec::Device& on) {
    return cost::StepCost{one, on, spec::deploy(one, spec::Format::nvfp4, spec::Format::fp8, 8), test::host("vllm"), 16384};
  };
  const auto prefill = cost::Component::prefill_attention;
  const auto decode = cost::Component::decode_attention;
  cost::StepCost shared = cost_of(model, device);
  // Beyond the choice of keys only the 21 indices see a longer prefix, and their scores are cheap beside attention.
  const double near = attention_of(shared.breakdown(prompt(4096, 4096, 2048)), prefill);
  const double far = attention_of(shared.breakdown(prompt(12288, 4096, 2048)), prefill);
  CHECK(far > near);
  CHECK(far < 1.5 * near);
  cost::StepSums decodes;
  decodes.tokens = decodes.decode_sequences = decodes.sampled = 64;
  decodes.decode_context = 64 * 32768;
  decodes.decode_windowed = 64 * 2048;
  const double choosing = attention_of(shared.breakdown(decodes), decode);
  model.attention.index_layers = 78;
  model.attention.index_per_token = Bytes{78 * 132};
  cost::StepCost own = cost_of(model, device);
  // What 57 more indices cost is 57 of them.
  const spec::SparseAttentionCost& at = *device.costs.decode_sparse[spec::at(spec::Format::fp8)];
  const cost::Machine machine{device.peak(spec::Format::bf16).value, device.memory.bandwidth.value,
                              static_cast<double>(device.compute.units)};
  const cost::SparseLaw law = cost::sparse_law(at, machine, device.peak(spec::Format::fp8).value, {8, 576, 2176, 32, 128, 132});
  CHECK(attention_of(own.breakdown(decodes), decode) - choosing == Approx(57 * (law.index_floor + law.choose(64, 64.0 * 32768))));
  CHECK(attention_of(own.breakdown(prompt(12288, 4096, 2048)), prefill) > far);
  // Bandwidth and arithmetic each help.
  spec::Device faster = device;
  faster.memory.bandwidth.value *= 2;
  CHECK(attention_of(cost_of(model, faster).breakdown(decodes), decode) < attention_of(own.breakdown(decodes), decode));
  spec::Device stronger = device;
  for (auto& peak : stronger.compute.peak)
    if (peak) peak->value *= 2;
  CHECK(attention_of(cost_of(model, stronger).breakdown(prompt(0, 16384, 2048)), prefill) <
        attention_of(own.breakdown(prompt(0, 16384, 2048)), prefill));
}
