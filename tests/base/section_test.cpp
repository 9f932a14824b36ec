// Strict typed reading: what is accepted, what is refused, and what the refusal says.
#include "sim/base/section.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "sim/base/quantity.h"
#include "tests/base/support.h"

using namespace marea;
using test::message_of;

namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Reads the scalar `text` with `read`.
template <class Read>
auto reading(std::string_view text, Read read) {
  const Tree tree = parse_yaml("k: " + std::string(text), "t.yaml");
  return read(Value(*tree.find("k"), "k"));
}

template <class Read>
std::string refusal(std::string_view text, Read read) {
  const std::string message = message_of([&] { reading(text, read); });
  const std::string place = "t.yaml:1:4: k: ";
  return message.rfind(place, 0) == 0 ? message.substr(place.size()) : message;
}

const auto as_integer = [](const Value& v) { return v.integer(kLeast, kMost); };
const auto as_count = [](const Value& v) { return v.integer(1, 1000); };
const auto as_number = [](const Value& v) {
  return v.number(-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
};
const auto as_fraction = [](const Value& v) { return v.fraction(); };
const auto as_bytes = [](const Value& v) { return v.bytes().value; };
const auto as_tokens = [](const Value& v) { return v.tokens().value; };
const auto as_duration = [](const Value& v) { return v.duration().count(); };
const auto as_rate = [](const Value& v) { return v.rate().value; };
const auto as_bandwidth = [](const Value& v) { return v.bandwidth().value; };
const auto as_flops = [](const Value& v) { return v.flops().value; };

}  // namespace

TEST_CASE("a whole number is decimal digits and nothing else") {
  CHECK(reading("0", as_integer) == 0);
  CHECK(reading("-17", as_integer) == -17);
  CHECK(reading("9223372036854775807", as_integer) == kMost);
  CHECK(reading("-9223372036854775808", as_integer) == kLeast);
  CHECK(refusal("012", as_integer) == "012 is not a whole number in decimal digits; write 12");
  CHECK(refusal("+5", as_integer) == "+5 is not a whole number in decimal digits; write 5");
  CHECK(refusal("1e3", as_integer) == "1e3 is not a whole number in decimal digits; write 1000");
  CHECK(refusal("5.0", as_integer) == "5.0 is not a whole number in decimal digits; write 5");
  CHECK(refusal("1.5", as_integer) == "1.5 is not a whole number in decimal digits");
  for (const std::string text : {"0x10", "1_000", "1,000", ".nan", ".inf", "--5", "5 5", "five", "1e", "0b1", "0o7", "-.inf", "１２"}) {
    CAPTURE(text);
    CHECK(refusal(text, as_integer).find("is not a whole number in decimal digits") != std::string::npos);
  }
  CHECK(refusal("9223372036854775808", as_integer).find("out of range") != std::string::npos);
  CHECK(refusal("99999999999999999999999999999999999999999999999999", as_integer) != "(no error)");
  CHECK(refusal("0", as_count) == "0 is out of range; give 1 to 1000");
  CHECK(refusal("1001", as_count) == "1001 is out of range; give 1 to 1000");
  CHECK(refusal("\"5\"", as_integer) == "is the text 5 in quotes, but a whole number in decimal digits is due here; leave out the quotes");
  CHECK(refusal("16 tok", as_integer) == "16 tok is not a whole number in decimal digits; no unit belongs here");
  CHECK(refusal("[1]", as_integer) == "is a list, but a whole number in decimal digits is due here");
  CHECK(refusal("", as_integer).find("is empty, but a whole number in decimal digits is due here") != std::string::npos);
}

TEST_CASE("a number is finite and plain") {
  CHECK(reading("1e3", as_number) == 1000);
  CHECK(reading("0.1", as_number) == 0.1);
  CHECK(reading("-2.5E-3", as_number) == -2.5e-3);
  for (const std::string text : {".nan", ".inf", "-.inf", "nan", "inf", "1e400", "0x1p3", "1.", ".5", "1 000", "NaN"}) {
    CAPTURE(text);
    CHECK(refusal(text, as_number) != "(no error)");
  }
  CHECK(refusal("2", [](const Value& v) { return v.number(0, 1); }) == "2 is out of range; give 0 to 1");
  CHECK(refusal("-1", [](const Value& v) { return v.number(0, std::numeric_limits<double>::infinity()); }) ==
        "-1 is out of range; give 0 or more");
}

TEST_CASE("a fraction is a number or a percentage") {
  CHECK(reading("90 %", as_fraction) == 0.9);
  CHECK(reading("99.9%", as_fraction) == 0.999);
  CHECK(reading("0.92", as_fraction) == 0.92);
  CHECK(reading("0 %", as_fraction) == 0);
  CHECK(refusal("90", as_fraction) == "90 is out of range; give 0 to 1 (0 % to 100 %)");
  CHECK(refusal("101 %", as_fraction) == "101 % is out of range; give 0 to 1 (0 % to 100 %)");
  CHECK(refusal("0.5 GB", as_fraction) == "0.5 GB is not a fraction; write it like 90 % or 0.9");
}

TEST_CASE("memory has units, and GB is never GiB") {
  CHECK(reading("80 GB", as_bytes) == 80'000'000'000);
  CHECK(reading("80 GiB", as_bytes) == 85'899'345'920);
  CHECK(reading("1 TiB", as_bytes) == 1'099'511'627'776);
  CHECK(reading("141.1 GB", as_bytes) == 141'100'000'000);
  CHECK(reading("0.5 KiB", as_bytes) == 512);
  CHECK(reading("0 B", as_bytes) == 0);
  CHECK(reading("80GB", as_bytes) == 80'000'000'000);
  CHECK(refusal("80", as_bytes) == "80 has no unit; write it with one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB (for example 80 GB)");
  CHECK(refusal("80 Gb", as_bytes).find("has the unknown unit Gb; write it with one of B, kB, MB, GB") != std::string::npos);
  CHECK(refusal("80 gb", as_bytes).find("did you mean GB?") != std::string::npos);
  CHECK(refusal("5 s", as_bytes).find("is a duration, but an amount of memory is due here") != std::string::npos);
  CHECK(refusal("-5 GB", as_bytes) == "-5 GB is negative; give an amount of memory of 0 or more");
  CHECK(refusal("1.5 B", as_bytes) == "1.5 B is not a whole number of B, the smallest unit");
  CHECK(refusal("9300000 TB", as_bytes) == "9300000 TB is too large; the most is 9223372036854775807 B");
  CHECK(refusal("1e2 GB", as_bytes).find("exponent") != std::string::npos);
  CHECK(refusal("99999999999999999999999999999999999999 TiB", as_bytes) != "(no error)");
  CHECK(refusal("GB", as_bytes) == "GB is not an amount of memory");
  CHECK(refusal("1 GB", [](const Value& v) { return v.bytes(Bytes{2'000'000'000}); }) == "1 GB is too small; give 2 GB or more");
}

TEST_CASE("tokens, durations and rates have units") {
  CHECK(reading("16 tok", as_tokens) == 16);
  CHECK(reading("8 ktok", as_tokens) == 8000);
  CHECK(reading("1.5 Mtok", as_tokens) == 1'500'000);
  CHECK(refusal("8192", as_tokens) == "8192 has no unit; write it with one of tok, ktok, Mtok (for example 8192 tok)");
  CHECK(refusal("0.5 tok", as_tokens).find("not a whole number of tok") != std::string::npos);
  CHECK(reading("2.5 us", as_duration) == 2500);
  CHECK(reading("60 ms", as_duration) == 60'000'000);
  CHECK(reading("1.5 h", as_duration) == 5400'000'000'000);
  CHECK(reading("1 d", as_duration) == 86'400'000'000'000);
  CHECK(reading("5 min", as_duration) == 300'000'000'000);
  CHECK(refusal("0.5 ns", as_duration).find("not a whole number of ns") != std::string::npos);
  CHECK(refusal("5 m", as_duration).find("unknown unit m") != std::string::npos);
  CHECK(refusal("106752 d", as_duration).find("too large") != std::string::npos);  // 2^63 ns are 106751.99 days
  CHECK(refusal("0 s", [](const Value& v) { return v.duration(Duration{1}); }) == "0 s is too short; give 1 ns or more");
  CHECK(reading("0.05 /s", as_rate) == 0.05);
  CHECK(reading("0.1 /s", as_rate) == 0.1);
  CHECK(reading("6 /min", as_rate) == 0.1);
  CHECK(reading("90 /h", as_rate) == 0.025);
  CHECK(reading("4.3e-05 /s", as_rate) == 4.3e-05);
  CHECK(refusal("0.05", as_rate).find("0.05 has no unit; write it with one of /h, /min, /s (for example 0.05 /s)") != std::string::npos);
}

TEST_CASE("speeds, powers and prices have units") {
  CHECK(reading("3.35 TB/s", as_bandwidth) == 3.35e12);
  CHECK(reading("1 GiB/s", as_bandwidth) == 1073741824.0);
  CHECK(reading("989.4 TFLOP/s", as_flops) == 989.4e12);
  CHECK(reading("1.979 PFLOP/s", as_flops) == 1.979e15);
  CHECK(reading("700 W", [](const Value& v) { return v.watts().value; }) == 700);
  CHECK(reading("10.2 kW", [](const Value& v) { return v.watts().value; }) == 10200);
  CHECK(reading("2.99 $/h", [](const Value& v) { return v.dollars_per_hour().value; }) == 2.99);
  CHECK(refusal("0 GB/s", as_bandwidth) == "0 GB/s is out of range; give a bandwidth above 0");
  CHECK(refusal("3.35 TB", as_bandwidth).find("is an amount of memory, but a bandwidth is due here") != std::string::npos);
  CHECK(refusal("2.99", [](const Value& v) { return v.dollars_per_hour().value; }) == "2.99 has no unit; write it as 2.99 $/h");
  CHECK(refusal("1e300 TFLOP/s", as_flops) != "(no error)");
}

TEST_CASE("true and false are the only truth values") {
  const auto as_boolean = [](const Value& v) { return v.boolean(); };
  CHECK(reading("true", as_boolean));
  CHECK_FALSE(reading("false", as_boolean));
  for (const std::string text : {"yes", "True", "on", "1", "\"true\"", "[]"}) {
    CAPTURE(text);
    CHECK(refusal(text, as_boolean).find("write true or false") != std::string::npos);
  }
}

TEST_CASE("a name outside the list is refused with the nearest one") {
  const auto as_name = [](const Value& v) { return v.one_of({"fcfs", "priority", "shortest"}, "scheduler"); };
  CHECK(reading("fcfs", as_name) == "fcfs");
  CHECK(refusal("fcsf", as_name) == "no scheduler is called fcsf; did you mean fcfs?");
  CHECK(refusal("random", as_name) == "no scheduler is called random; there are fcfs, priority, shortest");
  CHECK(refusal("[]", as_name) == "is a list, but the name of a scheduler is due here: fcfs, priority, shortest");
}

TEST_CASE("a section refuses the keys that nobody asked for") {
  const Tree tree = parse_yaml("kv:\n  capacity: 1 GB\n  evictoin: lru\n", "t.yaml");
  Section root(Value(tree, ""));
  Section kv(root.required("kv"));
  CHECK(kv.required("capacity").bytes().value == 1'000'000'000);
  CHECK_FALSE(kv.optional("eviction").has_value());
  CHECK_FALSE(kv.has("eviction"));
  CHECK(message_of([&] { kv.close(); }) == "t.yaml:3:3: kv.evictoin: unknown key; did you mean eviction?");
  CHECK(message_of([&] { root.close(); }) == "(no error)");
  CHECK(message_of([&] { root.required("traffic"); }) == "t.yaml:1:1: the key traffic is missing");
}

TEST_CASE("a missing key points at its misspelling") {
  const Tree tree = parse_yaml("capcity: 1 GB\n", "t.yaml");
  Section root(Value(tree, "kv"));
  CHECK(message_of([&] { root.required("capacity"); }) == "t.yaml:1:1: kv: the key capacity is missing; is capcity a slip of it?");
}

TEST_CASE("the rest of a section is what was not asked for, in the order of the file") {
  const Tree tree = parse_yaml("{z: 1, name: x, a.b: 2}", "t.yaml");
  Section root(Value(tree, "programs"));
  root.required("name");
  const auto rest = root.rest();
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].first == "z");
  CHECK(rest[0].second.path() == "programs.z");
  CHECK(rest[1].second.path() == "programs[a.b]");
  CHECK(message_of([&] { root.close(); }) == "(no error)");
}

TEST_CASE("items are called by name where they have one") {
  const Tree tree = parse_yaml("[{name: dram}, {capacity: 1 GB}]", "t.yaml");
  const auto items = Value(tree, "kv.tiers").items();
  REQUIRE(items.size() == 2);
  CHECK(items[0].path() == "kv.tiers[dram]");
  CHECK(items[1].path() == "kv.tiers[1]");
  CHECK(message_of([&] { Section(Value(tree, "kv")); }) == "t.yaml:1:1: kv: is a list, but a map with keys is due here");
}

TEST_CASE("long and strange text is cut and escaped in messages") {
  const std::string message = refusal("\"" + std::string(10'000, 'x') + "\"", as_bytes);
  CHECK(message.size() < 200);
  CHECK(refusal("\"a\\nb\"", as_bytes) == "a\\nb is not an amount of memory");
}

TEST_CASE("exact text reads back as the same quantity") {
  CHECK(rc::check("durations", [] {
    const auto count = *rc::gen::map(rc::gen::pair(rc::gen::inRange<std::int64_t>(0, 1'000'000), rc::gen::inRange(0, 12)), [](auto pair) {
      for (int i = 0; i < pair.second; ++i) pair.first *= 10;
      return pair.first;
    });
    RC_ASSERT(reading(exact(Duration{count}), as_duration) == count);
    RC_ASSERT(reading(exact(Bytes{count}), as_bytes) == count);
    RC_ASSERT(reading(exact(Bytes{count % 100'000 * 1024 * 1024}), as_bytes) == count % 100'000 * 1024 * 1024);
    RC_ASSERT(reading(exact(Tokens{count}), as_tokens) == count);
  }));
  CHECK(rc::check("doubles", [] {
    const double value =
        static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)) * *rc::gen::element(1e-9, 1e-3, 1.0, 1e3, 1.0 / 3);
    RC_ASSERT(reading(exact(Rate{value}), as_rate) == value);
    RC_ASSERT(reading(exact(Bandwidth{value}), as_bandwidth) == value);
    RC_ASSERT(reading(exact(FlopRate{value}), as_flops) == value);
    RC_ASSERT(reading(shortest(value), as_number) == value);
  }));
  CHECK(reading(exact(kLongestDuration), as_duration) == kLongestDuration.count());
  CHECK(reading(exact(Bytes{kMost}), as_bytes) == kMost);
}
