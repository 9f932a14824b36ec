#include "sim/base/decimal.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "sim/base/error.h"

namespace marea {

namespace {

constexpr int kMostDigits = 37;  // so many always fit in 127 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool times(Int128& value, Int128 factor) { return !__builtin_mul_overflow(value, factor, &value); }

Decimal normal(Int128 mantissa, int exponent) {
  if (mantissa == 0) return {};
  while (mantissa % 10 == 0) {
    mantissa /= 10;
    ++exponent;
  }
  return {mantissa, exponent};
}

// The mantissa that `value` has at a lower exponent; false when it does not fit.
bool scaled(const Decimal& value, int exponent, Int128& out) {
  out = value.mantissa;
  for (int e = value.exponent; e > exponent; --e) {
    if (out == 0) return true;
    if (!times(out, 10)) return false;
  }
  return true;
}

std::string digits_of(Int128 value) {
  std::string out;
  for (; value != 0; value /= 10) out += static_cast<char>('0' + static_cast<int>(value % 10));
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::optional<DecimalText> read_decimal(std::string_view text) {
  std::size_t at = 0;
  const auto peek = [&](std::size_t ahead = 0) { return at + ahead < text.size() ? text[at + ahead] : '\0'; };
  const bool negative = peek() == '-';
  if (negative) ++at;
  if (!is_digit(peek()) || (peek() == '0' && is_digit(peek(1)))) return std::nullopt;
  Int128 mantissa = 0;
  int exponent = 0;
  const auto take = [&](int place) {  // place: what one more digit does to the exponent
    if (!times(mantissa, 10) || __builtin_add_overflow(mantissa, Int128{peek() - '0'}, &mantissa)) return false;
    exponent += place;
    ++at;
    return true;
  };
  while (is_digit(peek()))
    if (!take(0)) return std::nullopt;
  if (peek() == '.' && is_digit(peek(1))) {
    ++at;
    while (is_digit(peek()))
      if (!take(-1)) return std::nullopt;
  }
  DecimalText out;
  const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
  if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
    int power = 0;
    const bool below = peek(1) == '-';
    for (at += 1 + sign; is_digit(peek()); ++at) power = std::min(power * 10 + (peek() - '0'), 100000);
    if (power > 400) return std::nullopt;
    exponent += below ? -power : power;
    out.exponent = true;
  }
  out.value = normal(negative ? -mantissa : mantissa, exponent);
  out.digits = text.substr(0, at);
  out.rest = text.substr(at);
  out.rest.remove_prefix(std::min(out.rest.find_first_not_of(' '), out.rest.size()));
  return out;
}

std::optional<Decimal> add(const Decimal& a, const Decimal& b) {
  const int exponent = std::min(a.exponent, b.exponent);
  Int128 x = 0, y = 0, sum = 0;
  if (!scaled(a, exponent, x) || !scaled(b, exponent, y) || __builtin_add_overflow(x, y, &sum)) return std::nullopt;
  return normal(sum, exponent);
}

std::optional<Decimal> multiply(const Decimal& a, const Decimal& b) {
  Int128 product = a.mantissa;
  if (!times(product, b.mantissa)) return std::nullopt;
  return normal(product, a.exponent + b.exponent);
}

std::optional<Decimal> divide(const Decimal& a, std::int64_t divisor, int places) {
  check(divisor > 0, "a decimal is divided by a positive number");
  Int128 rest = a.mantissa;
  int exponent = a.exponent;
  while (rest % divisor != 0) {
    if (exponent <= -places || !times(rest, 10)) return std::nullopt;
    --exponent;
  }
  return normal(rest / divisor, exponent);
}

Decimal decimal(std::int64_t value) { return normal(value, 0); }

std::optional<std::int64_t> whole(const Decimal& value) {
  Int128 out = 0;
  if (value.exponent < 0 || !scaled(value, 0, out)) return std::nullopt;
  if (out < std::numeric_limits<std::int64_t>::min() || out > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(out);
}

Decimal rounded(const Decimal& value) {
  if (value.exponent >= 0) return value;
  if (value.exponent < -kMostDigits - 1) return {};  // below a half, however many digits
  Int128 rest = value.mantissa;
  for (int e = value.exponent; e < -1; ++e) rest /= 10;  // the first decimal place decides
  const Int128 tenth = rest % 10;
  return normal(rest / 10 + (tenth >= 5 ? 1 : tenth <= -5 ? -1 : 0), 0);
}

double nearest_double(const Decimal& value) {
  if (value.mantissa == 0) return 0;
  const bool negative = value.mantissa < 0;
  const std::string text = digits_of(negative ? -value.mantissa : value.mantissa) + 'e' + std::to_string(value.exponent);
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::result_out_of_range) out = value.exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
  return negative ? -out : out;
}

std::string to_string(const Decimal& value) {
  if (value.mantissa == 0) return "0";
  const bool negative = value.mantissa < 0;
  std::string digits = digits_of(negative ? -value.mantissa : value.mantissa);
  const int size = static_cast<int>(digits.size());
  if (value.exponent + size > kMostDigits || value.exponent < -kMostDigits) {
    digits += 'e' + std::to_string(value.exponent);
  } else if (value.exponent >= 0) {
    digits.append(static_cast<std::size_t>(value.exponent), '0');
  } else if (-value.exponent < size) {
    digits.insert(static_cast<std::size_t>(size + value.exponent), 1, '.');
  } else {
    digits = "0." + std::string(static_cast<std::size_t>(-value.exponent - size), '0') + digits;
  }
  return (negative ? "-" : "") + digits;
}

}  // namespace marea
