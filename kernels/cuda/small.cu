// Calls the small kernels of a layer.
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

std::vector<float> drawn(std::uint64_t seed, Array array, std::int64_t first, std::int64_t count, float scale = 1) {
  std::vector<float> out(static_cast<std::size_t>(count));
  draw_row(seed, array, static_cast<std::uint64_t>(first), out);
  for (float& value : out) value = static_cast<float>(Bfloat(value * scale));
  return out;
}

// Compares numbers `first` and following of an output.
void add(RelativeNorm& norm, const Operand<Bfloat>& outputs, std::int64_t first, const std::vector<double>& expected) {
  const std::vector<Bfloat> found = outputs.values(first, static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) norm.add(static_cast<double>(static_cast<float>(found[i])), expected[i]);
}

unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads + 255) / 256); }

class AddNorm final : public CudaKernel {
 public:
  AddNorm(const Case& one, std::uint64_t seed, int copies)
      : CudaKernel(static_cast<double>(one.bytes.value()), copies),
        tokens_(one.tokens.value()),
        hidden_(one.hidden.value()),
        seed_(seed),
        input_(tokens_ * hidden_, copies),
        residual_(tokens_ * hidden_, copies),
        gain_(hidden_, copies),
        sum_(tokens_ * hidden_, copies),
        out_(tokens_ * hidden_, copies) {
    fill(input_, input_.count(), seed, Array::input);
    fill(residual_, residual_.count(), seed, Array::residual);
    fill(gain_, gain_.count(), seed, Array::gain);
  }

  void poison() override {
    sum_.poison();
    out_.poison();
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_)) {
      const std::int64_t at = token * hidden_;
      const std::vector<float> input = drawn(seed_, Array::input, at, hidden_), residual = drawn(seed_, Array::residual, at, hidden_);
      add(norm, out_, at, add_and_norm(input, residual, drawn(seed_, Array::gain, 0, hidden_), kEpsilon));
      std::vector<double> sum;
      for (std::size_t i = 0; i < input.size(); ++i) sum.push_back(static_cast<double>(input[i]) + static_cast<double>(residual[i]));
      add(norm, sum_, at, sum);
    }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    const NormArguments arguments{input_.at(copy), residual_.at(copy),        gain_.at(copy), sum_.at(copy),
                                  out_.at(copy),   static_cast<int>(hidden_), kEpsilon};
    add_norm<<<static_cast<unsigned>(tokens_), kNormThreads, kNormThreads / 32 * sizeof(float), stream>>>(arguments);
  }

 private:
  std::int64_t tokens_, hidden_;
  std::uint64_t seed_;
  Operand<Bfloat> input_, residual_, gain_, sum_, out_;
};

class Rotary final : public CudaKernel {
 public:
  Rotary(const Case& one, std::uint64_t seed, int copies)
      : CudaKernel(static_cast<double>(one.bytes.value()), copies),
        tokens_(one.tokens.value()),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value()),
        size_(one.head_dim.value()),
        seed_(seed),
        qkv_(tokens_ * all_heads() * size_, copies),
        queries_(tokens_ * heads_ * size_, copies),
        keys_(2 * tokens_ * kv_heads_ * size_, copies),
        values_(2 * tokens_ * kv_heads_ * size_, copies),
        turns_(tokens_ * size_ / 2, 1),
        slots_(tokens_, 1),
        places_(static_cast<std::size_t>(2 * tokens_)) {
    fill(qkv_, qkv_.count(), seed, Array::query);
    std::vector<float2> turns;
    for (std::int64_t token = 0; token < tokens_; ++token)
      for (std::int64_t i = 0; i < size_ / 2; ++i) {
        const double angle =
            static_cast<double>(kFirstPosition + token) * std::pow(kBase, -2 * static_cast<double>(i) / static_cast<double>(size_));
        turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      }
    turns_.set(turns);
    std::iota(places_.begin(), places_.end(), 0);
    std::shuffle(places_.begin(), places_.end(), std::mt19937_64(seed));
    places_.resize(static_cast<std::size_t>(tokens_));
    slots_.set(places_);
  }

  void poison() override {
    for (Operand<Bfloat>* one : {&queries_, &keys_, &values_}) one->poison();
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_))
      for (std::int64_t head = 0; head < all_heads(); ++head) {
        const std::vector<float> from = drawn(seed_, Array::query, (token * all_heads() + head) * size_, size_);
        const std::int64_t place = places_[static_cast<std::size_t>(token)] * kv_heads_;
        if (head >= heads_ + kv_heads_)
          add(norm, values_, (place + head - heads_ - kv_heads_) * size_, {from.begin(), from.end()});
        else if (head >= heads_)
          add(norm, keys_, (place + head - heads_) * size_, rotate(from, kFirstPosition + token, kBase));
        else
          add(norm, queries_, (token * heads_ + head) * size_, rotate(from, kFirstPosition + token, kBase));
      }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
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
  }

 private:
  std::int64_t all_heads() const { return heads_ + 2 * kv_heads_; }

  std::int64_t tokens_, heads_, kv_heads_, size_;
  std::uint64_t seed_;
  Operand<Bfloat> qkv_, queries_, keys_, values_;
  Operand<float2> turns_;
  Operand<int> slots_;
  std::vector<int> places_;
};

class Activation final : public CudaKernel {
 public:
  Activation(const Case& one, std::uint64_t seed, int copies)
      : CudaKernel(static_cast<double>(one.bytes.value()), copies),
        tokens_(one.tokens.value()),
        width_(one.width.value()),
        seed_(seed),
        gate_up_(2 * tokens_ * width_, copies),
        out_(tokens_ * width_, copies) {
    fill(gate_up_, gate_up_.count(), seed, Array::gate, 4);
  }

  void poison() override { out_.poison(); }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t token : some_of(tokens_, 4, seed_)) {
      const std::vector<float> both = drawn(seed_, Array::gate, token * 2 * width_, 2 * width_, 4);
      std::vector<double> expected;
      for (std::size_t i = 0; i < both.size() / 2; ++i) expected.push_back(gated(both[i], both[i + both.size() / 2]));
      add(norm, out_, token * width_, expected);
    }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    gated_activation<<<blocks_for(tokens_ * width_ / 8), 256, 0, stream>>>(gate_up_.at(copy), out_.at(copy), tokens_,
                                                                           static_cast<int>(width_));
  }

 private:
  std::int64_t tokens_, width_;
  std::uint64_t seed_;
  Operand<Bfloat> gate_up_, out_;
};

}  // namespace

std::unique_ptr<Kernel> make_small_kernels(const Case& one, std::uint64_t seed) {
  if (one.format != "bf16") throw Unsupported("small kernels in " + one.format);
  if (one.hidden.value_or(8) % 8 != 0 || one.hidden.value_or(8) > kMostHidden || one.width.value_or(8) % 8 != 0 ||
      one.head_dim.value_or(16) % 16 != 0)
    throw Unsupported("sizes that are no multiples of a chunk, or hidden states of more than 16384 values");
  const int copies = copies_for(static_cast<double>(one.bytes.value()));
  if (one.hidden) return std::make_unique<AddNorm>(one, seed, copies);
  if (one.heads) return std::make_unique<Rotary>(one, seed, copies);
  return std::make_unique<Activation>(one, seed, copies);
}

}  // namespace marea::probe::cuda
