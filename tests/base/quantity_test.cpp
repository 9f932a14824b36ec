// Printing quantities for people and for files, and the exact decimals underneath.
#include "sim/base/quantity.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "sim/base/decimal.h"

using namespace marea;
using namespace std::chrono_literals;

TEST_CASE("both ends of a range are shown in one unit") {
  CHECK(show_range(std::chrono::milliseconds(31), std::chrono::milliseconds(1250)) == "0.031 to 1.25 s");
  CHECK(show_range(Duration{}, std::chrono::seconds(90)) == "0 to 1.5 min");
  CHECK(show_range(std::chrono::microseconds(3), std::chrono::microseconds(4)) == "3 to 4 us");
}

TEST_CASE("people read the largest unit that fits, to four digits") {
  CHECK(show(Duration{1'250'000'000}) == "1.25 s");
  CHECK(show(Duration{0}) == "0 ns");
  CHECK(show(Duration{999}) == "999 ns");
  CHECK(show(Duration{1500}) == "1.5 us");
  CHECK(show(Duration{90min}) == "1.5 h");
  CHECK(show(Duration{-5ms}) == "-5 ms");
  CHECK(show(Duration{59'999'900'000}) == "1 min");  // 59.9999 s rounds up to the next unit
  CHECK(show(Bytes{80'000'000'000}) == "80 GB");
  CHECK(show(Bytes{1'234'567}) == "1.235 MB");
  CHECK(show(Bytes{12'345'678'000'000'000}) == "12346 TB");
  CHECK(show_binary(Bytes{1'099'511'627'776}) == "1 TiB");
  CHECK(show_binary(Bytes{1'000}) == "1000 B");
  CHECK(show(Tokens{12'400}) == "12.4 ktok");
  CHECK(show(Rate{0.05}) == "0.05 /s");
  CHECK(show(Bandwidth{3.35e12}) == "3.35 TB/s");
  CHECK(show(FlopRate{989.4e12}) == "989.4 TFLOP/s");
  CHECK(show_percent(0.123456) == "12.35 %");
}

TEST_CASE("files get exact text in the largest unit that divides") {
  CHECK(exact(Duration{90'000'000}) == "90 ms");
  CHECK(exact(Duration{90'000'001}) == "90000001 ns");
  CHECK(exact(Duration{0}) == "0 ns");
  CHECK(exact(Duration{2h}) == "2 h");
  CHECK(exact(Bytes{80'000'000'000}) == "80 GB");
  CHECK(exact(Bytes{1'099'511'627'776}) == "1 TiB");
  CHECK(exact(Bytes{512}) == "512 B");
  CHECK(exact(Rate{0.05}) == "0.05 /s");
  CHECK(exact(Bandwidth{3.35e12}) == "3.35 TB/s");
  CHECK(exact(FlopRate{1.979e15}) == "1.979 PFLOP/s");
  CHECK(exact(Watts{700}) == "700 W");
}

TEST_CASE("decimals print as they read") {
  CHECK(rc::check("round trip", [] {
    const auto mantissa = *rc::gen::arbitrary<std::int64_t>();
    const auto exponent = *rc::gen::inRange(-60, 60);
    const auto value = multiply(decimal(mantissa), {1, exponent});
    RC_ASSERT(value.has_value());
    const auto back = read_decimal(to_string(*value));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->rest.empty());
    RC_ASSERT(back->value == *value);
  }));
}

TEST_CASE("decimal sums, products and quotients agree with integers") {
  CHECK(rc::check("arithmetic", [] {
    const std::int64_t a = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
    const std::int64_t b = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
    const std::int64_t d = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    RC_ASSERT(whole(*add(decimal(a), decimal(b))) == a + b);
    RC_ASSERT(whole(*multiply(decimal(a), decimal(b))) == a * b);
    RC_ASSERT(divide(*multiply(decimal(a), decimal(d)), d, 0) == decimal(a));
  }));
  CHECK_FALSE(divide(decimal(1), 3, 30).has_value());
  CHECK(to_string(*divide(decimal(1), 8, 3)) == "0.125");
  CHECK_FALSE(divide(decimal(1), 8, 2).has_value());
}

TEST_CASE("decimals that leave the range are nothing, never wrong") {
  const Decimal large = read_decimal("99999999999999999999999999999999999999")->value;
  CHECK_FALSE(multiply(large, large).has_value());
  CHECK_FALSE(add(large, {1, -20}).has_value());
  CHECK_FALSE(whole(large).has_value());
  CHECK_FALSE(read_decimal("1e401").has_value());
  CHECK_FALSE(read_decimal("9999999999999999999999999999999999999999999").has_value());
  CHECK(read_decimal("1e400")->value == Decimal{1, 400});
}
