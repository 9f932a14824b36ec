// Fits of laws to timings: known coefficients come back, shapes are held out whole, and what cannot be fitted is refused at its place.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "sim/base/random.h"
#include "sim/cost/fit/calibration.h"
#include "sim/cost/fit/law_fit.h"
#include "sim/cost/fit/public_tables.h"
#include "sim/cost/laws.h"
#include "tests/support/catalogue.h"
#include "tests/support/shared.h"

using namespace marea;
using cost::Measure;
using cost::Operation;
using cost::Timing;
using cost::Timings;
using doctest::Approx;

namespace {

// A factor around 1 whose logarithm has about this deviation; the same for the same row.
double noise(std::uint64_t row, double size) {
  RandomStream draws(7, "noise of a test", row);
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += draws.uniform();
  return std::exp(size * (sum - 6));
}

spec::GemmCost known_gemm() {
  spec::GemmCost law;
  law.floor = Seconds{4e-6};
  law.compute_efficiency = 0.7;
  law.memory_efficiency = 0.9;
  law.norm = 3;
  law.wave = 0.25;
  law.depth_offset = 150;
  law.wave_norm = 2;
  return law;
}

// A full table of products of the H100 under a law, with noise.
Timings products(const spec::GemmCost& law, double noisy) {
  const spec::Device device = test::device("h100-sxm");
  const cost::Machine machine{device.peak(spec::Format::bf16).value, device.memory.bandwidth.value,
                              static_cast<double>(device.compute.units)};
  Timings timings;
  const std::uint32_t source = timings.source("a test");
  for (double m = 1; m <= 16384; m *= 2)
    for (double n = 1024; n <= 16384; n *= 2)
      for (const double k : {1024, 1536, 3072, 5120, 8192, 16384}) {
        Timing row;
        row.format = spec::Format::bf16;
        row.source = source;
        row[Measure::m] = m;
        row[Measure::n] = n;
        row[Measure::k] = k;
        row.seconds = cost::gemm(law, machine, m, k, n, 2) * noise(timings.rows.size(), noisy);
        timings.rows.push_back(row);
      }
  return timings;
}

std::string value(const cost::Block& block, const std::string& key) {
  for (const auto& [name, text] : block.values)
    if (name == key) return text;
  return "";
}

std::string file(const std::string& name, const std::string& text) {
  const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/marea-fit-test-" + name;
  std::ofstream(path) << text;
  return path;
}

// The message of reading a table, without its folder.
std::string refused(const std::string& text) {
  const std::string path = file("refused.csv", text);
  Timings timings;
  try {
    cost::read_table(path, timings);
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    return message.substr(message.find("refused.csv"));
  }
  return "";
}

}  // namespace

TEST_CASE("known coefficients of a product come back from noisy rows") {
  const cost::Calibration fit = cost::calibrate(products(known_gemm(), 0.03), test::device("h100-sxm"), {"test"});
  REQUIRE(fit.blocks.size() == 1);
  const cost::Block& block = fit.blocks.front();
  CHECK(std::stod(value(block, "compute")) == Approx(0.7).epsilon(0.03));
  CHECK(std::stod(value(block, "memory")) == Approx(0.9).epsilon(0.03));
  CHECK(std::stod(value(block, "norm")) == Approx(3).epsilon(0.15));
  CHECK(std::stod(value(block, "floor")) == Approx(4).epsilon(0.1));
  // Noise of 3 % has a median of 2 % and a 90th percentile of 5 %; what is held out cannot be much worse.
  CHECK(block.record.held_out.median < 0.025);
  CHECK(block.record.held_out.p90 < 0.06);
  CHECK(block.record.held_out.median > 0.015);
  CHECK(block.record.rows == 450);
  CHECK(block.record.shapes == 30);
  CHECK(block.record.range(spec::Extent::m).most == 16384);
}

TEST_CASE("a few outliers do not move the fit") {
  Timings timings = products(known_gemm(), 0.01);
  for (std::size_t i = 0; i < timings.rows.size(); i += 17) timings.rows[i].seconds *= 5;
  const cost::Calibration fit = cost::calibrate(timings, test::device("h100-sxm"), {"test"});
  CHECK(std::stod(value(fit.blocks.front(), "compute")) == Approx(0.7).epsilon(0.05));
  CHECK(std::stod(value(fit.blocks.front(), "memory")) == Approx(0.9).epsilon(0.05));
}

TEST_CASE("a fit is the same each time and what is written reads back as the same coefficients") {
  const Timings timings = products(known_gemm(), 0.05);
  const spec::Device device = test::device("h100-sxm");
  const std::string once = cost::to_yaml(cost::calibrate(timings, device, {"test"}));
  CHECK(cost::to_yaml(cost::calibrate(timings, device, {"test"})) == once);
  // In the place of what is shipped, with the other laws of the device left as they are.
  const Tree fresh = parse_yaml(once, "fit.yaml");
  Tree tree = test::device_tree("h100-sxm");
  Tree* calibration = tree.find("calibration");
  calibration->find("costs")->find("gemm")->entries = fresh.find("costs")->find("gemm")->entries;
  for (const TreeEntry& entry : fresh.find("sources")->entries) {
    if (Tree* shipped = calibration->find("sources")->find(entry.key)) *shipped = entry.value;
  }
  const spec::Device read = spec::read_device(Value(tree, "device"));
  const spec::GemmCost& law = *read.costs.gemm[spec::at(spec::Format::bf16)];
  const cost::Block block = cost::calibrate(timings, device, {"test"}).blocks.front();
  CHECK(law.compute_efficiency == std::stod(value(block, "compute")));
  CHECK(law.norm == std::stod(value(block, "norm")));
  CHECK(cost::written(cost::Notation::duration, law.floor.count()) == value(block, "floor"));
  CHECK(law.fit.rows == 450);
  CHECK(law.fit.range(spec::Extent::k).least == 1024);
  CHECK(law.fit.held_out.median == Approx(block.record.held_out.median).epsilon(0.01));
}

TEST_CASE("what is written of a coefficient is what is used of it") {
  rc::check("rounded values are written and read alike", [] {
    const double value = std::exp(*rc::gen::inRange(-2400, 2400) / 100.0);
    for (const cost::Notation notation : {cost::Notation::number, cost::Notation::duration}) {
      const double rounded = cost::rounded(notation, value);
      RC_ASSERT(std::abs(rounded / value - 1) < 6e-4);
      RC_ASSERT(cost::written(notation, rounded) == cost::written(notation, value));
      const Tree tree = parse_yaml("x: " + cost::written(notation, value), "test");
      const Value read(*tree.find("x"), "x");
      if (notation == cost::Notation::number) RC_ASSERT(read.number(0, 1e30) == rounded);
      if (notation == cost::Notation::duration && value < 1e9) RC_ASSERT(spec::read_seconds(read).count() == rounded);
    }
  });
}

TEST_CASE("shapes are dealt whole into folds that differ by one at most") {
  rc::check("every shape has one fold", [](const std::vector<std::uint8_t>& drawn) {
    std::vector<std::uint64_t> shape(drawn.begin(), drawn.end());
    if (shape.empty()) return;
    std::size_t shapes = 0;
    const std::vector<std::size_t> fold = cost::deal_folds(shape, shapes);
    std::map<std::uint64_t, std::size_t> of;
    std::map<std::size_t, std::size_t> size;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (of.emplace(shape[i], fold[i]).second) ++size[fold[i]];
    for (std::size_t i = 0; i < shape.size(); ++i) RC_ASSERT(of[shape[i]] == fold[i]);
    RC_ASSERT(of.size() == shapes);
    std::size_t least = shapes, most = 0;
    for (const auto& [one, count] : size) least = std::min(least, count), most = std::max(most, count);
    RC_ASSERT(most - least <= 1);
  });
}

TEST_CASE("known coefficients of attention, experts and collectives come back") {
  const spec::Device device = test::device("b200-sxm");
  const cost::Machine machine{device.peak(spec::Format::bf16).value, device.memory.bandwidth.value,
                              static_cast<double>(device.compute.units)};
  Timings timings;
  const std::uint32_t source = timings.source("a test");
  spec::DecodeAttentionCost decode;
  decode.floor = Seconds{9e-6};
  decode.memory_efficiency = 0.8;
  decode.per_head = Seconds{3e-8};
  decode.ramp = Seconds{6e-6};
  for (double heads : {8, 16, 32, 64})
    for (double kv_heads : {1, 2, 4, 8})
      for (double batch = 1; batch <= 1024; batch *= 2)
        for (double context = 15; context < 65536; context = 2 * context + 1) {
          Timing row;
          row.operation = Operation::decode_attention;
          row.kv = spec::Format::bf16;
          row.source = source;
          row[Measure::batch] = batch;
          row[Measure::context] = context;
          row[Measure::heads] = heads;
          row[Measure::kv_heads] = kv_heads;
          row[Measure::head_dim] = 128;
          const cost::DecodeLaw law = cost::decode_law(decode, machine, {heads, kv_heads, 128, 2 * kv_heads * 128 * 2, 4 * 128});
          row.seconds = (law.floor + law.at(batch, batch * (context + 1))) * noise(timings.rows.size(), 0.02);
          timings.rows.push_back(row);
        }
  for (double bytes = 256; bytes < 1e9; bytes *= 1.5) {
    Timing row;
    row.operation = Operation::all_reduce;
    row.source = source;
    row[Measure::ranks] = 4;
    row[Measure::bytes] = bytes;
    spec::AllReduceCost link;
    link.ranks = 4;
    link.floor = Seconds{5e-6};
    link.root = Seconds{4e-9};
    link.bus = Bandwidth{3e11};
    row.seconds = cost::all_reduce(link, bytes) * noise(timings.rows.size(), 0.02);
    timings.rows.push_back(row);
  }
  const cost::Calibration fit = cost::calibrate(timings, device, {"test"});
  REQUIRE(fit.blocks.size() == 2);
  CHECK(std::stod(value(fit.blocks[0], "memory")) == Approx(0.8).epsilon(0.03));
  CHECK(std::stod(value(fit.blocks[0], "per_head")) == Approx(30).epsilon(0.1));
  CHECK(fit.blocks[0].record.in_sample.p90 < 0.05);
  CHECK(fit.blocks[0].record.held_out.median < 0.04);
  CHECK(value(fit.blocks[1], "bus").find("30") == 0);
  CHECK(fit.blocks[1].format == "4");
}

TEST_CASE("tables that cannot be read are refused with file, row and column") {
  const std::string head = "operation,format,m,n,k,microseconds\n";
  CHECK(refused("") == "refused.csv: is empty; a table starts with a row of column names");
  CHECK(refused(head) == "refused.csv: has a header but no rows");
  CHECK(refused("operation,format,m,n,k,microseconds,heat\n") == "refused.csv:1: there is no column heat in a table of kernel timings");
  CHECK(refused("operation,format,m,n,q,microseconds\ngemm,bf16,1,2,3,4\n") ==
        "refused.csv:1: there is no column q in a table of kernel timings");
  CHECK(refused(head + "gemm,bf16,1,1024,1024,fast\n") == "refused.csv:2:23: microseconds: fast is not a number");
  CHECK(refused(head + "gemm,bf16,1,1024,1024,-3\n") == "refused.csv:2:23: microseconds: -3 is out of range; give 1e-06 to 1e+18");
  CHECK(refused(head + "gemm,bf16,1,1024,1024,nan\n") == "refused.csv:2:23: microseconds: nan is not a number");
  CHECK(refused(head + "gemm,bf16,1,1024,1024,inf\n") == "refused.csv:2:23: microseconds: inf is out of range; give 1e-06 to 1e+18");
  CHECK(refused(head + "gemm,bf16,1,1024,1024,5\ngemm,bf16,-1,1024,1024,5\n") ==
        "refused.csv:3:11: m: -1 is out of range; give 0 to 1e+18");
  CHECK(refused(head + "gemm,bf16,1,,1024,5\n") == "refused.csv:2:1: operation: gemm needs a value in column `n`");
  CHECK(refused(head + "gemm,,1,1024,1024,5\n") == "refused.csv:2:1: operation: gemm needs a value in column `format`");
  CHECK(refused(head + "gem,bf16,1,1024,1024,5\n").find("refused.csv:2:1: operation: gem is no operation; did you mean gemm?") == 0);
  CHECK(refused(head + "gemm,fp9,1,1024,1024,5\n").find("refused.csv:2:6: format: fp9 is no number format; did you mean fp8?") == 0);
  CHECK(refused(head + "gemm,bf16,1,1024,5\n") == "refused.csv:2:19: this row has 5 fields, but there are 6 columns");
}

TEST_CASE("a table that is too small is refused, a small one gets the short law") {
  Timings timings = products(known_gemm(), 0.02);
  const spec::Device device = test::device("h100-sxm");
  Timings few = timings;
  few.rows.resize(5);
  CHECK_THROWS_WITH_AS(cost::calibrate(few, device, {"few.csv"}),
                       "few.csv: gemm bf16 has 5 rows of 5 shapes; a fit needs at least 8 rows of 2 shapes", ConfigError);
  Timings small = timings;
  std::erase_if(small.rows, [](const Timing& row) { return row[Measure::n] > 2048; });
  small.rows.resize(60);
  const cost::Calibration fit = cost::calibrate(small, device, {"small.csv"});
  CHECK(fit.blocks.front().values.size() == 4);
}

TEST_CASE("of rows of one case captured ones go first, then the fastest") {
  Timings timings = products(known_gemm(), 0.02);
  Timings doubled = timings;
  for (Timing row : timings.rows) {
    row.seconds *= 3;
    doubled.rows.push_back(row);
  }
  const spec::Device device = test::device("h100-sxm");
  CHECK(cost::to_yaml(cost::calibrate(doubled, device, {"test"})) == cost::to_yaml(cost::calibrate(timings, device, {"test"})));
}

TEST_CASE("rows that are mostly noise are passed over") {
  const Timings timings = products(known_gemm(), 0.02);
  Timings noisy = timings;
  for (Timing row : timings.rows) {
    row.seconds /= 3;
    row[Measure::noise] = 0.5;
    noisy.rows.push_back(row);
  }
  const spec::Device device = test::device("h100-sxm");
  CHECK(cost::to_yaml(cost::calibrate(noisy, device, {"test"})) == cost::to_yaml(cost::calibrate(timings, device, {"test"})));
}

TEST_CASE("what no table covers comes from a base device, as assumed, and the whole reads back as a device") {
  const spec::Device device = test::device("l40s");
  cost::Calibration fit = cost::calibrate(products(known_gemm(), 0.02), device, {"test"});
  Tree base = test::device_tree("h100-sxm");
  Tree costs = *base.find("calibration")->find("costs");
  spec::lay_over(costs, *base.find("costs"));
  cost::complete_from(fit, costs, "h100-sxm");
  Tree tree = test::catalogue_tree("hardware/devices", "l40s");
  *tree.find("calibration") = parse_yaml(cost::to_yaml(fit), "fit.yaml");
  const spec::Device read = spec::read_device(Value(tree, "device"));
  const spec::Device h100 = test::device("h100-sxm");
  const std::size_t bf16 = spec::at(spec::Format::bf16);
  CHECK(read.costs.gemm[bf16]->origin.status == spec::Status::fitted);
  CHECK(read.costs.experts[bf16]->origin.status == spec::Status::assumed);
  CHECK(read.costs.experts[bf16]->floor == h100.costs.experts[bf16]->floor);
  CHECK(read.costs.experts[bf16]->fit.rows == 0);
  CHECK(read.costs.decode_attention[bf16]->ramp == h100.costs.decode_attention[bf16]->ramp);
  CHECK(read.costs.all_reduce.size() == h100.costs.all_reduce.size());
}

TEST_CASE("shipped calibrations are what the public tables give") {
  const auto folder = test::shared("data/aiconfigurator");
  if (!folder) return;
  Timings timings;
  cost::read_table((*folder / "l40s.vllm-0.22.0.custom_allreduce.csv.gz").string(), timings);
  const spec::Device device = test::device("l40s");
  const cost::Calibration fit = cost::calibrate(timings, device, {"test"});
  REQUIRE(fit.blocks.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const spec::AllReduceCost& shipped = device.costs.all_reduce[i];
    CHECK(cost::written(cost::Notation::duration, shipped.floor.count()) == value(fit.blocks[i], "floor"));
    CHECK(shipped.fit.held_out.median == Approx(fit.blocks[i].record.held_out.median).epsilon(0.02));
  }
}

TEST_CASE("what sorting out the experts of other ranks costs comes back from rows with one rank and with several") {
  const spec::Device device = test::device("h200-sxm");
  const cost::Machine machine{device.peak(spec::Format::bf16).value, device.memory.bandwidth.value,
                              static_cast<double>(device.compute.units)};
  spec::ExpertsCost truth;
  truth.floor = Seconds{4e-5};
  truth.spread_floor = Seconds{3e-5};
  truth.compute_efficiency = 0.6;
  truth.memory_efficiency = 0.8;
  truth.norm = 2;
  Timings timings;
  const std::uint32_t source = timings.source("a test");
  for (const double hidden : {2048, 4096, 6144})
    for (const double width : {1024, 2048})
      for (const double ranks : {1, 2, 8})
        for (double tokens = 1; tokens <= 16384; tokens *= 2) {
          Timing row;
          row.operation = Operation::experts;
          row.format = spec::Format::bf16;
          row.source = source;
          for (const auto& [measure, number] :
               {std::pair{Measure::tokens, tokens}, std::pair{Measure::hidden, hidden}, std::pair{Measure::width, width},
                std::pair{Measure::experts, 64.0}, std::pair{Measure::chosen, 4.0}, std::pair{Measure::expert_ranks, ranks},
                std::pair{Measure::rows, 4 * tokens / ranks}, std::pair{Measure::touched, std::min(64.0, 4 * tokens) / ranks}})
            row[measure] = number;
          row.seconds = cost::experts(truth, machine, {hidden, width, row[Measure::rows], row[Measure::touched], 2, ranks > 1}, tokens) *
                        noise(timings.rows.size(), 0.02);
          timings.rows.push_back(row);
        }
  const cost::Calibration fit = cost::calibrate(timings, device, {"test"});
  REQUIRE(fit.blocks.size() == 1);
  CHECK(std::stod(value(fit.blocks[0], "floor")) == Approx(40).epsilon(0.1));
  CHECK(std::stod(value(fit.blocks[0], "spread_floor")) == Approx(30).epsilon(0.1));
  CHECK(std::stod(value(fit.blocks[0], "memory")) == Approx(0.8).epsilon(0.05));
  CHECK(fit.blocks[0].record.held_out.median < 0.03);
}
