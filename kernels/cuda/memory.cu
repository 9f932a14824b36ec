// Device memory: read, write and copy; gather and scatter of KV blocks; pinned copies between host and device.
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <span>

#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/monitor.h"
#include "kernels/cuda/runtime.cuh"
#include "kernels/reference.h"

namespace marea::probe::cuda {

namespace {

constexpr unsigned kPattern = 0x3fc01234;

unsigned stream_blocks() { return static_cast<unsigned>(4 * machine().processors); }

// Draw number i of an array, as it lies in fp32 memory.
float draw_at(std::uint64_t seed, Array array, std::int64_t i) {
  return draw_four(seed, array, static_cast<std::uint64_t>(i / 4)).values[i % 4];
}

class Memory final : public CudaKernel {
 public:
  Memory(const Case& one, std::uint64_t seed, int copies)
      : CudaKernel(static_cast<double>(one.bytes.value()) * (one.operation == Operation::memory_copy ? 2 : 1), copies),
        operation_(one.operation),
        chunks_(one.bytes.value() / 16),
        seed_(seed),
        from_(operation_ == Operation::memory_write ? 4 : chunks_ * 4, operation_ == Operation::memory_write ? 1 : copies),
        to_(operation_ == Operation::memory_read ? 1 : chunks_, operation_ == Operation::memory_read ? 1 : copies),
        sums_(static_cast<std::int64_t>(stream_blocks()) * kStreamThreads, 1) {
    fill(from_, from_.count(), seed, Array::input);
  }

  void poison() override {
    to_.poison();
    sums_.poison();
  }

  double error() override {
    RelativeNorm norm;
    if (operation_ == Operation::memory_read) {  // an exclusive or is right or wrong
      Chunk found{0, 0, 0, 0}, expected{0, 0, 0, 0};
      for (const Chunk& one : sums_.values(0, sums_.count())) found = {found.x ^ one.x, found.y ^ one.y, found.z ^ one.z, found.w ^ one.w};
      for (std::int64_t quad = 0; quad < chunks_; ++quad) {
        const FourDraws four = draw_four(seed_, Array::input, static_cast<std::uint64_t>(quad));
        unsigned words[4];
        std::memcpy(words, four.values, sizeof words);
        expected = {expected.x ^ words[0], expected.y ^ words[1], expected.z ^ words[2], expected.w ^ words[3]};
      }
      norm.add(std::memcmp(&found, &expected, sizeof found) == 0 ? 1 : 0, 1);
      return norm.value();
    }
    for (const std::int64_t i : some_of(chunks_, 64, seed_)) {
      const Chunk found = to_.values(i, 1)[0];
      const FourDraws four = draw_four(seed_, Array::input, static_cast<std::uint64_t>(i));
      Chunk expected{kPattern, kPattern, kPattern, kPattern};
      if (operation_ == Operation::memory_copy) std::memcpy(&expected, four.values, sizeof expected);
      norm.add(std::memcmp(&found, &expected, sizeof found) == 0 ? 1 : 0, 1);
    }
    return norm.value();
  }

  double tolerance() const override { return 0; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    const auto* from = reinterpret_cast<const Chunk*>(from_.at(operation_ == Operation::memory_write ? 0 : copy));
    if (operation_ == Operation::memory_read)
      read_chunks<<<stream_blocks(), kStreamThreads, 0, stream>>>(from, chunks_, sums_.at(0));
    else if (operation_ == Operation::memory_write)
      write_chunks<<<stream_blocks(), kStreamThreads, 0, stream>>>(to_.at(copy), chunks_, Chunk{kPattern, kPattern, kPattern, kPattern});
    else
      copy_chunks<<<stream_blocks(), kStreamThreads, 0, stream>>>(from, to_.at(copy), chunks_);
  }

 private:
  Operation operation_;
  std::int64_t chunks_;
  std::uint64_t seed_;
  Operand<float> from_;
  Operand<Chunk> to_, sums_;
};

class Blocks final : public CudaKernel {
 public:
  Blocks(const Case& one, std::uint64_t seed, int copies)
      : CudaKernel(2.0 * static_cast<double>(one.bytes.value()), copies),
        gather_(one.operation == Operation::kv_gather),
        blocks_(one.bytes.value() / one.block.value()),
        values_(one.block.value() / 4),
        seed_(seed),
        pool_(2 * blocks_ * values_, copies),
        row_(blocks_ * values_, copies),
        places_(blocks_, 1) {
    std::vector<int> all(static_cast<std::size_t>(2 * blocks_));
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), std::mt19937_64(seed));
    all.resize(static_cast<std::size_t>(blocks_));
    places_.set(all);
    chosen_ = all;
    Operand<float>& source = gather_ ? pool_ : row_;
    fill(source, source.count(), seed, Array::key);
  }

  void poison() override { (gather_ ? row_ : pool_).poison(); }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t i : some_of(blocks_ * values_, 64, seed_)) {
      const std::int64_t place = chosen_[static_cast<std::size_t>(i / values_)] * values_ + i % values_;
      norm.add((gather_ ? row_ : pool_).values(gather_ ? i : place, 1)[0], draw_at(seed_, Array::key, gather_ ? place : i));
    }
    return norm.value();
  }

  double tolerance() const override { return 0; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    const auto parts = static_cast<unsigned>(std::clamp<std::int64_t>(values_ / 4 / kStreamThreads / 4, 1, 64));
    const dim3 grid(parts, static_cast<unsigned>(blocks_));
    move_blocks<<<grid, kStreamThreads, 0, stream>>>(reinterpret_cast<Chunk*>(pool_.at(copy)), reinterpret_cast<Chunk*>(row_.at(copy)),
                                                     places_.at(0), values_ / 4, gather_);
  }

 private:
  bool gather_;
  std::int64_t blocks_, values_;  // fp32 values of a block
  std::uint64_t seed_;
  Operand<float> pool_, row_;
  Operand<int> places_;
  std::vector<int> chosen_;
};

struct Unpin {
  void operator()(float* memory) const { cudaFreeHost(memory); }
};

// One cudaMemcpyAsync a block, launched one by one, as engines do.
class HostCopy final : public CudaKernel {
 public:
  HostCopy(const Case& one, std::uint64_t seed)
      : CudaKernel(static_cast<double>(one.bytes.value()), 1),
        up_(one.operation == Operation::host_to_device),
        values_(one.bytes.value() / 4),
        block_(one.block.value_or(one.bytes.value()) / 4),
        seed_(seed),
        device_(values_, 1) {
    float* memory = nullptr;
    check(cudaHostAlloc(&memory, static_cast<std::size_t>(values_) * sizeof(float), cudaHostAllocDefault), "pinning host memory");
    host_.reset(memory);
    if (up_)
      draw_row(seed, Array::key, 0, std::span(memory, static_cast<std::size_t>(values_)));
    else
      fill(device_, values_, seed, Array::key);
  }

  void poison() override {
    if (up_)
      device_.poison();
    else
      std::memset(host_.get(), 0xff, static_cast<std::size_t>(values_) * sizeof(float));
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t i : some_of(values_, 64, seed_))
      norm.add(up_ ? device_.values(i, 1)[0] : host_.get()[i], draw_at(seed_, Array::key, i));
    return norm.value();
  }

  double tolerance() const override { return 0; }

  Sample sample() override {
    flush_cache();
    return {time_between([&] { launch(stream(), 0); }), throttled()};
  }

 protected:
  void launch(cudaStream_t stream, int) override {
    for (std::int64_t at = 0; at < values_; at += block_) {
      const auto bytes = static_cast<std::size_t>(std::min(block_, values_ - at)) * sizeof(float);
      float* on_device = device_.at(0) + at;
      float* on_host = host_.get() + at;
      check(cudaMemcpyAsync(up_ ? on_device : on_host, up_ ? on_host : on_device, bytes,
                            up_ ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream),
            "copying");
    }
  }

 private:
  bool up_;
  std::int64_t values_, block_;
  std::uint64_t seed_;
  Operand<float> device_;
  std::unique_ptr<float, Unpin> host_;
};

}  // namespace

std::unique_ptr<Kernel> make_memory(const Case& one, std::uint64_t seed) {
  return std::make_unique<Memory>(one, seed, copies_for(static_cast<double>(one.bytes.value())));
}
std::unique_ptr<Kernel> make_blocks(const Case& one, std::uint64_t seed) {
  return std::make_unique<Blocks>(one, seed, copies_for(2.0 * static_cast<double>(one.bytes.value())));
}
std::unique_ptr<Kernel> make_host_copy(const Case& one, std::uint64_t seed) { return std::make_unique<HostCopy>(one, seed); }

}  // namespace marea::probe::cuda
