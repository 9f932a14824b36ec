// What a device must offer to be measured: a list of cases, and for each of them a kernel that can be run, checked and timed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/case.h"
#include "kernels/measure.h"

namespace marea::probe {

// A case that this device, driver or toolkit cannot run. Not a failure: it is said and passed over.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One kernel at one shape, with its operands in place. Calls come in the order poison, run, error; sample any time after.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Fills every output with values that no correct result has: NaN, or a far-off integer.
  virtual void poison() = 0;
  // Executes once and waits for the end.
  virtual void run() = 0;
  // Relative norm of the difference between the outputs and a plain reference, over all outputs or a random choice of them.
  virtual double error() = 0;
  // The largest error that rounding explains.
  virtual double tolerance() const = 0;
  // Times one launch: on cold caches, after everything before has ended.
  virtual Sample sample() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // The name of the device's file among hardware/devices, or one made from what the device calls itself.
  virtual std::string device() const = 0;
  // Who measures, with versions: goes into the column `source`.
  virtual std::string source(const Case& one) const = 0;
  // Clocks, driver, libraries and sizes, as they are now, in the words of the device.
  virtual std::map<std::string, std::string> facts() const = 0;
  // The cases to measure, most telling ones first. `quick`: a handful that takes seconds.
  virtual std::vector<Case> cases(bool quick) const = 0;
  // Small, odd shapes for checking alone.
  virtual std::vector<Case> check_cases() const = 0;
  // Operands filled with draws of the seed. Throws Unsupported.
  virtual std::unique_ptr<Kernel> prepare(const Case& one, std::uint64_t seed) = 0;
};

// `folder` is where file reads put their file.
std::unique_ptr<Backend> make_host_backend(const std::string& folder);
// Throws Unsupported where this program has no CUDA in it, or the machine no device.
std::unique_ptr<Backend> make_cuda_backend();

}  // namespace marea::probe
