// Errors, memory and timing.
#include <stdexcept>

#include "kernels/cuda/monitor.h"
#include "kernels/cuda/runtime.cuh"

namespace marea::probe::cuda {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

const Machine& machine() {
  static const Machine found = [] {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) throw Unsupported(std::string("no CUDA device can be used: ") + cudaGetErrorString(status));
    if (devices == 0) throw Unsupported("there is no CUDA device");
    check(cudaSetDevice(0), "choosing the device");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
    if (properties.major < 8)
      throw Unsupported(std::string(properties.name) + " is older than what this program has kernels for (compute capability 8.0)");
    Machine out;
    out.name = properties.name;
    out.major = properties.major;
    out.minor = properties.minor;
    out.processors = properties.multiProcessorCount;
    out.cache = properties.l2CacheSize;
    out.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
    out.shared = static_cast<int>(properties.sharedMemPerBlockOptin);
    return out;
  }();
  return found;
}

cudaStream_t stream() {
  static const cudaStream_t made = [] {
    machine();
    cudaStream_t out = nullptr;
    check(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking), "making a stream");
    return out;
  }();
  return made;
}

Buffer::Buffer(std::int64_t bytes) : bytes_(bytes) {
  machine();
  const cudaError_t status = cudaMalloc(&data_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 256)));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the error is ours now
    throw Unsupported("too little device memory for " + std::to_string(bytes >> 20) + " MiB");
  }
  check(status, "allocating device memory");
}

Buffer::~Buffer() { cudaFree(data_); }

void flush_cache() {
  static const Buffer large(2 * machine().cache + (std::int64_t{16} << 20));
  check(cudaMemsetAsync(large.data(), 0, static_cast<std::size_t>(large.bytes()), stream()), "flushing the L2");
}

int copies_for(double bytes) {
  const double region = 2.5 * static_cast<double>(machine().cache);
  return static_cast<int>(std::clamp(region / std::max(bytes, 1.0) + 1, 1.0, 64.0));
}

CudaKernel::~CudaKernel() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

void CudaKernel::run() {
  launch(stream(), 0);
  check(cudaGetLastError(), "launching a kernel");
  check(cudaStreamSynchronize(stream()), "running a kernel");
}

double CudaKernel::time_between(const std::function<void()>& between) {
  struct Events {
    cudaEvent_t begin = nullptr, end = nullptr;
    Events() {
      check(cudaEventCreate(&begin), "making an event");
      check(cudaEventCreate(&end), "making an event");
    }
  };
  static const Events events;
  check(cudaEventRecord(events.begin, stream()), "taking the time");
  between();
  check(cudaEventRecord(events.end, stream()), "taking the time");
  check(cudaEventSynchronize(events.end), "running a sample");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events.begin, events.end), "taking the time");
  return static_cast<double>(milliseconds) * 1e-3;
}

// As many launches as take a few hundred microseconds, so that the graph's own beginning and end do not count. Past the number of copies an
// operand is met again: only where all copies together do not fit the L2.
void CudaKernel::capture() {
  constexpr double wanted = 300e-6;
  launch(stream(), 0);
  const double once = time_between([&] { launch(stream(), 0); });
  const bool cold_again = bytes_ * copies_ >= 2 * static_cast<double>(machine().cache);
  const int most = cold_again ? 64 : copies_;
  launches_ = static_cast<int>(std::clamp(wanted / once + 1, 1.0, static_cast<double>(most)));
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "capturing a graph");
  for (int i = 0; i < launches_; ++i) launch(stream(), i % copies_);
  check(cudaStreamEndCapture(stream(), &graph), "capturing a graph");
  const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "making a graph");
  check(cudaGraphUpload(graph_, stream()), "making a graph");
}

Sample CudaKernel::sample() {
  if (graph_ == nullptr) capture();
  flush_cache();  // long enough for the graph to be queued behind it
  const double seconds = time_between([&] { check(cudaGraphLaunch(graph_, stream()), "launching a graph"); });
  return {seconds / launches_, throttled()};
}

}  // namespace marea::probe::cuda
