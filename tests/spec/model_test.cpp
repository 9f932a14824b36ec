// Reading models: impossible shapes are refused at their place.
#include <doctest/doctest.h>

#include <string>

#include "sim/spec/model.h"

using namespace marea;

namespace {

std::string text(const std::string& attention, const std::string& rest = "feed_forward: {width: 16}\n") {
  return "name: toy\nlayers: 4\nhidden: 8\nvocabulary: 10\nmax_length: 100 tok\nattention: " + attention + "\n" + rest;
}

spec::Model read(const std::string& yaml) {
  const Tree tree = parse_yaml(yaml, "toy.yaml");
  return spec::read_model(Value(tree, "model"));
}

std::string refused(const std::string& yaml) {
  try {
    read(yaml);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("parameters of a toy model can be counted by hand") {
  const spec::Model model = read(text("{heads: 2, kv_heads: 1, head_dim: 4}"));
  const spec::Parameters counted = spec::parameters(model);
  CHECK(counted.embedding == 80);
  CHECK(counted.head == 80);
  // q 8x8, k 8x4, v 8x4, o 8x8 = 192 a layer.
  CHECK(counted.attention == 4 * 192);
  CHECK(counted.feed_forward == 4 * 3 * 8 * 16);
  CHECK(counted.total() == 80 + 80 + 768 + 1536);
  CHECK(spec::active_parameters(model) == counted.total() - 80);
  CHECK(model.origin.status == spec::Status::assumed);
}

TEST_CASE("experts, dense first layers, shared experts and tied embeddings are counted") {
  const spec::Model model = read(text("{heads: 2, kv_heads: 2, head_dim: 4}",
                                      "tied_embeddings: true\nfeed_forward: {layers: 1, width: 16}\n"
                                      "experts: {layers: 3, count: 5, per_token: 2, width: 6, shared_width: 7}\n"));
  const spec::Parameters counted = spec::parameters(model);
  CHECK(counted.head == 0);
  CHECK(counted.router == 3 * 8 * 5);
  CHECK(counted.experts == 3 * 5 * 3 * 8 * 6);
  CHECK(counted.feed_forward == 3 * 8 * 16 + 3 * 3 * 8 * 7);
  CHECK(spec::active_parameters(model) == 80 + counted.router + counted.attention + counted.feed_forward + 3 * 2 * 3 * 8 * 6);
}

TEST_CASE("windowed layers stop growing and sparse layers do not") {
  const spec::Model windowed = read(text("{heads: 2, kv_heads: 1, head_dim: 4, windowed: {layers: 3, window: 10 tok}}"));
  CHECK(spec::kv_bytes_per_token(windowed, spec::Format::bf16) == 4 * 2 * 4 * 2);
  CHECK(spec::growing_kv_bytes_per_token(windowed, spec::Format::bf16) == 1 * 2 * 4 * 2);
  CHECK(windowed.attention.key_limit() == 10);
  const spec::Model sparse = read(text("{heads: 2, kv_heads: 1, head_dim: 4, sparse: {layers: 3, keys: 20 tok, index: 30 B}}"));
  CHECK(spec::growing_kv_bytes_per_token(sparse, spec::Format::bf16) == 4 * 2 * 4 * 2);
  CHECK(sparse.attention.key_limit() == 20);
  CHECK(sparse.attention.full_layers() == 1);
}

TEST_CASE("impossible shapes are refused with their place and what would be right") {
  CHECK(contains(refused(text("{heads: 3, kv_heads: 2, head_dim: 4}")), "3 query heads do not divide over 2 KV heads"));
  CHECK(contains(refused(text("{heads: 2, kv_heads: 1, head_dim: 4, windowed: {layers: 5, window: 8 tok}}")),
                 "more windowed or sparse layers"));
  CHECK(contains(refused(text("{heads: 2, kv_heads: 1, head_dim: 4, windowed: {layers: 1, window: 8 tok}, "
                              "sparse: {layers: 1, keys: 8 tok, index: 1 B}}")),
                 "not both"));
  CHECK(contains(refused(text("{heads: 2, kv_heads: 1, head_dim: 4}", "")), "at least one of them"));
  CHECK(contains(refused(text("{heads: 2, kv_heads: 1, head_dim: 4}",
                              "feed_forward: {layers: 4, width: 2}\nexperts: {layers: 1, count: 2, per_token: 1, width: 2}\n")),
                 "more dense and expert layers"));
  CHECK(contains(refused(text("{heads: 2, kv_heads: 1, head_dim: 4}", "experts: {layers: 4, count: 2, per_token: 3, width: 2}\n")),
                 "per_token"));
  CHECK(contains(refused(text("{heads: 2, kv_head: 1, head_dim: 4}")), "kv_heads"));
  CHECK(contains(refused(text("{heads: 2, kv_heads: 1, head_dim: 4}", "feed_forward: {width: 16}\nsource: config\nstatus: datasheet\n")),
                 "source"));
}

TEST_CASE("bytes of a number include the scales of its block") {
  CHECK(spec::bytes_per_number(spec::Format::mxfp4) == 17.0 / 32);  // 32 half bytes and a scale byte
  CHECK(spec::bytes_per_number(spec::Format::nvfp4) == 9.0 / 16);   // 16 half bytes and a scale byte
  CHECK(spec::bytes_per_number(spec::Format::int4) == 66.0 / 128);  // 128 half bytes and a 16-bit scale
  CHECK(spec::bytes_per_number(spec::Format::fp8) == 1);
  CHECK(spec::bytes_per_number(spec::Format::fp32) == 4);
}
