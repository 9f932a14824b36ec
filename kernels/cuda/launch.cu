// What it costs to start a kernel that does nothing: one by one, as a node of a graph, and the start of a whole graph.
#include <chrono>

#include "kernels/cuda/monitor.h"
#include "kernels/cuda/runtime.cuh"
#include "kernels/reference.h"

namespace marea::probe::cuda {

namespace {

// Does nothing, or counts its launches.
__global__ void nothing(unsigned* counter) {
  if (counter != nullptr) atomicAdd(counter, 1u);
}

class Launch final : public CudaKernel {
 public:
  explicit Launch(const Case& one)
      : CudaKernel(1, 1),
        whole_(one.operation == Operation::graph_launch),
        in_graph_(whole_ || one.graph.value_or(0) == 1),
        count_(one.batch.value()),
        counter_(1, 1) {
    if (in_graph_) graph_ = capture(nullptr);
  }
  ~Launch() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  void poison() override { counter_.set({1000000}); }

  // Each launch adds one to where the poison left it.
  void run() override {
    if (in_graph_) {
      const cudaGraphExec_t counting = capture(counter_.at(0));
      check(cudaGraphLaunch(counting, stream()), "launching a graph");
      check(cudaStreamSynchronize(stream()), "running a graph");
      cudaGraphExecDestroy(counting);
    } else {
      queue(counter_.at(0));
      check(cudaStreamSynchronize(stream()), "running kernels");
    }
  }

  double error() override {
    RelativeNorm norm;
    norm.add(static_cast<double>(counter_.values(0, 1)[0]) - 1000000, static_cast<double>(count_));
    return norm.value();
  }

  double tolerance() const override { return 0; }

  // One by one, and a whole graph: the host's clock until the device has ended. A node of a graph: the device's clock.
  Sample sample() override {
    check(cudaStreamSynchronize(stream()), "waiting");
    if (in_graph_ && !whole_) {
      flush_cache();
      const double seconds = time_between([&] { check(cudaGraphLaunch(graph_, stream()), "launching a graph"); });
      return {seconds / static_cast<double>(count_), throttled()};
    }
    const auto begin = std::chrono::steady_clock::now();
    if (whole_)
      check(cudaGraphLaunch(graph_, stream()), "launching a graph");
    else
      queue(nullptr);
    check(cudaStreamSynchronize(stream()), "running kernels");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return {whole_ ? seconds : seconds / static_cast<double>(count_), throttled()};
  }

 protected:
  void launch(cudaStream_t, int) override { queue(nullptr); }

 private:
  void queue(unsigned* counter) const {
    for (std::int64_t i = 0; i < count_; ++i) nothing<<<1, 32, 0, stream()>>>(counter);
    check(cudaGetLastError(), "launching kernels");
  }

  cudaGraphExec_t capture(unsigned* counter) const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t out = nullptr;
    check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "capturing a graph");
    queue(counter);
    check(cudaStreamEndCapture(stream(), &graph), "capturing a graph");
    const cudaError_t status = cudaGraphInstantiate(&out, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a graph");
    return out;
  }

  bool whole_, in_graph_;
  std::int64_t count_;
  Operand<unsigned> counter_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_launch(const Case& one, std::uint64_t) { return std::make_unique<Launch>(one); }

}  // namespace marea::probe::cuda
