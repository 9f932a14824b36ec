// What the CUDA kernels' callers share: errors, memory, filling by draws, and a timing on cold caches inside a captured graph.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/device.cuh"
#include "kernels/draws.h"

namespace marea::probe::cuda {

// Throws std::runtime_error saying what failed and how.
void check(cudaError_t status, const char* what);

// The device that is measured: the first one visible.
struct Machine {
  std::string name;
  int major = 0, minor = 0;
  int processors = 0;       // streaming multiprocessors
  std::int64_t cache = 0;   // bytes of L2
  std::int64_t memory = 0;  // bytes
  int shared = 0;           // bytes of shared memory that a block may ask for
  int capability() const { return 10 * major + minor; }
};
const Machine& machine();
cudaStream_t stream();

// Device memory. Throws Unsupported when there is not enough.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

// An operand, as often as the samples of a kernel need it to find it cold. All copies hold the same values.
template <class Value>
class Operand {
 public:
  Operand(std::int64_t count, int copies)
      : count_(count),
        copies_(copies),
        stride_((count * static_cast<std::int64_t>(sizeof(Value)) + 255) / 256 * 256),
        buffer_(stride_ * copies) {}
  Value* at(int copy) const { return reinterpret_cast<Value*>(static_cast<unsigned char*>(buffer_.data()) + copy * stride_); }
  std::int64_t count() const { return count_; }
  int copies() const { return copies_; }
  // Every bit set: NaN in each number format, -1 as an integer.
  void poison() { check(cudaMemset(buffer_.data(), 0xff, static_cast<std::size_t>(buffer_.bytes())), "poisoning"); }
  // Values `first` and following of the first copy.
  std::vector<Value> values(std::int64_t first, std::int64_t count) const {
    std::vector<Value> out(static_cast<std::size_t>(count));
    check(cudaMemcpy(out.data(), at(0) + first, out.size() * sizeof(Value), cudaMemcpyDeviceToHost), "reading a result");
    return out;
  }
  void set(const std::vector<Value>& values) {
    for (int copy = 0; copy < copies_; ++copy)
      check(cudaMemcpy(at(copy), values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice), "placing an operand");
  }

 private:
  std::int64_t count_;
  int copies_;
  std::int64_t stride_;
  Buffer buffer_;
};

// Four draws, rounded, as numbers 4 quad to 4 quad + 3 of an array of this type.
template <class Value>
__host__ __device__ inline void put_four(Value* to, std::int64_t quad, const float (&values)[4]) {
  for (int i = 0; i < 4; ++i) to[4 * quad + i] = Value(values[i]);
}
__host__ __device__ inline void put_four(std::int8_t* to, std::int64_t quad, const float (&values)[4]) {
  for (int i = 0; i < 4; ++i) to[4 * quad + i] = static_cast<std::int8_t>(rintf(values[i]));
}

template <class Value>
__global__ void fill_kernel(Value* to, std::int64_t quads, std::uint64_t seed, Array array, float scale) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t quad = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; quad < quads; quad += step) {
    FourDraws four = draw_four(seed, array, static_cast<std::uint64_t>(quad));
    for (float& value : four.values) value *= scale;
    put_four(to, quad, four.values);
  }
}

// Draws times `scale` into all copies; `numbers` of them, a multiple of four.
template <class Value>
void fill(Operand<Value>& operand, std::int64_t numbers, std::uint64_t seed, Array array, float scale = 1) {
  for (int copy = 0; copy < operand.copies(); ++copy)
    fill_kernel<<<static_cast<unsigned>(8 * machine().processors), 256, 0, stream()>>>(operand.at(copy), numbers / 4, seed, array, scale);
  check(cudaGetLastError(), "filling an operand");
}

// How many copies of operands of this many bytes make every launch of a sample a cold one.
int copies_for(double bytes);

// A kernel on the device. A sample is a captured graph of some launches on one copy of the operands after the other, after the L2 was
// overwritten.
class CudaKernel : public Kernel {
 public:
  ~CudaKernel() override;
  void run() override;
  Sample sample() override;

 protected:
  // `bytes`: of one copy of the operands; `copies`: as many as there are.
  CudaKernel(double bytes, int copies) : bytes_(bytes), copies_(copies) {}
  virtual void launch(cudaStream_t stream, int copy) = 0;
  // Seconds between two events in the stream, with `between` queued between them.
  static double time_between(const std::function<void()>& between);

 private:
  void capture();

  double bytes_;
  int copies_;
  int launches_ = 0;
  cudaGraphExec_t graph_ = nullptr;
};

// Overwrites a region twice as large as the L2, in the stream.
void flush_cache();

std::unique_ptr<Kernel> make_memory(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_blocks(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_host_copy(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_dense(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_decode(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_prefill(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_latent(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_small_kernels(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_launch(const Case& one, std::uint64_t seed);
std::unique_ptr<Kernel> make_all_reduce(const Case& one, std::uint64_t seed);

// The number formats of dense layers that this device has instructions for.
std::vector<std::string> dense_formats();
std::string dense_library();       // "cublaslt 13.0.2"
std::string collective_library();  // "nccl 2.27.7"; empty where there is none

}  // namespace marea::probe::cuda
