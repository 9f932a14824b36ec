// Fits of single laws to the rows that belong to them, each giving one block of a calibration.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/fit/timing.h"
#include "sim/spec/device.h"

namespace marea::cost {

// One block of a calibration's `costs`.
struct Block {
  std::string law;     // "gemm"
  std::string format;  // "bf16"; a number of ranks for collectives; empty for blocks without a key
  std::vector<std::pair<std::string, std::string>> values;
  spec::Status status = spec::Status::fitted;
  std::string source;  // in words
  spec::FitRecord record;
};

// Seconds of a 16-bit product of m x k with k x n, as fitted before: for whole blocks whose time holds their products.
using ProductLaw = std::function<double(double m, double k, double n)>;

// Each takes rows of its own operation, one format (or number of ranks) and no case twice. Throws ConfigError at `place` when there are too
// few rows or shapes.
struct FittedGemm {
  Block block;
  ProductLaw law;
};
FittedGemm fit_gemm(const std::vector<Timing>& rows, const spec::Device& device, const Mark& place);
Block fit_decode(const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place);
Block fit_prefill(const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place);
Block fit_sparse(const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place);
Block fit_experts(const std::vector<Timing>& rows, const spec::Device& device, const Mark& place);
Block fit_all_reduce(const std::vector<Timing>& rows, const Mark& place);
Block fit_small_kernels(const std::vector<Timing>& rows, const spec::Device& device, const Mark& place);

}  // namespace marea::cost
