// Stands in for the CUDA backend where the program was built without nvcc.
#include "kernels/backend.h"

namespace marea::probe {

std::unique_ptr<Backend> make_cuda_backend() {
  throw Unsupported("this marea-probe was built without CUDA: build it where nvcc is (cmake --preset cuda)");
}

}  // namespace marea::probe
