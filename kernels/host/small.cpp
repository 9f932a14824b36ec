// The small kernels of one layer on the CPU: residual addition with RMSNorm (twice), rotary embedding of queries and keys with the write of
// keys and values into the cache, and the gated activation. Each is one pass over its operands.
#include <cmath>
#include <random>

#include "kernels/host/kernel.h"
#include "kernels/reference.h"

namespace marea::probe::host {

namespace {

constexpr float kEpsilon = 1e-5f;
constexpr double kBase = 10000;
constexpr std::int64_t kFirstPosition = 1000;

// One addition and norm: what it reads and writes.
struct Norm {
  std::vector<float> input, residual, gain, sum, out;

  Norm(std::int64_t tokens, std::int64_t hidden, std::uint64_t seed) {
    const auto size = static_cast<std::size_t>(tokens * hidden);
    input.resize(size);
    residual.resize(size);
    gain.resize(static_cast<std::size_t>(hidden));
    sum.resize(size);
    out.resize(size);
    fill(input, seed, Array::input);
    fill(residual, seed, Array::residual);
    fill(gain, seed, Array::gain);
  }

  void run(std::int64_t tokens, std::int64_t hidden) {
#pragma omp parallel for
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t at = token * hidden;
      float squares = 0;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t i = 0; i < hidden; ++i) {
        const float value = input[static_cast<std::size_t>(at + i)] + residual[static_cast<std::size_t>(at + i)];
        sum[static_cast<std::size_t>(at + i)] = value;
        squares += value * value;
      }
      const float scale = 1 / std::sqrt(squares / static_cast<float>(hidden) + kEpsilon);
#pragma omp simd
      for (std::int64_t i = 0; i < hidden; ++i)
        out[static_cast<std::size_t>(at + i)] = sum[static_cast<std::size_t>(at + i)] * scale * gain[static_cast<std::size_t>(i)];
    }
  }
};

class SmallKernels final : public HostKernel {
 public:
  SmallKernels(const Case& one, std::uint64_t seed)
      : tokens_(one.tokens.value()),
        hidden_(one.hidden.value()),
        width_(one.width.value()),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value()),
        size_(one.head_dim.value()),
        seed_(seed),
        before_attention_(tokens_, hidden_, seed),
        before_mlp_(tokens_, hidden_, seed + 1) {
    qkv_.resize(static_cast<std::size_t>(tokens_ * (heads_ + 2 * kv_heads_) * size_));
    queries_.resize(static_cast<std::size_t>(tokens_ * heads_ * size_));
    keys_.resize(static_cast<std::size_t>(tokens_ * kv_heads_ * size_));
    values_.resize(keys_.size());
    gate_up_.resize(static_cast<std::size_t>(tokens_ * 2 * width_));
    active_.resize(static_cast<std::size_t>(tokens_ * width_));
    fill(qkv_, seed, Array::query);
    fill(gate_up_, seed, Array::gate, 4);
    for (std::int64_t token = 0; token < tokens_; ++token)
      for (std::int64_t i = 0; i < size_ / 2; ++i) {
        const double angle =
            static_cast<double>(kFirstPosition + token) * std::pow(kBase, -2 * static_cast<double>(i) / static_cast<double>(size_));
        turns_.push_back(static_cast<float>(std::cos(angle)));
        turns_.push_back(static_cast<float>(std::sin(angle)));
      }
  }

  void poison() override {
    for (std::vector<float>* out :
         {&before_attention_.sum, &before_attention_.out, &before_mlp_.sum, &before_mlp_.out, &queries_, &keys_, &values_, &active_})
      host::poison(*out);
  }

  void run() override {
    before_attention_.run(tokens_, hidden_);
    rotate_and_store();
    before_mlp_.run(tokens_, hidden_);
    activate();
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_)) {
      add_norm(norm, before_attention_, token);
      add_norm(norm, before_mlp_, token);
      for (std::int64_t head = 0; head < heads_ + 2 * kv_heads_; ++head) add_head(norm, token, head);
      for (std::int64_t i = 0; i < width_; ++i) {
        const float* pair = gate_up_.data() + token * 2 * width_;
        norm.add(active_[static_cast<std::size_t>(token * width_ + i)], gated(pair[i], pair[width_ + i]));
      }
    }
    return norm.value();
  }

  double tolerance() const override { return 1e-5; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override {
    std::vector<std::span<const std::byte>> out;
    for (const Norm* norm : {&before_attention_, &before_mlp_})
      for (const std::vector<float>* one : {&norm->input, &norm->residual, &norm->gain, &norm->sum, &norm->out})
        out.push_back(bytes_of(*one));
    for (const std::vector<float>* one : {&qkv_, &queries_, &keys_, &values_, &gate_up_, &active_}) out.push_back(bytes_of(*one));
    return out;
  }

 private:
  // Queries and keys turn; values are copied. Queries stay activations, keys and values go where the cache is.
  void rotate_and_store() {
    const std::int64_t all = heads_ + 2 * kv_heads_;
#pragma omp parallel for
    for (std::int64_t i = 0; i < tokens_ * all; ++i) {
      const std::int64_t token = i / all;
      const float* from = qkv_.data() + i * size_;
      const float* turn = turns_.data() + token * size_;
      float* to = destination(token, i % all);
      const std::int64_t half = size_ / 2;
      if (i % all >= heads_ + kv_heads_) {
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

  float* destination(std::int64_t token, std::int64_t head) {
    if (head < heads_) return queries_.data() + (token * heads_ + head) * size_;
    if (head < heads_ + kv_heads_) return keys_.data() + (token * kv_heads_ + head - heads_) * size_;
    return values_.data() + (token * kv_heads_ + head - heads_ - kv_heads_) * size_;
  }

  void activate() {
#pragma omp parallel for
    for (std::int64_t token = 0; token < tokens_; ++token) {
      const float* gate = gate_up_.data() + token * 2 * width_;
      float* out = active_.data() + token * width_;
#pragma omp simd
      for (std::int64_t i = 0; i < width_; ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * gate[width_ + i];
    }
  }

  void add_norm(RelativeNorm& norm, const Norm& one, std::int64_t token) const {
    const auto at = static_cast<std::size_t>(token * hidden_);
    const auto size = static_cast<std::size_t>(hidden_);
    const std::vector<double> expected =
        add_and_norm(std::span(one.input).subspan(at, size), std::span(one.residual).subspan(at, size), one.gain, kEpsilon);
    for (std::size_t i = 0; i < size; ++i) norm.add(one.out[at + i], expected[i]);
    for (std::size_t i = 0; i < size; ++i)
      norm.add(one.sum[at + i], static_cast<double>(one.input[at + i]) + static_cast<double>(one.residual[at + i]));
  }

  void add_head(RelativeNorm& norm, std::int64_t token, std::int64_t head) {
    const auto at = static_cast<std::size_t>((token * (heads_ + 2 * kv_heads_) + head) * size_);
    const std::span<const float> from = std::span(qkv_).subspan(at, static_cast<std::size_t>(size_));
    const bool turns = head < heads_ + kv_heads_;
    const std::vector<double> expected =
        turns ? rotate(from, kFirstPosition + token, kBase) : std::vector<double>(from.begin(), from.end());
    for (std::size_t i = 0; i < expected.size(); ++i) norm.add(destination(token, head)[i], expected[i]);
  }

  std::int64_t tokens_, hidden_, width_, heads_, kv_heads_, size_;
  std::uint64_t seed_;
  Norm before_attention_, before_mlp_;
  std::vector<float> qkv_, queries_, keys_, values_, gate_up_, active_, turns_;
};

}  // namespace

std::unique_ptr<Kernel> make_small_kernels(const Case& one, std::uint64_t seed) {
  if (one.format != "fp32") throw Unsupported("no small kernels in " + one.format + " on the host");
  return std::make_unique<SmallKernels>(one, seed);
}

}  // namespace marea::probe::host
