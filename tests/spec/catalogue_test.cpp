// The shipped catalogue: every file reads, is named as its file, and agrees with the published figures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "tests/support/catalogue.h"

using namespace marea;

namespace {

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(MAREA_SOURCE_DIR) + "/" + folder))
    if (entry.path().extension() == ".yaml") found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

bool among(const std::vector<std::string>& all, const std::string& name) { return std::find(all.begin(), all.end(), name) != all.end(); }

}  // namespace

TEST_CASE("every shipped model, device and node reads and is named as its file") {
  const std::vector<std::string> models = names("models");
  for (const std::string& name : models) {
    CAPTURE(name);
    CHECK(test::model(name).name == name);
  }
  const std::vector<std::string> devices = names("hardware/devices");
  for (const std::string& name : devices) {
    CAPTURE(name);
    CHECK(test::device(name).name == name);
  }
  const std::vector<std::string> nodes = names("hardware/nodes");
  for (const std::string& name : nodes) {
    CAPTURE(name);
    const spec::Node node = test::node(name);
    CHECK(node.name == name);
    CHECK(among(devices, node.device.name));
  }
  for (const char* needed :
       {"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-32b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b", "minimax-m3"})
    CHECK_MESSAGE(among(models, needed), needed);
  for (const char* needed : {"a100-80", "h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm", "gb300", "mi300x", "mi355x", "rtx-4090"})
    CHECK_MESSAGE(among(devices, needed), needed);
}

TEST_CASE("parameters counted from the shape are within 1.5 % of what the makers publish") {
  for (const std::string& name : names("models")) {
    CAPTURE(name);
    const spec::Model model = test::model(name);
    REQUIRE(model.published_parameters > 0);
    CHECK(std::abs(static_cast<double>(spec::parameters(model).total()) / model.published_parameters - 1) < 0.015);
  }
}

TEST_CASE("KV bytes of a token agree with the published table") {
  struct Row {
    const char* model;
    double all;
    double growing;
    std::int64_t index;
  };
  // 2 x layers x KV heads x head width x 2 bytes; latent: layers x (rank + rope) x 2; gpt-oss: half of the layers keep a window alone.
  for (const Row& row :
       {Row{"llama-3.1-8b", 131'072, 131'072, 0}, Row{"llama-3.1-70b", 327'680, 327'680, 0}, Row{"llama-3.1-405b", 516'096, 516'096, 0},
        Row{"qwen3-32b", 262'144, 262'144, 0}, Row{"qwen3-30b-a3b", 98'304, 98'304, 0}, Row{"deepseek-v3", 70'272, 70'272, 0},
        Row{"gpt-oss-120b", 73'728, 36'864, 0}, Row{"minimax-m3", 122'880, 122'880, 7'296}}) {
    CAPTURE(row.model);
    const spec::Model model = test::model(row.model);
    CHECK(spec::kv_bytes_per_token(model, spec::Format::bf16) == row.all);
    CHECK(spec::growing_kv_bytes_per_token(model, spec::Format::bf16) == row.growing);
    CHECK(spec::kv_bytes_per_token(model, spec::Format::fp8) == row.all / 2);
    CHECK(model.attention.index_per_token.value == row.index);
  }
  CHECK(test::model("minimax-m3").max_length == 1'048'576);
}

TEST_CASE("active parameters agree with the published counts where a model names them") {
  // Input embedding left out; computed from the shape in the facts table: 36.62, 5.13, 3.04, 24.51 billion.
  CHECK(static_cast<double>(spec::active_parameters(test::model("deepseek-v3"))) == doctest::Approx(36.62e9).epsilon(0.002));
  CHECK(static_cast<double>(spec::active_parameters(test::model("gpt-oss-120b"))) == doctest::Approx(5.13e9).epsilon(0.002));
  CHECK(static_cast<double>(spec::active_parameters(test::model("qwen3-30b-a3b"))) == doctest::Approx(3.04e9).epsilon(0.002));
  CHECK(static_cast<double>(spec::active_parameters(test::model("minimax-m3"))) == doctest::Approx(24.51e9).epsilon(0.002));
}
