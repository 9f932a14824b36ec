// Dense layers through cuBLASLt, outputs = inputs x weights^T in each number format that the device has instructions for, with the first
// algorithm that the library's heuristics name, as frameworks do. Scales are one number for a tensor (fp8) or one for 16 values (nvfp4).
#include <cublasLt.h>
#include <cuda_fp4.h>

#include <stdexcept>

#include "kernels/cuda/runtime.cuh"
#include "kernels/reference.h"

namespace marea::probe::cuda {

namespace {

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) throw Unsupported(std::string("cuBLASLt does not support it: ") + what);
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + cublasLtGetStatusString(status));
}

// Two fp4 values in a byte.
struct Fp4Pair {
  __nv_fp4x2_storage_t bits;
};

}  // namespace

// Four fp4 values: the first of each two in the lower half of the byte.
__host__ __device__ inline void put_four(Fp4Pair* to, std::int64_t quad, const float (&values)[4]) {
  to[2 * quad].bits = __nv_cvt_float2_to_fp4x2(float2{values[0], values[1]}, __NV_E2M1, cudaRoundNearest);
  to[2 * quad + 1].bits = __nv_cvt_float2_to_fp4x2(float2{values[2], values[3]}, __NV_E2M1, cudaRoundNearest);
}

namespace {

template <class Value>
float rounded(float value) {
  return static_cast<float>(Value(value));
}
template <>
float rounded<std::int8_t>(float value) {
  return rintf(value);
}
template <>
float rounded<Fp4Pair>(float value) {
  return static_cast<float>(__nv_fp4_e2m1(value));
}

// What cuBLASLt and the check must know of a format. `factor` is what scales make of the product.
template <class Value>
struct Format;
template <>
struct Format<Bfloat> {
  using Output = Bfloat;
  static constexpr cudaDataType_t type = CUDA_R_16BF, output = CUDA_R_16BF, scale = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  static constexpr float spread = 1;
  static constexpr double factor = 1, tolerance = 0.01;
};
template <>
struct Format<Half> {
  using Output = Half;
  static constexpr cudaDataType_t type = CUDA_R_16F, output = CUDA_R_16F, scale = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  static constexpr float spread = 1;
  static constexpr double factor = 1, tolerance = 0.005;
};
template <>
struct Format<Fp8> {
  using Output = Bfloat;
  static constexpr cudaDataType_t type = CUDA_R_8F_E4M3, output = CUDA_R_16BF, scale = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  static constexpr float spread = 1;
  static constexpr double factor = 0.125, tolerance = 0.02;  // Hopper adds fp8 products with 14 bits
};
template <>
struct Format<std::int8_t> {
  using Output = std::int32_t;
  static constexpr cudaDataType_t type = CUDA_R_8I, output = CUDA_R_32I, scale = CUDA_R_32I;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32I;
  static constexpr float spread = 127;
  static constexpr double factor = 1, tolerance = 1e-7;
};
template <>
struct Format<Fp4Pair> {
  using Output = Bfloat;
  static constexpr cudaDataType_t type = CUDA_R_4F_E2M1, output = CUDA_R_16BF, scale = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  static constexpr float spread = 6;
  static constexpr double factor = 0.25, tolerance = 0.02;
};

template <class Value>
constexpr int kPacked = std::is_same_v<Value, Fp4Pair> ? 2 : 1;  // numbers in a Value

cublasLtHandle_t library() {
  static const cublasLtHandle_t made = [] {
    machine();
    cublasLtHandle_t out = nullptr;
    check(cublasLtCreate(&out), "starting cuBLASLt");
    return out;
  }();
  return made;
}

constexpr std::size_t kWorkspace = std::size_t{64} << 20;

// The library's description of a product and the algorithm for it.
class Product {
 public:
  template <class Value>
  void plan(std::int64_t m, std::int64_t n, std::int64_t k, Format<Value>) {
    using Is = Format<Value>;
    check(cublasLtMatmulDescCreate(&operation_, Is::compute, Is::scale), "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    // The library counts columns first: its A is the weights [n][k], its B the inputs [m][k], its D the outputs [m][n].
    check(cublasLtMatrixLayoutCreate(&weights_, Is::type, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(n), k),
          "describing weights");
    check(cublasLtMatrixLayoutCreate(&inputs_, Is::type, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(m), k),
          "describing inputs");
    check(cublasLtMatrixLayoutCreate(&outputs_, Is::output, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(m), n),
          "describing outputs");
  }
  ~Product() {
    if (outputs_ != nullptr) cublasLtMatrixLayoutDestroy(outputs_);
    if (inputs_ != nullptr) cublasLtMatrixLayoutDestroy(inputs_);
    if (weights_ != nullptr) cublasLtMatrixLayoutDestroy(weights_);
    if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  }
  Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  template <class Attribute>
  void set(cublasLtMatmulDescAttributes_t which, const Attribute& value) {
    check(cublasLtMatmulDescSetAttribute(operation_, which, &value, sizeof value), "describing a product");
  }

  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "stating preferences");
    const std::size_t most = kWorkspace;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(library(), operation_, weights_, inputs_, outputs_, outputs_, preference, 1, &chosen_, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check(status, "choosing an algorithm");
    if (found == 0) throw Unsupported("cuBLASLt names no algorithm for it");
  }

  template <class Scalar>
  void run(const void* weights, const void* inputs, void* outputs, cudaStream_t stream) {
    static const Buffer workspace(static_cast<std::int64_t>(kWorkspace));
    const Scalar one = 1, zero = 0;
    check(cublasLtMatmul(library(), operation_, &one, weights, weights_, inputs, inputs_, &zero, outputs, outputs_, outputs, outputs_,
                         &chosen_.algo, workspace.data(), kWorkspace, stream),
          "multiplying");
  }

 private:
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t weights_ = nullptr, inputs_ = nullptr, outputs_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

// Scales of one operand of nvfp4: a byte (ue4m3) for 16 values along k, in tiles of 128 rows and 4 scales; all are one half, so the order
// is no matter.
std::unique_ptr<Operand<std::uint8_t>> block_scales(std::int64_t rows, std::int64_t k) {
  constexpr std::uint8_t half = 0x30;
  const std::int64_t count = (rows + 127) / 128 * 128 * ((k / 16 + 3) / 4 * 4);
  auto out = std::make_unique<Operand<std::uint8_t>>(count, 1);
  out->set(std::vector<std::uint8_t>(static_cast<std::size_t>(count), half));
  return out;
}

template <class Value>
class Dense final : public CudaKernel {
 public:
  using Is = Format<Value>;
  Dense(const Case& one, std::uint64_t seed, double bytes, int copies)
      : CudaKernel(bytes, copies),
        m_(one.m.value()),
        n_(one.n.value()),
        k_(one.k.value()),
        seed_(seed),
        inputs_(m_ * k_ / kPacked<Value>, copies),
        weights_(n_ * k_ / kPacked<Value>, copies),
        outputs_(m_ * n_, copies),
        scales_(2, 1) {
    fill(inputs_, m_ * k_, seed, Array::input, Is::spread);
    fill(weights_, n_ * k_, seed, Array::weight, Is::spread);
    product_.plan(m_, n_, k_, Is());
    if constexpr (std::is_same_v<Value, Fp8>) {
      scales_.set({0.5f, 0.25f});
      product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(scales_.at(0)));
      product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(scales_.at(0) + 1));
    }
    if constexpr (std::is_same_v<Value, Fp4Pair>) {
      weight_scales_ = block_scales(n_, k_);
      input_scales_ = block_scales(m_, k_);
      product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
      product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
      product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(weight_scales_->at(0)));
      product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(input_scales_->at(0)));
    }
    product_.choose();
  }

  void poison() override { outputs_.poison(); }

  double error() override {
    RelativeNorm norm;
    std::vector<float> input(static_cast<std::size_t>(k_)), weight(input.size());
    const std::vector<std::int64_t> columns = some_of(n_, 32, seed_ + 1);
    for (const std::int64_t row : some_of(m_, 6, seed_)) {
      const std::vector<typename Is::Output> found = outputs_.values(row * n_, n_);
      draw(Array::input, row, input);
      for (const std::int64_t column : columns) {
        draw(Array::weight, column, weight);
        norm.add(static_cast<double>(static_cast<float>(found[static_cast<std::size_t>(column)])), dot(input, weight) * Is::factor);
      }
    }
    return norm.value();
  }

  double tolerance() const override { return Is::tolerance; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    using Scalar = std::conditional_t<std::is_same_v<Value, std::int8_t>, std::int32_t, float>;
    product_.run<Scalar>(weights_.at(copy), inputs_.at(copy), outputs_.at(copy), stream);
  }

 private:
  void draw(Array array, std::int64_t row, std::vector<float>& out) const {
    draw_row(seed_, array, static_cast<std::uint64_t>(row * k_), out);
    for (float& value : out) value = rounded<Value>(value * Is::spread);
  }

  std::int64_t m_, n_, k_;
  std::uint64_t seed_;
  Operand<Value> inputs_, weights_;
  Operand<typename Is::Output> outputs_;
  Operand<float> scales_;
  std::unique_ptr<Operand<std::uint8_t>> weight_scales_, input_scales_;
  Product product_;
};

template <class Value>
std::unique_ptr<Kernel> make(const Case& one, std::uint64_t seed) {
  const double m = static_cast<double>(one.m.value()), n = static_cast<double>(one.n.value()), k = static_cast<double>(one.k.value());
  const double bytes = (m + n) * k * sizeof(Value) / kPacked<Value> + m * n * sizeof(typename Format<Value>::Output);
  return std::make_unique<Dense<Value>>(one, seed, bytes, copies_for(bytes));
}

}  // namespace

std::vector<std::string> dense_formats() {
  std::vector<std::string> out = {"bf16"};
  if (machine().capability() >= 89) out.push_back("fp8");
  if (machine().capability() >= 100) out.push_back("nvfp4");
  out.push_back("fp16");
  out.push_back("int8");
  return out;
}

std::string dense_library() {
  const std::size_t version = cublasLtGetVersion();
  return "cublaslt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

std::unique_ptr<Kernel> make_dense(const Case& one, std::uint64_t seed) {
  if (one.n.value() % 16 != 0 || one.k.value() % 16 != 0) throw Unsupported("sizes that are no multiples of 16");
  const std::vector<std::string> formats = dense_formats();
  if (std::find(formats.begin(), formats.end(), one.format) == formats.end())
    throw Unsupported(machine().name + " has no instructions for " + one.format);
  if (one.format == "bf16") return make<Bfloat>(one, seed);
  if (one.format == "fp16") return make<Half>(one, seed);
  if (one.format == "fp8") return make<Fp8>(one, seed);
  if (one.format == "int8") return make<std::int8_t>(one, seed);
  return make<Fp4Pair>(one, seed);
}

}  // namespace marea::probe::cuda
