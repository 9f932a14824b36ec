// Plain references in double precision, one output row at a time, against which every kernel is checked; and the norm that compares them.
// Operands come through functions that write one row of values, as rounded to the kernel's number format, so nothing large is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace marea::probe {

using RowOf = std::function<void(std::int64_t row, std::span<float> values)>;

// || measured - expected || / || expected || over all that was added. A NaN among the measured ones makes it NaN, nothing added makes it
// NaN.
class RelativeNorm {
 public:
  void add(double measured, double expected);
  double value() const;

 private:
  double difference_ = 0;
  double expected_ = 0;
};

// Sum of products of two rows: one output of a dense layer.
double dot(std::span<const float> left, std::span<const float> right);

// Keys [first, last) that a query sees, and the factor on its scores, usually 1 / sqrt(head size).
struct Seen {
  std::int64_t first = 0;
  std::int64_t last = 0;
  double scale = 1;
};

// Softmax-weighted sum of the values of the keys seen: one head of one query. `key` and `value` are asked for the rows of tokens.
std::vector<double> attend(std::span<const float> query, const Seen& seen, const RowOf& key, const RowOf& value, std::size_t value_size);

// (input + residual) / root mean square * gain: what is left of a token's hidden state after the addition and RMSNorm (Zhang and Sennrich
// 2019).
std::vector<double> add_and_norm(std::span<const float> input, std::span<const float> residual, std::span<const float> gain,
                                 double epsilon);

// Rotary embedding of one head in halves (as in GPT-NeoX): pairs (i, i + size/2) turned by position / base^(2i/size) (Su et al. 2021).
std::vector<double> rotate(std::span<const float> head, std::int64_t position, double base);

// silu(gate) * up (SwiGLU, Shazeer 2020).
double gated(double gate, double up);

// Up to `most` different numbers below `count`, drawn by the seed, rising; 0 and count - 1 are always among them where two fit.
std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t most, std::uint64_t seed);

}  // namespace marea::probe
