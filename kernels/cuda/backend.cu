// The CUDA backend: which cases it measures, and what it says about the device.
#include <utility>

#include "kernels/cuda/cases.h"
#include "kernels/cuda/monitor.h"
#include "kernels/cuda/runtime.cuh"
#include "kernels/version.h"

namespace marea::probe {

namespace {

using namespace cuda;

std::string versioned(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

class CudaBackend final : public Backend {
 public:
  CudaBackend() {
    char address[32] = {};
    machine();
    check(cudaDeviceGetPCIBusId(address, sizeof address, 0), "asking for the device's address");
    watch(address);
    check(cudaGetDeviceCount(&devices_), "counting devices");
  }

  std::string device() const override { return device_file_of(machine().name); }

  std::string source(const Case& one) const override {
    const std::string us = std::string("marea-probe ") + kVersion;
    if (one.operation == Operation::gemm) return us + " " + dense_library();
    if (one.operation == Operation::all_reduce) return us + " " + collective_library();
    return us + " cuda";
  }

  std::map<std::string, std::string> facts() const override {
    std::map<std::string, std::string> out = watched();
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    out["name"] = machine().name;
    out["capability"] = std::to_string(machine().major) + "." + std::to_string(machine().minor);
    out["multiprocessors"] = std::to_string(machine().processors);
    out["l2_bytes"] = std::to_string(machine().cache);
    out["memory_bytes"] = std::to_string(machine().memory);
    out["devices"] = std::to_string(devices_);
    out["driver_cuda"] = versioned(driver);
    out["runtime_cuda"] = versioned(runtime);
    out["dense_library"] = dense_library();
    out["collective_library"] = collective_library();
    return out;
  }

  std::vector<Case> cases(bool quick) const override {
    const Extent extent{dense_formats(), machine().memory, devices_};
    return quick ? quick_cuda_cases(extent) : cuda_cases(extent);
  }
  std::vector<Case> check_cases() const override { return cuda_check_cases({dense_formats(), machine().memory, devices_}); }

  std::unique_ptr<Kernel> prepare(const Case& one, std::uint64_t seed) override {
    switch (one.operation) {
      case Operation::memory_read:
      case Operation::memory_write:
      case Operation::memory_copy:
        return make_memory(one, seed);
      case Operation::gemm:
        return make_dense(one, seed);
      case Operation::decode_attention:
        return make_decode(one, seed);
      case Operation::prefill_attention:
      case Operation::prefill_latent:
        return make_prefill(one, seed);
      case Operation::decode_latent:
        return make_latent(one, seed);
      case Operation::small_kernels:
        return make_small_kernels(one, seed);
      case Operation::kv_gather:
      case Operation::kv_scatter:
        return make_blocks(one, seed);
      case Operation::host_to_device:
      case Operation::device_to_host:
        return make_host_copy(one, seed);
      case Operation::launch:
      case Operation::graph_launch:
        return make_launch(one, seed);
      case Operation::all_reduce:
        return make_all_reduce(one, seed);
      default:
        throw Unsupported("the GPU has no kernel for " + std::string(name_of(one.operation)));
    }
  }

 private:
  int devices_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() { return std::make_unique<CudaBackend>(); }

}  // namespace marea::probe
