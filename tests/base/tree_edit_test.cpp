// Merging trees and setting values by path, relative values included.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "sim/base/section.h"
#include "sim/base/tree.h"
#include "tests/base/support.h"

using namespace marea;
using test::message_of;

namespace {

Tree parse(std::string_view text) { return parse_yaml(text, "t.yaml"); }

constexpr std::string_view kScenario = R"(cluster:
  pools:
    - {name: main, replicas: 2}
    - {name: spare, replicas: 1}
kv:
  memory_fraction: 0.92
  tiers:
    - {capacity: 1 TiB, write: through}
memory: 80 GB
targets: {attainment: 90 %, tpot: 60 ms, rate: 0.05 /s}
name: sample
)";

// The text at `path` of the sample after one setting.
std::string after(std::string_view path, std::string_view value) {
  Tree tree = parse(kScenario);
  set_path(tree, path, value, "--set");
  const Tree* found = find_path(tree, path, {});
  REQUIRE(found != nullptr);
  return found->text;
}

std::string error_of(std::string_view path, std::string_view value) {
  return message_of([&] { after(path, value); });
}

}  // namespace

TEST_CASE("maps merge key by key and everything else is replaced") {
  Tree base = parse("a: {x: 1, y: 2}\nb: [1, 2]\nc: {z: 1}\n");
  merge(base, parse("a: {y: 3, w: 4}\nb: [9]\nc: 5\nd: new\n"));
  CHECK(same(base, parse("a: {x: 1, y: 3, w: 4}\nb: [9]\nc: 5\nd: new\n")));
}

TEST_CASE("merging keeps the place of what each file wrote") {
  Tree base = parse_yaml("a: {x: 1, y: 2}\n", "base.yaml");
  merge(base, parse_yaml("\na: {y: 3}\n", "over.yaml"));
  CHECK(base.find("a")->find("x")->mark.file == "base.yaml");
  CHECK(to_string(base.find("a")->find("y")->mark) == "over.yaml:2:8");
}

TEST_CASE("merging a tree over itself changes nothing") {
  Tree tree = parse(kScenario);
  merge(tree, parse(kScenario));
  CHECK(same(tree, parse(kScenario)));
}

TEST_CASE("a path addresses keys, items by name and items by index") {
  CHECK(after("cluster.pools[main].replicas", "7") == "7");
  CHECK(after("cluster.pools[1].replicas", "7") == "7");
  CHECK(after("kv.tiers[0].capacity", "2 TiB") == "2 TiB");
  CHECK(after("cluster[name]", "x") == "x");
  CHECK(after("brand.new.key", "5") == "5");
  Tree tree = parse(kScenario);
  set_path(tree, "kv.tiers", "[{name: dram, capacity: 1 TiB}, {name: nvme}]", "--set");
  CHECK(tree.find("kv")->find("tiers")->items.size() == 2);
  set_path(tree, "cluster.pools[main]", "{name: main, replicas: 5}", "--set");
  CHECK(same(tree.find("cluster")->find("pools")->items[0], parse("{name: main, replicas: 5}")));
}

TEST_CASE("what was set names its source in errors") {
  Tree tree = parse(kScenario);
  set_path(tree, "memory", "80", "--set");
  CHECK(message_of([&] { Value(*tree.find("memory"), "memory").bytes(); }) ==
        "--set: memory: 80 has no unit; write it with one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB (for example 80 GB)");
}

TEST_CASE("a wrong path says what there is") {
  CHECK(error_of("cluster.pools[mian].replicas", "1") ==
        "--set: cluster.pools[mian]: there is no such item; the list has main, spare; did you mean main?");
  CHECK(error_of("cluster.pools[7].replicas", "1") == "--set: cluster.pools[7]: there is no such item; the list has main, spare");
  CHECK(error_of("kv.tiers[1].capacity", "1 TB") == "--set: kv.tiers[1]: there is no such item; the list has the items 0 to 0");
  CHECK(error_of("cluster.pools.main", "1") ==
        "--set: cluster.pools.main: a list stands before this step; address its items like [0] or [name]");
  CHECK(error_of("memory.x", "1") == "--set: memory.x: the value 80 GB stands before this step, which has no keys and no items");
  CHECK(error_of("nothing[0]", "1") == "--set: nothing[0]: there is no such list to take an item from; set the whole list");
  for (const std::string path : {"", ".", "a..b", "a.", "a[", "a[]", "a]", "a[0]b", "[", ".a"}) {
    CAPTURE(path);
    CHECK(error_of(path, "1").find("a path reads like") != std::string::npos);
  }
}

TEST_CASE("a relative value is computed exactly") {
  CHECK(after("memory", "1.5x") == "120 GB");
  CHECK(after("memory", "+64 GB") == "144 GB");
  CHECK(after("memory", "-10 %") == "72 GB");
  CHECK(after("memory", "+1 GiB") == "81.073741824 GB");
  CHECK(after("memory", "-500 MB") == "79.5 GB");
  CHECK(after("kv.tiers[0].capacity", "0.5x") == "0.5 TiB");
  CHECK(after("kv.tiers[0].capacity", "+1 GB") == "1100.511627776 GB");  // a GB has no short form in TiB
  CHECK(after("kv.memory_fraction", "-10 %") == "0.828");
  CHECK(after("cluster.pools[main].replicas", "4x") == "8");
  CHECK(after("cluster.pools[main].replicas", "+1") == "3");
  CHECK(after("cluster.pools[main].replicas", "1.5x") == "3");
  CHECK(after("targets.attainment", "-10 %") == "81 %");
  CHECK(after("targets.tpot", "+1 s") == "1060 ms");
  CHECK(after("targets.rate", "2x") == "0.1 /s");
  CHECK(after("targets.rate", "+1 /h") == "181 /h");
  CHECK(after("memory", "0x") == "0 GB");
}

TEST_CASE("a relative change of what is counted is rounded to the nearest byte, token and nanosecond") {
  const auto changed = [](std::string_view standing, std::string_view change) {
    Tree tree = parse("a: " + std::string(standing));
    set_path(tree, "a", change, "--set");
    return tree.find("a")->text;
  };
  CHECK(changed("85520809987 B", "1.1x") == "94072890986 B");  // ... 985.7
  CHECK(changed("1 TiB", "1.0000000000001x") == "1 TiB");      // a tenth of a byte more
  CHECK(changed("15 tok", "1.1x") == "17 tok");                // 16.5: halves away from zero
  CHECK(changed("14 tok", "0.9x") == "13 tok");                // 12.6
  CHECK(changed("14 tok", "+10%") == "15 tok");                // 15.4
  CHECK(changed("14 tok", "+10 %") == "15 tok");
  CHECK(changed("333 ns", "0.5x") == "167 ns");
  CHECK(changed("1 s", "0.333333333333333x") == "0.333333333 s");
  CHECK(changed("0.05 /s", "1.1x") == "0.055 /s");  // rates are not counted: exact
  CHECK(changed("3.35 TB/s", "1.0000000001x") == "3.350000000335 TB/s");
  CHECK(changed("90 %", "1.1111x") == "99.999 %");
  // Whatever the factor, the reader accepts the result, and no other whole number is nearer.
  CHECK(rc::check("nearest", [] {
    const auto amount = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    const auto thousandths = *rc::gen::inRange<std::int64_t>(0, 5000);
    Tree tree = parse("a: " + std::to_string(amount) + " B");
    set_path(tree, "a", std::to_string(thousandths / 1000) + "." + std::to_string(1000 + thousandths % 1000).substr(1) + "x", "--set");
    const std::int64_t result = Value(*tree.find("a"), "a").bytes().value;
    RC_ASSERT(2 * std::abs(1000 * result - amount * thousandths) <= 1000);
  }));
}

TEST_CASE("a relative value needs a number of its kind") {
  CHECK(error_of("name", "2x") == "--set: name: 2x is relative, but sample stands there, which is no number; give an absolute value");
  CHECK(error_of("cluster.pools", "2x") ==
        "--set: cluster.pools: 2x is relative, but a list stands there, which is no number; give an absolute value");
  CHECK(error_of("missing.key", "1.5x") == "--set: missing.key: 1.5x is relative, but nothing stands there; give an absolute value");
  CHECK(error_of("memory", "+5 s").find("does not go with 80 GB") != std::string::npos);
  CHECK(error_of("memory", "+5").find("has no unit, but 80 GB stands there") != std::string::npos);
  CHECK(error_of("kv.memory_fraction", "+5 GB").find("has a unit, but the plain number 0.92") != std::string::npos);
}

TEST_CASE("only the form makes a value relative") {
  CHECK(after("name", "\"2x\"") == "2x");
  CHECK(after("name", "-5") == "-5");
  CHECK(after("name", "0x10") == "0x10");
  CHECK(after("name", "+five") == "+five");
  CHECK(after("name", "-x") == "-x");
  CHECK(after("name", "2 x") == "2 x");
}

TEST_CASE("a relative change and its inverse lead back, and the result is always accepted") {
  CHECK(rc::check("up and down", [] {
    const auto amount = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const auto more = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const std::string unit = *rc::gen::element<std::string>("B", "kB", "MB", "GB", "KiB", "MiB", "GiB");
    const std::string other = *rc::gen::element<std::string>("B", "kB", "MB", "GB", "KiB", "MiB", "GiB");
    Tree tree = parse("a: " + std::to_string(amount) + " " + unit);
    const Bytes before = Value(*tree.find("a"), "a").bytes();
    const Bytes change = [&] {
      const Tree one = parse(std::to_string(more) + " " + other);
      return Value(one, "").bytes();
    }();
    const std::string step = std::to_string(more) + " " + other;
    set_path(tree, "a", std::string("+") + step, "--set");
    RC_ASSERT(Value(*tree.find("a"), "a").bytes() == before + change);
    set_path(tree, "a", std::string("-") + step, "--set");
    RC_ASSERT(Value(*tree.find("a"), "a").bytes() == before);
    set_path(tree, "a", "4x", "--set");
    set_path(tree, "a", "0.25x", "--set");
    RC_ASSERT(Value(*tree.find("a"), "a").bytes() == before);
  }));
}
