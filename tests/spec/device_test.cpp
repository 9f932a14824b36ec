// Reading devices and nodes: strictness, sources, and what serves a format without coefficients.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/catalogue.h"

using namespace marea;

namespace {

std::string refused(const std::string& path, const std::string& yaml) {
  Tree tree = test::device_tree("h100-sxm");
  try {
    set_path(tree, path, yaml, "test");
    spec::read_device(Value(tree, "device"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("capacity and bandwidth of a node's device can be scaled where they stand") {
  Tree tree = test::node_tree("hgx-h100");
  const spec::Node before = spec::read_node(Value(tree, "node"));
  set_path(tree, "device.memory.capacity", "1.5x", "--set");
  const spec::Node after = spec::read_node(Value(tree, "node"));
  CHECK(before.device.memory.capacity.value == 81'559LL * 1024 * 1024);
  CHECK(2 * after.device.memory.capacity.value == 3 * before.device.memory.capacity.value);
  CHECK(after.device.memory.bandwidth == before.device.memory.bandwidth);
}

TEST_CASE("wrong devices are refused at their place") {
  CHECK(contains(refused("memory.capacity", "80"), "memory.capacity"));
  CHECK(contains(refused("memory.speed", "1 GB/s"), "speed"));
  CHECK(contains(refused("memory.source", "hearsay"), "hearsay"));
  CHECK(contains(refused("memory.status", "guessed"), "guessed"));
  CHECK(contains(refused("costs.gemm.fp8.floor", "5"), "costs.gemm.fp8.floor"));
  CHECK(contains(refused("costs.gemm.fp8.compute", "0"), "costs.gemm.fp8.compute"));
  CHECK(contains(refused("costs.gemm.fp8.math", "nvfp4"), "nvfp4"));
  CHECK(contains(refused("costs.gemm.fp9", "{floor: 1 us}"), "fp9"));
  CHECK(contains(refused("compute.units", "0"), "compute.units"));
}

TEST_CASE("a status that is not an assumption needs a source") {
  Tree tree = test::device_tree("h100-sxm");
  Tree* memory = tree.find("memory");
  std::erase_if(memory->entries, [](const TreeEntry& entry) { return entry.key == "source"; });
  CHECK_THROWS_AS(spec::read_device(Value(tree, "device")), ConfigError);
}

TEST_CASE("a format that a device cannot multiply in runs weight-only and says that this is assumed") {
  const spec::Device a100 = test::device("a100-80");
  const spec::GemmCost cost = a100.gemm(spec::Format::fp8);
  CHECK(cost.math == spec::Format::bf16);
  CHECK(cost.origin.status == spec::Status::assumed);
  CHECK(cost.compute_efficiency == a100.gemm(spec::Format::bf16).compute_efficiency);
  CHECK(test::device("h100-sxm").gemm(spec::Format::fp8).math == spec::Format::fp8);
  CHECK(test::device("h100-sxm").gemm(spec::Format::fp16).origin.status == spec::Status::fitted);
}

TEST_CASE("coefficients keep fractions of a nanosecond") {
  const Tree tree = parse_yaml("[1.7 ns, 0.0017 us, 2 ms, 5 us]", "t.yaml");
  const std::vector<Value> items = Value(tree, "t").items();
  CHECK(spec::read_seconds(items[0]).count() == 1.7e-9);
  CHECK(spec::read_seconds(items[1]).count() == 1.7e-9);
  CHECK(spec::read_seconds(items[2]).count() == 2e-3);
  CHECK(spec::read_seconds(items[3]).count() == 5e-6);
  for (const std::string wrong : {"5", "us", "-1 us", "5 GB", ".nan", "1e400 s"}) {
    CAPTURE(wrong);
    const Tree bad = parse_yaml("v: " + wrong, "t.yaml");
    CHECK_THROWS_AS(spec::read_seconds(Value(*bad.find("v"), "v")), ConfigError);
  }
}

TEST_CASE("host times are what is stated, and 0 where nothing is") {
  const Tree tree =
      parse_yaml("{step: 1 ms, sequence: 12.5 us, eager_layer: 40 us, overlaps: true, front_end: {call: 16 ms, token: 1.5 us}}", "s.yaml");
  const spec::HostCost host = spec::read_host(Value(tree, "serving.host"));
  CHECK(host.step.count() == 1e-3);
  CHECK(host.sequence.count() == 12.5e-6);
  CHECK(host.eager_layer.count() == 40e-6);
  CHECK(host.admission.count() == 0);
  CHECK(host.overlaps);
  CHECK(host.origin.status == spec::Status::assumed);
  // 16 ms and 1.5 us for each of 1,000 prompt tokens
  CHECK(host.front_end(1000) == std::chrono::microseconds(17'500));
  const Tree wrong = parse_yaml("{steps: 1 ms}", "s.yaml");
  CHECK_THROWS_AS(spec::read_host(Value(wrong, "serving.host")), ConfigError);
}
