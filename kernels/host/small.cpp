// The small kernels of a layer on the CPU, each one pass over its operands: residual addition with RMSNorm, rotary embedding of queries and
// keys with the write of keys and values into the cache, and the gated activation.
#include <cmath>
#include <random>

#include "kernels/host/kernel.h"
#include "kernels/reference.h"

namespace marea::probe::host {

namespace {

constexpr float kEpsilon = 1e-5f;
constexpr double kBase = 10000;
constexpr std::int64_t kFirstPosition = 1000;

std::vector<float> values(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); }

class AddNorm final : public HostKernel {
 public:
  AddNorm(std::int64_t tokens, std::int64_t hidden, std::uint64_t seed)
      : tokens_(tokens),
        hidden_(hidden),
        seed_(seed),
        input_(values(tokens * hidden)),
        residual_(values(tokens * hidden)),
        gain_(values(hidden)),
        sum_(values(tokens * hidden)),
        out_(values(tokens * hidden)) {
    fill(input_, seed, Array::input);
    fill(residual_, seed, Array::residual);
    fill(gain_, seed, Array::gain);
  }

  void poison() override {
    host::poison(sum_);
    host::poison(out_);
  }

  void run() override {
#pragma omp parallel for
    for (std::int64_t token = 0; token < tokens_; ++token) {
      const float* input = input_.data() + token * hidden_;
      const float* residual = residual_.data() + token * hidden_;
      float* sum = sum_.data() + token * hidden_;
      float* out = out_.data() + token * hidden_;
      float squares = 0;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t i = 0; i < hidden_; ++i) {
        sum[i] = input[i] + residual[i];
        squares += sum[i] * sum[i];
      }
      const float scale = 1 / std::sqrt(squares / static_cast<float>(hidden_) + kEpsilon);
#pragma omp simd
      for (std::int64_t i = 0; i < hidden_; ++i) out[i] = sum[i] * scale * gain_[static_cast<std::size_t>(i)];
    }
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_)) {
      const auto row = [&](const std::vector<float>& of) {
        return std::span(of).subspan(static_cast<std::size_t>(token * hidden_), static_cast<std::size_t>(hidden_));
      };
      const std::vector<double> expected = add_and_norm(row(input_), row(residual_), gain_, kEpsilon);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        norm.add(row(out_)[i], expected[i]);
        norm.add(row(sum_)[i], static_cast<double>(row(input_)[i]) + static_cast<double>(row(residual_)[i]));
      }
    }
    return norm.value();
  }

  double tolerance() const override { return 1e-5; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override {
    return {bytes_of(input_), bytes_of(residual_), bytes_of(gain_), bytes_of(sum_), bytes_of(out_)};
  }

 private:
  std::int64_t tokens_, hidden_;
  std::uint64_t seed_;
  std::vector<float> input_, residual_, gain_, sum_, out_;
};

// Queries and keys turn; values are copied. Queries stay activations, keys and values go where the cache is.
class Rotary final : public HostKernel {
 public:
  Rotary(const Case& one, std::uint64_t seed)
      : tokens_(one.tokens.value()),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value()),
        size_(one.head_dim.value()),
        seed_(seed),
        qkv_(values(tokens_ * all_heads() * size_)),
        queries_(values(tokens_ * heads_ * size_)),
        keys_(values(tokens_ * kv_heads_ * size_)),
        values_(values(tokens_ * kv_heads_ * size_)) {
    fill(qkv_, seed, Array::query);
    for (std::int64_t token = 0; token < tokens_; ++token)
      for (std::int64_t i = 0; i < size_ / 2; ++i) {
        const double angle =
            static_cast<double>(kFirstPosition + token) * std::pow(kBase, -2 * static_cast<double>(i) / static_cast<double>(size_));
        turns_.push_back(static_cast<float>(std::cos(angle)));
        turns_.push_back(static_cast<float>(std::sin(angle)));
      }
  }

  void poison() override {
    for (std::vector<float>* out : {&queries_, &keys_, &values_}) host::poison(*out);
  }

  void run() override {
    const std::int64_t half = size_ / 2;
#pragma omp parallel for
    for (std::int64_t i = 0; i < tokens_ * all_heads(); ++i) {
      const std::int64_t token = i / all_heads();
      const std::int64_t head = i % all_heads();
      const float* from = qkv_.data() + i * size_;
      const float* turn = turns_.data() + token * size_;
      float* to = destination(token, head);
      if (head >= heads_ + kv_heads_) {
        std::copy(from, from + size_, to);
        continue;
      }
#pragma omp simd
      for (std::int64_t j = 0; j < half; ++j) {
        to[j] = from[j] * turn[2 * j] - from[j + half] * turn[2 * j + 1];
        to[j + half] = from[j + half] * turn[2 * j] + from[j] * turn[2 * j + 1];
      }
    }
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_))
      for (std::int64_t head = 0; head < all_heads(); ++head) {
        const auto at = static_cast<std::size_t>((token * all_heads() + head) * size_);
        const std::span<const float> from = std::span(qkv_).subspan(at, static_cast<std::size_t>(size_));
        const bool turns = head < heads_ + kv_heads_;
        const std::vector<double> expected =
            turns ? rotate(from, kFirstPosition + token, kBase) : std::vector<double>(from.begin(), from.end());
        for (std::size_t i = 0; i < expected.size(); ++i) norm.add(destination(token, head)[i], expected[i]);
      }
    return norm.value();
  }

  double tolerance() const override { return 1e-5; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override {
    return {bytes_of(qkv_), bytes_of(queries_), bytes_of(keys_), bytes_of(values_)};
  }

 private:
  std::int64_t all_heads() const { return heads_ + 2 * kv_heads_; }
  float* destination(std::int64_t token, std::int64_t head) {
    if (head < heads_) return queries_.data() + (token * heads_ + head) * size_;
    if (head < heads_ + kv_heads_) return keys_.data() + (token * kv_heads_ + head - heads_) * size_;
    return values_.data() + (token * kv_heads_ + head - heads_ - kv_heads_) * size_;
  }

  std::int64_t tokens_, heads_, kv_heads_, size_;
  std::uint64_t seed_;
  std::vector<float> qkv_, queries_, keys_, values_, turns_;
};

class Activation final : public HostKernel {
 public:
  Activation(std::int64_t tokens, std::int64_t width, std::uint64_t seed)
      : tokens_(tokens), width_(width), seed_(seed), gate_up_(values(2 * tokens * width)), out_(values(tokens * width)) {
    fill(gate_up_, seed, Array::gate, 4);
  }

  void poison() override { host::poison(out_); }

  void run() override {
#pragma omp parallel for
    for (std::int64_t token = 0; token < tokens_; ++token) {
      const float* gate = gate_up_.data() + token * 2 * width_;
      float* out = out_.data() + token * width_;
#pragma omp simd
      for (std::int64_t i = 0; i < width_; ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * gate[width_ + i];
    }
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_))
      for (std::int64_t i = 0; i < width_; ++i) {
        const float* pair = gate_up_.data() + token * 2 * width_;
        norm.add(out_[static_cast<std::size_t>(token * width_ + i)], gated(pair[i], pair[width_ + i]));
      }
    return norm.value();
  }

  double tolerance() const override { return 1e-5; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override { return {bytes_of(gate_up_), bytes_of(out_)}; }

 private:
  std::int64_t tokens_, width_;
  std::uint64_t seed_;
  std::vector<float> gate_up_, out_;
};

}  // namespace

std::unique_ptr<Kernel> make_small_kernels(const Case& one, std::uint64_t seed) {
  if (one.format != "fp32") throw Unsupported("no small kernels in " + one.format + " on the host");
  if (one.hidden) return std::make_unique<AddNorm>(one.tokens.value(), *one.hidden, seed);
  if (one.heads) return std::make_unique<Rotary>(one, seed);
  return std::make_unique<Activation>(one.tokens.value(), one.width.value(), seed);
}

}  // namespace marea::probe::host
