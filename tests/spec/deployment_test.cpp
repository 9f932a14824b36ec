// Which deployments exist, and the formats they amount to.
#include <doctest/doctest.h>

#include "tests/support/catalogue.h"

using namespace marea;
using spec::Format;

TEST_CASE("query heads, KV heads and experts decide how a model may be split") {
  const spec::Device h100 = test::device("h100-sxm");
  const spec::Model llama = test::model("llama-3.1-70b");
  for (const std::int64_t ranks : {1, 2, 4, 8})
    CHECK(spec::refusal(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, ranks)) == "");
  CHECK(spec::refusal(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, 3)).find("64 query heads do not split over 3 ranks") == 0);
  CHECK(spec::refusal(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, 16)).find("no all-reduce costs for 16 ranks") !=
        std::string::npos);
  CHECK(spec::refusal(llama, h100, spec::deploy(llama, Format::fp8, Format::nvfp4, 2)).find("no attention costs for KV in nvfp4") !=
        std::string::npos);
  CHECK(spec::refusal(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, 4, 2)).find("no expert ranks") != std::string::npos);
  const spec::Model qwen = test::model("qwen3-30b-a3b");
  CHECK(spec::refusal(qwen, h100, spec::deploy(qwen, Format::bf16, Format::bf16, 8, 8)) == "");
  CHECK(spec::refusal(qwen, h100, spec::deploy(qwen, Format::bf16, Format::bf16, 8, 3)) != "");
}

TEST_CASE("KV heads split until there is one a rank and repeat beyond") {
  const spec::Model qwen = test::model("qwen3-30b-a3b");  // 4 KV heads
  CHECK(spec::kv_heads_per_rank(qwen, 1) == 4);
  CHECK(spec::kv_heads_per_rank(qwen, 4) == 1);
  CHECK(spec::kv_heads_per_rank(qwen, 8) == 1);
  CHECK(spec::kv_heads_per_rank(test::model("deepseek-v3"), 8) == 1);
}

TEST_CASE("four-bit weights leave the attention of a mixture of experts in 16 bits") {
  const spec::Deployment gpt = spec::deploy(test::model("gpt-oss-120b"), Format::mxfp4, Format::bf16, 1);
  CHECK(gpt.attention_weights == Format::bf16);
  CHECK(gpt.expert_weights == Format::mxfp4);
  CHECK(spec::deploy(test::model("llama-3.1-70b"), Format::nvfp4, Format::fp8, 1).attention_weights == Format::nvfp4);
  CHECK(spec::deploy(test::model("deepseek-v3"), Format::fp8, Format::fp8, 8).attention_weights == Format::fp8);
}

TEST_CASE("targets are durations above zero and a share") {
  const Tree tree = parse_yaml("{ttft: 3 s, tpot: 60 ms, attainment: 95 %}", "s.yaml");
  const spec::Targets targets = spec::read_targets(Value(tree, "service.targets"));
  CHECK(targets.ttft == Duration{3'000'000'000});
  CHECK(targets.tpot == Duration{60'000'000});
  CHECK_FALSE(targets.resume.has_value());
  CHECK(targets.attainment == 0.95);
  const Tree zero = parse_yaml("{ttft: 0 s}", "s.yaml");
  CHECK_THROWS_AS(spec::read_targets(Value(zero, "service.targets")), ConfigError);
}
