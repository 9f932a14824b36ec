// Which cases are measured on a GPU: plain lists that need no GPU to be made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/case.h"

namespace marea::probe::cuda {

// What the lists depend on.
struct Extent {
  std::vector<std::string> dense_formats;  // the most important one first
  std::int64_t memory = 0;                 // bytes of the device
  int devices = 1;
};

// Coarse first: a run that ends early has seen every operation.
std::vector<Case> cuda_cases(const Extent& extent);
std::vector<Case> quick_cuda_cases(const Extent& extent);
// Odd shapes, for correctness.
std::vector<Case> cuda_check_cases(const Extent& extent);

// The name of the device's file for what the device calls itself: "NVIDIA H100 80GB HBM3" is h100-sxm. Unknown ones in small letters with
// dashes.
std::string device_file_of(const std::string& name);

}  // namespace marea::probe::cuda
