// All-reduce over the devices of this machine by NCCL, which is loaded when present. One thread a device, as engines have one process a
// device; each captures a graph of some all-reduces.
#include <dlfcn.h>

#include <barrier>
#include <stdexcept>
#include <thread>

#include "kernels/cuda/monitor.h"
#include "kernels/cuda/runtime.cuh"
#include "kernels/reference.h"

#if __has_include(<nccl.h>)
#define MAREA_NCCL 1
#include <nccl.h>
#endif

namespace marea::probe::cuda {

#ifdef MAREA_NCCL

namespace {

// The functions of the library that are used; the program does not link it.
struct Nccl {
  decltype(&ncclCommInitAll) start = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclCommDestroy) end = nullptr;
  decltype(&ncclGetErrorString) error = nullptr;
  decltype(&ncclGetVersion) version = nullptr;
  bool found = false;

  Nccl() {
    void* file = ::dlopen("libnccl.so.2", RTLD_NOW);
    if (file == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
    };
    find(start, "ncclCommInitAll");
    find(all_reduce, "ncclAllReduce");
    find(end, "ncclCommDestroy");
    find(error, "ncclGetErrorString");
    find(version, "ncclGetVersion");
    found = start != nullptr && all_reduce != nullptr && end != nullptr && error != nullptr && version != nullptr;
  }
};

const Nccl& nccl() {
  static const Nccl loaded;
  return loaded;
}

void succeed(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw std::runtime_error(std::string(what) + ": " + nccl().error(status));
}

constexpr int kInGraph = 20;

// One device's part. Every rank's values are draws of its own seed, so their sum is known anywhere.
struct Rank {
  int device = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  Bfloat* from = nullptr;
  Bfloat* to = nullptr;
};

class AllReduce final : public Kernel {
 public:
  AllReduce(const Case& one, std::uint64_t seed)
      : count_(one.bytes.value() / 2), seed_(seed), ranks_(static_cast<std::size_t>(one.ranks.value())) {
    std::vector<ncclComm_t> communicators(ranks_.size());
    succeed(nccl().start(communicators.data(), static_cast<int>(ranks_.size()), nullptr), "starting NCCL");
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      rank.device = static_cast<int>(i);
      rank.communicator = communicators[i];
      check(cudaSetDevice(rank.device), "choosing a device");
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "making a stream");
      check(cudaEventCreate(&rank.begin), "making an event");
      check(cudaEventCreate(&rank.end), "making an event");
      check(cudaMalloc(&rank.from, static_cast<std::size_t>(count_) * sizeof(Bfloat)), "allocating device memory");
      check(cudaMalloc(&rank.to, static_cast<std::size_t>(count_) * sizeof(Bfloat)), "allocating device memory");
      fill_kernel<<<512, 256, 0, rank.stream>>>(rank.from, count_ / 4, seed_ + i, Array::input, 1.0f);
      check(cudaStreamSynchronize(rank.stream), "filling an operand");
    }
    check(cudaSetDevice(0), "choosing a device");
  }

  ~AllReduce() override {
    for (Rank& rank : ranks_) {
      cudaSetDevice(rank.device);
      if (rank.graph != nullptr) cudaGraphExecDestroy(rank.graph);
      cudaEventDestroy(rank.begin);
      cudaEventDestroy(rank.end);
      nccl().end(rank.communicator);
      cudaFree(rank.from);
      cudaFree(rank.to);
      cudaStreamDestroy(rank.stream);
    }
    cudaSetDevice(0);
  }

  void poison() override {
    on_all([&](Rank& rank) { check(cudaMemset(rank.to, 0xff, static_cast<std::size_t>(count_) * sizeof(Bfloat)), "poisoning"); });
  }

  void run() override {
    on_all([&](Rank& rank) {
      succeed(
          nccl().all_reduce(rank.from, rank.to, static_cast<std::size_t>(count_), ncclBfloat16, ncclSum, rank.communicator, rank.stream),
          "reducing");
      check(cudaStreamSynchronize(rank.stream), "reducing");
    });
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t i : some_of(count_, 64, seed_)) {
      double expected = 0;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const FourDraws four = draw_four(seed_ + rank, Array::input, static_cast<std::uint64_t>(i / 4));
        expected += static_cast<double>(static_cast<float>(Bfloat(four.values[i % 4])));
      }
      for (const Rank& rank : ranks_) {
        Bfloat found;
        check(cudaSetDevice(rank.device), "choosing a device");
        check(cudaMemcpy(&found, rank.to + i, sizeof found, cudaMemcpyDeviceToHost), "reading a result");
        norm.add(static_cast<double>(static_cast<float>(found)), expected);
      }
    }
    check(cudaSetDevice(0), "choosing a device");
    return norm.value();
  }

  double tolerance() const override { return 0.02; }  // partial sums are rounded to bf16 on the way

  Sample sample() override {
    if (ranks_[0].graph == nullptr) on_all([&](Rank& rank) { capture(rank); });  // after a first run, which connects the devices
    std::vector<double> seconds(ranks_.size());
    std::barrier ready(static_cast<std::ptrdiff_t>(ranks_.size()));
    on_all([&](Rank& rank) {
      ready.arrive_and_wait();
      check(cudaEventRecord(rank.begin, rank.stream), "taking the time");
      check(cudaGraphLaunch(rank.graph, rank.stream), "launching a graph");
      check(cudaEventRecord(rank.end, rank.stream), "taking the time");
      check(cudaEventSynchronize(rank.end), "running a sample");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, rank.begin, rank.end), "taking the time");
      seconds[static_cast<std::size_t>(rank.device)] = static_cast<double>(milliseconds) * 1e-3 / kInGraph;
    });
    // A device that began early waited for the others: the shortest span is the one without waiting.
    return {*std::min_element(seconds.begin(), seconds.end()), throttled()};
  }

 private:
  // The same on every device at once, each on a thread of its own.
  template <class Part>
  void on_all(Part part) {
    std::vector<std::exception_ptr> failures(ranks_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          check(cudaSetDevice(ranks_[i].device), "choosing a device");
          part(ranks_[i]);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

  void capture(Rank& rank) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
    for (int i = 0; i < kInGraph; ++i)
      succeed(
          nccl().all_reduce(rank.from, rank.to, static_cast<std::size_t>(count_), ncclBfloat16, ncclSum, rank.communicator, rank.stream),
          "reducing");
    check(cudaStreamEndCapture(rank.stream, &graph), "capturing a graph");
    const cudaError_t status = cudaGraphInstantiate(&rank.graph, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a graph");
  }

  std::int64_t count_;
  std::uint64_t seed_;
  std::vector<Rank> ranks_;
};

}  // namespace

std::string collective_library() {
  int version = 0;
  if (!nccl().found || nccl().version(&version) != ncclSuccess) return "";
  return "nccl " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

std::unique_ptr<Kernel> make_all_reduce(const Case& one, std::uint64_t seed) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "counting devices");
  if (one.ranks.value() > devices) throw Unsupported("there are only " + std::to_string(devices) + " devices");
  if (!nccl().found) throw Unsupported("libnccl.so.2 cannot be loaded");
  return std::make_unique<AllReduce>(one, seed);
}

#else

std::string collective_library() { return ""; }
std::unique_ptr<Kernel> make_all_reduce(const Case&, std::uint64_t) { throw Unsupported("this program was built without NCCL"); }

#endif

}  // namespace marea::probe::cuda
