// Calls the small kernels of a layer: four launches.
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "kernels/cuda/runtime.cuh"
#include "kernels/cuda/small.cuh"
#include "kernels/reference.h"

namespace marea::probe::cuda {

namespace {

constexpr float kEpsilon = 1e-5f;
constexpr double kBase = 10000;
constexpr std::int64_t kFirstPosition = 1000;

struct Norm {
  Operand<Bfloat> input, residual, gain, sum, out;
  std::uint64_t seed;

  Norm(std::int64_t tokens, std::int64_t hidden, std::uint64_t the_seed, int copies)
      : input(tokens * hidden, copies),
        residual(tokens * hidden, copies),
        gain(hidden, copies),
        sum(tokens * hidden, copies),
        out(tokens * hidden, copies),
        seed(the_seed) {
    fill(input, input.count(), seed, Array::input);
    fill(residual, residual.count(), seed, Array::residual);
    fill(gain, gain.count(), seed, Array::gain);
  }
  void launch(cudaStream_t stream, int copy, std::int64_t tokens, std::int64_t hidden) const {
    const NormArguments arguments{input.at(copy), residual.at(copy),        gain.at(copy), sum.at(copy),
                                  out.at(copy),   static_cast<int>(hidden), kEpsilon};
    add_norm<<<static_cast<unsigned>(tokens), kNormThreads, kNormThreads / 32 * sizeof(float), stream>>>(arguments);
  }
};

std::vector<float> drawn(std::uint64_t seed, Array array, std::int64_t first, std::int64_t count, float scale = 1) {
  std::vector<float> out(static_cast<std::size_t>(count));
  draw_row(seed, array, static_cast<std::uint64_t>(first), out);
  for (float& value : out) value = static_cast<float>(Bfloat(value * scale));
  return out;
}

class SmallKernels final : public CudaKernel {
 public:
  SmallKernels(const Case& one, std::uint64_t seed, double bytes, int copies)
      : CudaKernel(bytes, copies),
        tokens_(one.tokens.value()),
        hidden_(one.hidden.value()),
        width_(one.width.value()),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value()),
        size_(one.head_dim.value()),
        seed_(seed),
        before_attention_(tokens_, hidden_, seed, copies),
        before_mlp_(tokens_, hidden_, seed + 1, copies),
        qkv_(tokens_ * all_heads() * size_, copies),
        queries_(tokens_ * heads_ * size_, copies),
        keys_(2 * tokens_ * kv_heads_ * size_, copies),
        values_(2 * tokens_ * kv_heads_ * size_, copies),
        gate_up_(2 * tokens_ * width_, copies),
        active_(tokens_ * width_, copies),
        turns_(tokens_ * size_ / 2, 1),
        slots_(tokens_, 1) {
    fill(qkv_, qkv_.count(), seed, Array::query);
    fill(gate_up_, gate_up_.count(), seed, Array::gate, 4);
    std::vector<float2> turns;
    for (std::int64_t token = 0; token < tokens_; ++token)
      for (std::int64_t i = 0; i < size_ / 2; ++i) {
        const double angle =
            static_cast<double>(kFirstPosition + token) * std::pow(kBase, -2 * static_cast<double>(i) / static_cast<double>(size_));
        turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      }
    turns_.set(turns);
    places_.resize(static_cast<std::size_t>(2 * tokens_));
    std::iota(places_.begin(), places_.end(), 0);
    std::shuffle(places_.begin(), places_.end(), std::mt19937_64(seed));
    places_.resize(static_cast<std::size_t>(tokens_));
    slots_.set(places_);
  }

  void poison() override {
    for (Operand<Bfloat>* one :
         {&before_attention_.sum, &before_attention_.out, &before_mlp_.sum, &before_mlp_.out, &queries_, &keys_, &values_, &active_})
      one->poison();
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_)) {
      add_norm_rows(norm, before_attention_, token);
      add_norm_rows(norm, before_mlp_, token);
      for (std::int64_t head = 0; head < all_heads(); ++head) add_head(norm, token, head);
      const std::vector<float> both = drawn(seed_, Array::gate, token * 2 * width_, 2 * width_, 4);
      std::vector<double> expected;
      for (std::size_t i = 0; i < static_cast<std::size_t>(width_); ++i)
        expected.push_back(gated(both[i], both[i + static_cast<std::size_t>(width_)]));
      add(norm, active_, token * width_, expected);
    }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    before_attention_.launch(stream, copy, tokens_, hidden_);
    const RotaryArguments arguments{qkv_.at(copy),
                                    turns_.at(0),
                                    slots_.at(0),
                                    queries_.at(copy),
                                    keys_.at(copy),
                                    values_.at(copy),
                                    static_cast<int>(tokens_),
                                    static_cast<int>(heads_),
                                    static_cast<int>(kv_heads_),
                                    static_cast<int>(size_)};
    rotary<<<blocks_for(tokens_ * all_heads() * size_ / 16), 256, 0, stream>>>(arguments);
    before_mlp_.launch(stream, copy, tokens_, hidden_);
    gated_activation<<<blocks_for(tokens_ * width_ / 8), 256, 0, stream>>>(gate_up_.at(copy), active_.at(copy), tokens_,
                                                                           static_cast<int>(width_));
  }

 private:
  std::int64_t all_heads() const { return heads_ + 2 * kv_heads_; }
  static unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads + 255) / 256); }

  static void add(RelativeNorm& norm, const Operand<Bfloat>& outputs, std::int64_t first, const std::vector<double>& expected) {
    const std::vector<Bfloat> found = outputs.values(first, static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) norm.add(static_cast<double>(static_cast<float>(found[i])), expected[i]);
  }

  void add_norm_rows(RelativeNorm& norm, const Norm& one, std::int64_t token) const {
    const std::vector<float> input = drawn(one.seed, Array::input, token * hidden_, hidden_),
                             residual = drawn(one.seed, Array::residual, token * hidden_, hidden_);
    add(norm, one.out, token * hidden_, add_and_norm(input, residual, drawn(one.seed, Array::gain, 0, hidden_), kEpsilon));
    std::vector<double> sum;
    for (std::size_t i = 0; i < input.size(); ++i) sum.push_back(static_cast<double>(input[i]) + static_cast<double>(residual[i]));
    add(norm, one.sum, token * hidden_, sum);
  }

  void add_head(RelativeNorm& norm, std::int64_t token, std::int64_t head) const {
    const std::vector<float> from = drawn(seed_, Array::query, (token * all_heads() + head) * size_, size_);
    const std::int64_t place = places_[static_cast<std::size_t>(token)] * kv_heads_;
    if (head >= heads_ + kv_heads_)
      add(norm, values_, (place + head - heads_ - kv_heads_) * size_, {from.begin(), from.end()});
    else if (head >= heads_)
      add(norm, keys_, (place + head - heads_) * size_, rotate(from, kFirstPosition + token, kBase));
    else
      add(norm, queries_, (token * heads_ + head) * size_, rotate(from, kFirstPosition + token, kBase));
  }

  std::int64_t tokens_, hidden_, width_, heads_, kv_heads_, size_;
  std::uint64_t seed_;
  Norm before_attention_, before_mlp_;
  Operand<Bfloat> qkv_, queries_, keys_, values_, gate_up_, active_;
  Operand<float2> turns_;
  Operand<int> slots_;
  std::vector<int> places_;
};

}  // namespace

std::unique_ptr<Kernel> make_small_kernels(const Case& one, std::uint64_t seed) {
  if (one.format != "bf16") throw Unsupported("small kernels in " + one.format);
  if (one.hidden.value() % 8 != 0 || one.hidden.value() > kMostHidden || one.width.value() % 8 != 0 || one.head_dim.value() % 16 != 0)
    throw Unsupported("sizes that are no multiples of a chunk, or hidden states of more than 16384 values");
  const std::int64_t heads = 2 * one.heads.value() + 4 * one.kv_heads.value();
  const double row = 2.0 * static_cast<double>(8 * one.hidden.value() + 3 * one.width.value() + heads * one.head_dim.value());
  const double bytes = row * static_cast<double>(one.tokens.value());
  return std::make_unique<SmallKernels>(one, seed, bytes, copies_for(bytes));
}

}  // namespace marea::probe::cuda
