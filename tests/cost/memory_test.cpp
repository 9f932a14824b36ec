// The memory account: exact, complete, and right where real engines have logged the same figure.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/cost/memory.h"
#include "tests/support/catalogue.h"

using namespace marea;
using doctest::Approx;
using spec::Format;

namespace {

std::int64_t row(const cost::MemoryAccount& account, const std::string& start) {
  for (const cost::MemoryRow& row : account.rows)
    if (row.name.rfind(start, 0) == 0) return row.bytes.value;
  return 0;
}

}  // namespace

TEST_CASE("the rows of every account sum to the device exactly, whether or not the model fits") {
  for (const char* model_name :
       {"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b", "minimax-m3"})
    for (const char* device_name : {"a100-80", "h100-sxm", "b300-sxm", "mi355x", "rtx-4090"})
      for (const std::int64_t tensor : {1, 2, 4, 8})
        for (const Format format : {Format::bf16, Format::fp8, Format::int4}) {
          CAPTURE(model_name);
          CAPTURE(device_name);
          CAPTURE(tensor);
          const spec::Model model = test::model(model_name);
          const spec::Device device = test::device(device_name);
          const cost::MemoryAccount account = cost::account(model, device, spec::deploy(model, format, Format::fp8, tensor), {});
          std::int64_t sum = 0;
          for (const cost::MemoryRow& part : account.rows) sum += part.bytes.value;
          CHECK(sum == device.memory.capacity.value);
          CHECK(account.fits() == (account.longest == account.max_length));
          CHECK(account.tokens == std::max<std::int64_t>(0, account.blocks - 1) * 16);
        }
}

TEST_CASE("weights are parameters times bytes, split over the ranks") {
  const spec::Model llama = test::model("llama-3.1-8b");
  // 8.03e9 parameters in 16 bits, norms left out.
  CHECK(cost::weights_per_rank(llama, spec::deploy(llama, Format::bf16, Format::bf16, 1)).value == 2 * spec::parameters(llama).total());
  const double four = static_cast<double>(cost::weights_per_rank(llama, spec::deploy(llama, Format::bf16, Format::bf16, 4)).value);
  CHECK(4 * four == Approx(static_cast<double>(2 * spec::parameters(llama).total())));
  // fp8 halves all but embedding and head, which stay in 16 bits.
  const spec::Parameters counted = spec::parameters(llama);
  CHECK(cost::weights_per_rank(llama, spec::deploy(llama, Format::fp8, Format::bf16, 1)).value ==
        counted.total() + counted.embedding + counted.head);
  // gpt-oss-120b: experts at 4.25 bits, the other 2.1e9 parameters in 16.
  const spec::Model gpt = test::model("gpt-oss-120b");
  const spec::Parameters parts = spec::parameters(gpt);
  CHECK(cost::weights_per_rank(gpt, spec::deploy(gpt, Format::mxfp4, Format::bf16, 1)).value ==
        parts.experts / 32 * 17 + 2 * (parts.total() - parts.experts));
}

TEST_CASE("grouped KV splits over ranks until its heads are used up, latent KV and the sparse index do not") {
  const spec::Model llama = test::model("llama-3.1-70b");
  CHECK(cost::kv_per_token(llama, spec::deploy(llama, Format::fp8, Format::bf16, 1)).value == 327'680);
  CHECK(cost::kv_per_token(llama, spec::deploy(llama, Format::fp8, Format::bf16, 4)).value == 81'920);
  const spec::Model qwen = test::model("qwen3-30b-a3b");
  CHECK(cost::kv_per_token(qwen, spec::deploy(qwen, Format::bf16, Format::bf16, 8)).value == 98'304 / 4);
  const spec::Model deepseek = test::model("deepseek-v3");
  CHECK(cost::kv_per_token(deepseek, spec::deploy(deepseek, Format::fp8, Format::bf16, 8)).value == 70'272);
  // Measured on B300 with two ranks: 37.62 GiB for 1,048,576 tokens of MiniMax-M3 in fp8, of which 512 B a token belong to the draft layer.
  const spec::Model minimax = test::model("minimax-m3");
  const std::int64_t token = cost::kv_per_token(minimax, spec::deploy(minimax, Format::fp8, Format::fp8, 2)).value;
  CHECK(token == 30'720 + 7'296);
  CHECK(static_cast<double>((token + 512) * 1'048'576) / (1LL << 30) == Approx(37.62).epsilon(0.0005));
}

TEST_CASE("windowed layers are a constant of each sequence, not part of a block") {
  const spec::Model gpt = test::model("gpt-oss-120b");
  const spec::Device h100 = test::device("h100-sxm");
  const cost::MemoryAccount account = cost::account(gpt, h100, spec::deploy(gpt, Format::mxfp4, Format::bf16, 1), {});
  CHECK(account.per_token.value == 36'864);
  CHECK(account.per_block.value == 36'864 * 16);
  CHECK(account.per_sequence.value == 128 * 36'864);
  CHECK(row(account, "window and recurrent state") == 256 * 128 * 36'864);
}

TEST_CASE("a sequence that does not fit is named with what it lacks and the longest that does") {
  const spec::Model llama = test::model("llama-3.1-70b");
  const spec::Device h100 = test::device("h100-sxm");
  const cost::MemoryAccount none = cost::account(llama, h100, spec::deploy(llama, Format::bf16, Format::bf16, 1), {});
  CHECK_FALSE(none.fits());
  CHECK(none.blocks == 0);
  CHECK(none.longest == 0);
  CHECK(row(none, "short of") < 0);
  // What is missing is the shortfall and the KV of one sequence (and the null block).
  CHECK(none.missing.value == -row(none, "short of") + (131'072 / 16 + 1) * none.per_block.value);

  spec::EngineLimits limits;
  limits.blocks = 101;
  const cost::MemoryAccount outright = cost::account(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, 4), limits);
  CHECK(outright.blocks == 101);
  CHECK(outright.longest == 1'600);
  CHECK(outright.missing.value == (131'072 / 16 - 100) * outright.per_block.value);
  limits.max_length = 1'600;
  CHECK(cost::account(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, 4), limits).fits());
  limits.max_length = 1'601;
  CHECK_FALSE(cost::account(llama, h100, spec::deploy(llama, Format::fp8, Format::fp8, 4), limits).fits());
}

TEST_CASE("more memory, fewer bytes and more ranks never leave fewer tokens") {
  const spec::Model llama = test::model("llama-3.1-70b");
  spec::Device device = test::device("h100-sxm");
  const auto tokens = [&](Format weights, Format kv, std::int64_t tensor) {
    return cost::account(llama, device, spec::deploy(llama, weights, kv, tensor), {}).tokens;
  };
  const std::int64_t base = tokens(Format::fp8, Format::fp8, 2);
  CHECK(base > 0);
  CHECK(tokens(Format::int4, Format::fp8, 2) > base);
  CHECK(tokens(Format::fp8, Format::bf16, 2) < base);
  CHECK(tokens(Format::fp8, Format::fp8, 4) > 2 * base);
  device.memory.capacity = Bytes{device.memory.capacity.value + (1LL << 30)};
  // A GiB more, of which the engine takes its fraction.
  CHECK(static_cast<double>(tokens(Format::fp8, Format::fp8, 2) - base) == Approx(0.92 * (1LL << 30) / (327'680.0 / 2 / 2)).epsilon(0.01));
}
