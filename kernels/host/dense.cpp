// A dense layer through Eigen: outputs = inputs x weights^T. With bf16 weights, panels are widened to fp32 in the cache and multiplied
// there, as CPU engines do; the memory sees bf16. A few rows are multiplied one by one with a panel that stays in the cache: Eigen's
// general product would first repack all weights, which costs several times the product.
#include <Eigen/Dense>
#include <algorithm>
#include <type_traits>

#include "kernels/host/kernel.h"
#include "kernels/reference.h"

namespace marea::probe::host {

namespace {

template <class Value>
using Matrix = Eigen::Matrix<Value, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t kFewRows = 6;  // above, repacking pays

// outputs = inputs x panel^T
template <class Panel>
void multiply(const Eigen::Map<const Matrix<float>>& inputs, const Panel& panel,
              Eigen::Ref<Matrix<float>, 0, Eigen::OuterStride<>> outputs) {
  if (inputs.rows() > kFewRows) {
    outputs.noalias() = inputs * panel.transpose();
    return;
  }
  for (Eigen::Index row = 0; row < inputs.rows(); ++row) outputs.row(row).transpose().noalias() = panel * inputs.row(row).transpose();
}

template <class Weight>
class Dense final : public HostKernel {
 public:
  Dense(const Case& one, std::uint64_t seed) : m_(one.m.value()), n_(one.n.value()), k_(one.k.value()), seed_(seed) {
    inputs_.resize(static_cast<std::size_t>(m_ * k_));
    weights_.resize(static_cast<std::size_t>(n_ * k_));
    outputs_.resize(static_cast<std::size_t>(m_ * n_));
    fill(inputs_, seed, Array::input);
    fill(weights_, seed, Array::weight);
  }

  void poison() override { host::poison(outputs_); }

  void run() override {
    const Eigen::Map<const Matrix<float>> inputs(inputs_.data(), m_, k_);
    Eigen::Map<Matrix<float>> outputs(outputs_.data(), m_, n_);
    // A thread's share of the outputs in one panel of fp32 weights, where they are multiplied as they are; else panels of which the fp32
    // copy stays in a cache of 1 MB.
    const std::int64_t share = (n_ + threads() - 1) / threads();
    const std::int64_t cached = std::min(share, std::max<std::int64_t>(16, (std::int64_t{1} << 18) / k_));
    const std::int64_t panel = std::is_same_v<Weight, float> && m_ > kFewRows ? share : cached;
    const std::int64_t panels = (n_ + panel - 1) / panel;
#pragma omp parallel
    {
      Matrix<float> wide;
#pragma omp for
      for (std::int64_t i = 0; i < panels; ++i) {
        const std::int64_t first = i * panel;
        const std::int64_t rows = std::min(panel, n_ - first);
        const Weight* weights = weights_.data() + first * k_;
        if constexpr (std::is_same_v<Weight, float>) {
          multiply(inputs, Eigen::Map<const Matrix<float>>(weights, rows, k_), outputs.middleCols(first, rows));
        } else {
          wide.resize(rows, k_);
          widen(weights, rows * k_, wide.data());
          multiply(inputs, wide, outputs.middleCols(first, rows));
        }
      }
    }
  }

  double error() override {
    RelativeNorm norm;
    std::vector<float> input(static_cast<std::size_t>(k_)), weight(input.size());
    for (const std::int64_t row : some_of(m_, 8, seed_)) {
      draw_row(seed_, Array::input, static_cast<std::uint64_t>(row * k_), input);
      for (const std::int64_t column : some_of(n_, 32, seed_ + 1)) {
        draw_row(seed_, Array::weight, static_cast<std::uint64_t>(column * k_), weight);
        for (float& one : weight) one = static_cast<float>(Weight(one));
        norm.add(outputs_[static_cast<std::size_t>(row * n_ + column)], dot(input, weight));
      }
    }
    return norm.value();
  }

  double tolerance() const override { return 1e-4; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override { return {bytes_of(inputs_), bytes_of(weights_), bytes_of(outputs_)}; }

 private:
  std::int64_t m_, n_, k_;
  std::uint64_t seed_;
  std::vector<float> inputs_;
  std::vector<Weight> weights_;
  std::vector<float> outputs_;
};

}  // namespace

std::unique_ptr<Kernel> make_dense(const Case& one, std::uint64_t seed) {
  if (one.k.value() % 4 != 0) throw Unsupported("an inner size that is no multiple of four");
  if (one.format == "fp32") return std::make_unique<Dense<Float>>(one, seed);
  if (one.format == "bf16") return std::make_unique<Dense<Bfloat>>(one, seed);
  throw Unsupported("no dense layer in " + one.format + " on the host");
}

}  // namespace marea::probe::host
