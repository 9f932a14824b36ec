// Prices of whole steps: conserved by the breakdown, equal in runs, and monotone in work and in resources.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>

#include "sim/cost/step_cost.h"
#include "tests/support/catalogue.h"

using namespace marea;
using cost::StepSums;
using doctest::Approx;
using spec::Format;

namespace {

struct Setting {
  const char* model;
  const char* device;
  Format weights;
  Format kv;
  std::int64_t tensor;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"llama-3.1-8b", "h100-sxm", Format::bf16, Format::bf16, 1}, {"llama-3.1-70b", "h100-sxm", Format::fp8, Format::fp8, 4},
      {"deepseek-v3", "b200-sxm", Format::fp8, Format::bf16, 8},   {"gpt-oss-120b", "h200-sxm", Format::mxfp4, Format::bf16, 2},
      {"minimax-m3", "b300-sxm", Format::fp8, Format::fp8, 2},     {"glm-5.2", "b200-sxm", Format::nvfp4, Format::fp8, 8},
      {"qwen3-30b-a3b", "rtx-4090", Format::int4, Format::bf16, 1}};
  return all;
}

cost::StepCost make(const Setting& s, bool overlaps = false) {
  const spec::Model model = test::model(s.model);
  const spec::Device device = test::device(s.device);
  spec::HostCost host = test::host("vllm");
  host.overlaps = overlaps;
  return {model, device, spec::deploy(model, s.weights, s.kv, s.tensor), host, 8192};
}

StepSums decodes(std::int64_t sequences, std::int64_t context, std::int64_t limit = 1'000'000'000) {
  StepSums sums;
  sums.tokens = sums.decode_sequences = sums.sampled = sequences;
  sums.decode_context = sequences * context;
  sums.decode_windowed = sequences * std::min(context, limit);
  return sums;
}

StepSums prefill(std::int64_t context, std::int64_t tokens) {
  StepSums sums;
  sums.tokens = sums.prefill_tokens = tokens;
  sums.prefill_sequences = sums.sampled = sums.admissions = 1;
  sums.longest_prefill = context + tokens;
  sums.prefill_pairs =
      static_cast<double>(tokens) * static_cast<double>(context) + static_cast<double>(tokens) * static_cast<double>(tokens + 1) / 2;
  sums.prefill_windowed_pairs = sums.prefill_pairs;
  return sums;
}

StepSums random_sums() {
  StepSums sums = decodes(*rc::gen::inRange<std::int64_t>(0, 300), *rc::gen::inRange<std::int64_t>(1, 100'000), 2048);
  if (*rc::gen::arbitrary<bool>()) {
    const StepSums more = prefill(*rc::gen::inRange<std::int64_t>(0, 50'000), *rc::gen::inRange<std::int64_t>(1, 7000));
    sums.tokens += more.tokens;
    sums.prefill_tokens = more.prefill_tokens;
    sums.prefill_sequences = 1;
    sums.longest_prefill = more.longest_prefill;
    sums.prefill_pairs = more.prefill_pairs;
    sums.prefill_windowed_pairs = more.prefill_windowed_pairs / 2;
    sums.admissions = *rc::gen::inRange<std::int64_t>(0, 2);
    sums.sampled += *rc::gen::inRange<std::int64_t>(0, 2);
  }
  return sums;
}

}  // namespace

TEST_CASE("a breakdown sums to the price by component and by status") {
  for (const Setting& setting : settings()) {
    for (const bool overlaps : {false, true}) {
      cost::StepCost cost = make(setting, overlaps);
      CHECK(rc::check([&] {
        const StepSums sums = random_sums();
        const double price = cost.price(sums).count();
        const cost::Breakdown parts = cost.breakdown(sums);
        double by_status = 0;
        for (const Seconds part : parts.status) by_status += part.count();
        RC_ASSERT(std::abs(parts.total().count() - price) <= 1e-12 * price);
        RC_ASSERT(std::abs(by_status - price) <= 1e-12 * price);
        for (const Seconds part : parts.component) RC_ASSERT(part.count() >= 0);
        RC_ASSERT((sums.tokens == 0) == (price == 0));
      }));
    }
  }
}

TEST_CASE("a run of decode steps is priced as the same steps one by one, to the last bit") {
  for (const Setting& setting : settings()) {
    for (const bool overlaps : {false, true}) {
      cost::StepCost cost = make(setting, overlaps);
      CHECK(rc::check([&] {
        StepSums sums = decodes(*rc::gen::inRange<std::int64_t>(1, 512), *rc::gen::inRange<std::int64_t>(1, 200'000), 128);
        sums.sampled = *rc::gen::inRange<std::int64_t>(1, sums.tokens + 1);
        const std::int64_t growth = *rc::gen::inRange<std::int64_t>(0, sums.decode_sequences + 1);
        cost::DecodeRun run(cost, sums, growth);
        for (int i = 0; i < 20; ++i) {
          RC_ASSERT(std::bit_cast<std::uint64_t>(run.next().count()) == std::bit_cast<std::uint64_t>(cost.price(sums).count()));
          sums.decode_context += sums.decode_sequences;
          sums.decode_windowed += growth;
        }
      }));
    }
  }
}

TEST_CASE("a price is a function of the sums, whatever was priced before") {
  cost::StepCost warm = make(settings()[2]);
  for (std::int64_t n = 1; n <= 256; n *= 2) {
    warm.breakdown(decodes(n, 1000));
    warm.price(prefill(0, n));
  }
  for (std::int64_t n = 1; n <= 256; n *= 2) {
    cost::StepCost cold = make(settings()[2]);
    CHECK(std::bit_cast<std::uint64_t>(cold.price(decodes(n, 5000)).count()) ==
          std::bit_cast<std::uint64_t>(warm.price(decodes(n, 5000)).count()));
  }
}

TEST_CASE("more work never takes less time") {
  for (const Setting& setting : settings()) {
    CAPTURE(setting.model);
    cost::StepCost cost = make(setting);
    for (std::int64_t n = 1; n < 512; n += 37) {
      CHECK(cost.price(decodes(n + 1, 1000)) > cost.price(decodes(n, 1000)));
      CHECK(cost.price(decodes(n, 1100)) > cost.price(decodes(n, 1000)));
    }
    for (std::int64_t tokens = 16; tokens < 8000; tokens += 571) {
      CHECK(cost.price(prefill(0, tokens + 16)) > cost.price(prefill(0, tokens)));
      CHECK(cost.price(prefill(10'000, tokens)) > cost.price(prefill(0, tokens)));
    }
  }
}

TEST_CASE("more bandwidth, arithmetic or link never takes more time, and each helps where it binds") {
  for (const Setting& setting : settings()) {
    CAPTURE(setting.model);
    const spec::Model model = test::model(setting.model);
    const spec::Device device = test::device(setting.device);
    const spec::Deployment deployment = spec::deploy(model, setting.weights, setting.kv, setting.tensor);
    spec::Device wide = device;
    wide.memory.bandwidth = Bandwidth{device.memory.bandwidth.value * 2};
    spec::Device quick = device;
    for (auto& peak : quick.compute.peak)
      if (peak) peak = FlopRate{peak->value * 2};
    spec::Device linked = device;
    for (auto& all_reduce : linked.costs.all_reduce) all_reduce.bus = Bandwidth{all_reduce.bus.value * 2};
    const auto price = [&](const spec::Device& on, const StepSums& sums) {
      return cost::StepCost(model, on, deployment, {}, 8192).price(sums).count();
    };
    for (const StepSums& sums : {decodes(1, 1000), decodes(64, 8000), decodes(256, 30'000), prefill(0, 512), prefill(4000, 8192)}) {
      CHECK(price(wide, sums) <= price(device, sums));
      CHECK(price(quick, sums) <= price(device, sums));
      CHECK(price(linked, sums) <= price(device, sums));
    }
    // The launches of an index and of 78 layers are most of a step of GLM on eight ranks, and no bandwidth shortens them.
    const bool launches = setting.model == std::string_view("glm-5.2");
    CHECK(price(wide, decodes(64, 30'000)) < (launches ? 0.95 : 0.75) * price(device, decodes(64, 30'000)));
    // Quantising activations to 8 bits is a pass through memory, which faster arithmetic does not shorten.
    CHECK(price(quick, prefill(0, 8192)) < (setting.weights == Format::fp8 ? 0.85 : 0.8) * price(device, prefill(0, 8192)));
    if (setting.tensor > 1) CHECK(price(linked, prefill(0, 8192)) < price(device, prefill(0, 8192)));
  }
}

TEST_CASE("tensor ranks split the work and add their collectives") {
  const spec::Model model = test::model("llama-3.1-70b");
  const spec::Device device = test::device("h100-sxm");
  const auto parts = [&](std::int64_t tensor, const StepSums& sums) {
    return cost::StepCost(model, device, spec::deploy(model, Format::fp8, Format::fp8, tensor), {}, 8192).breakdown(sums);
  };
  const auto at = [](const cost::Breakdown& all, cost::Component component) {
    return all.component[static_cast<std::size_t>(component)].count();
  };
  const StepSums large = prefill(0, 8192);
  const cost::Breakdown one = parts(1, large);
  const cost::Breakdown four = parts(4, large);
  CHECK(at(one, cost::Component::collectives) == 0);
  CHECK(at(four, cost::Component::collectives) > 0);
  CHECK(at(one, cost::Component::dense) / at(four, cost::Component::dense) == Approx(4).epsilon(0.15));
  CHECK(at(one, cost::Component::prefill_attention) / at(four, cost::Component::prefill_attention) == Approx(4).epsilon(0.15));
  const StepSums steady = decodes(64, 20'000);
  CHECK(at(parts(1, steady), cost::Component::decode_attention) / at(parts(4, steady), cost::Component::decode_attention) ==
        Approx(4).epsilon(0.15));
}

TEST_CASE("a step bound by memory takes the bytes it reads over the bandwidth it reaches") {
  // Llama 3.1 8B in 16 bits on one H100, 128 sequences of 16,000 tokens: 16 GB of weights (the input embedding is not read) and 268 GB of
  // KV.
  const spec::Model model = test::model("llama-3.1-8b");
  const spec::Device device = test::device("h100-sxm");
  cost::StepCost cost(model, device, spec::deploy(model, Format::bf16, Format::bf16, 1), {}, 8192);
  const double weights = 2.0 * static_cast<double>(spec::active_parameters(model));
  const double kv = 128.0 * 16'000 * 131'072;
  const double bound = (weights + kv) / device.memory.bandwidth.value;
  const double price = cost.price(decodes(128, 16'000)).count();
  CHECK(price > bound);
  CHECK(price < bound / 0.9);
}

TEST_CASE("a window and a choice of keys stop the growth of a step") {
  cost::StepCost windowed = make(settings()[3]);
  const double near = windowed.price(decodes(32, 128, 128)).count();
  const double far = windowed.price(decodes(32, 60'000, 128)).count();
  const spec::Model all_full = [] {
    spec::Model model = test::model("gpt-oss-120b");
    model.attention.windowed_layers = 0;
    return model;
  }();
  const spec::Device device = test::device("h200-sxm");
  cost::StepCost full(all_full, device, spec::deploy(all_full, Format::mxfp4, Format::bf16, 2), test::host("vllm"), 8192);
  const double grown = full.price(decodes(32, 60'000)).count() - full.price(decodes(32, 128)).count();
  // Half of the layers keep growing.
  CHECK((far - near) / grown == Approx(0.5).epsilon(1e-6));
}

TEST_CASE("overlapping host time shows only where it is longer than the device") {
  const spec::Model model = test::model("llama-3.1-8b");
  const spec::Device device = test::device("h100-sxm");
  const spec::Deployment deployment = spec::deploy(model, Format::bf16, Format::bf16, 1);
  spec::HostCost host;
  host.step = Seconds{1e-3};
  host.admission = Seconds{0.1};
  cost::StepCost none(model, device, deployment, {}, 8192);
  cost::StepCost sum(model, device, deployment, host, 8192);
  host.overlaps = true;
  cost::StepCost longer(model, device, deployment, host, 8192);
  CHECK(sum.price(decodes(8, 500)).count() == Approx(none.price(decodes(8, 500)).count() + 1e-3));
  CHECK(longer.price(decodes(8, 500)) == none.price(decodes(8, 500)));
  CHECK(longer.price(prefill(0, 100)).count() == Approx(0.101));
}

TEST_CASE("steps with prompt chunks cost the host more than those of decodes alone") {
  const spec::Model model = test::model("llama-3.1-8b");  // 32 layers
  const spec::Device device = test::device("h100-sxm");
  const spec::Deployment deployment = spec::deploy(model, Format::bf16, Format::bf16, 1);
  spec::HostCost host;
  host.layer = Seconds{1e-5};
  host.eager = Seconds{2e-3};
  host.eager_layer = Seconds{1e-4};
  cost::StepCost none(model, device, deployment, {}, 8192);
  cost::StepCost cost(model, device, deployment, host, 8192);
  const auto added = [&](const StepSums& sums) { return cost.price(sums).count() - none.price(sums).count(); };
  CHECK(added(decodes(8, 500)) == Approx(32 * 1e-5));
  CHECK(added(prefill(0, 100)) == Approx(32 * 1e-5 + 2e-3 + 32 * 1e-4));
  CHECK(cost.breakdown(prefill(0, 100)).total().count() == Approx(cost.price(prefill(0, 100)).count()));
}

TEST_CASE("data ranks split the sequences, share the experts and step with the busiest") {
  const spec::Model model = test::model("qwen3-30b-a3b");
  const spec::Device device = test::device("h100-sxm");
  const auto cost = [&](std::int64_t tensor, std::int64_t data, std::int64_t experts) {
    return cost::StepCost(model, device, spec::deploy(model, Format::bf16, Format::bf16, tensor, experts, data), {}, 8192);
  };
  const auto part = [](const cost::Breakdown& parts, cost::Component component) {
    return parts.component[static_cast<std::size_t>(component)].count();
  };
  cost::StepCost one = cost(1, 1, 1);
  cost::StepCost two = cost(1, 2, 2);
  // 64 decodes on two ranks: attention as 32 on one device.
  const cost::Breakdown halved = two.breakdown(decodes(64, 1000));
  CHECK(part(halved, cost::Component::decode_attention) ==
        Approx(part(one.breakdown(decodes(32, 1000)), cost::Component::decode_attention)));
  CHECK(part(halved, cost::Component::dense) == Approx(part(one.breakdown(decodes(32, 1000)), cost::Component::dense)));
  // 63 decodes leave the busiest rank with 32 all the same.
  CHECK(part(two.breakdown(decodes(63, 1000)), cost::Component::dense) == part(halved, cost::Component::dense));
  // One prompt is computed by one rank, whose time is the step's.
  CHECK(part(two.breakdown(prefill(0, 1024)), cost::Component::prefill_attention) ==
        Approx(part(one.breakdown(prefill(0, 1024)), cost::Component::prefill_attention)));
  // Every rank holds half of the experts and sees the tokens of both.
  CHECK(part(halved, cost::Component::experts) < part(one.breakdown(decodes(64, 1000)), cost::Component::experts));
  CHECK(part(halved, cost::Component::collectives) > 0);
  CHECK(halved.total().count() == Approx(two.price(decodes(64, 1000)).count()));
  cost::DecodeRun run(two, decodes(63, 1000), 63);
  StepSums sums = decodes(63, 1000);
  for (int step = 0; step < 40; ++step) {
    REQUIRE(run.next() == two.price(sums));
    sums.decode_context += 63;
    sums.decode_windowed += 63;
  }
  CHECK(
      spec::refusal(test::model("llama-3.1-8b"), device, spec::deploy(test::model("llama-3.1-8b"), Format::bf16, Format::bf16, 1, 1, 2)) ==
      "data ranks share experts, and this model has none; take several replicas instead");
}
