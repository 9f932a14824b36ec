// The weight matrices of a model as one tensor rank holds them: the single list behind both the memory account and the price of dense
// layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/spec/deployment.h"

namespace marea::cost {

enum class MatrixRole : std::uint8_t { attention, feed_forward, router };

// k x n weights on one rank, in `layers` layers. Matrices that engines fuse into one (query, key and value; gate and up) are one.
struct Matrix {
  MatrixRole role = MatrixRole::attention;
  spec::Format format = spec::Format::bf16;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t layers = 0;
};

// All but embeddings, output head and routed experts. Requires a deployment that is not refused.
std::vector<Matrix> matrices(const spec::Model& model, const spec::Deployment& deployment);

// Routed experts on one rank.
struct ExpertsPerRank {
  std::int64_t count = 0;  // a layer
  std::int64_t width = 0;
};
ExpertsPerRank experts_per_rank(const spec::Model& model, const spec::Deployment& deployment);

// Vocabulary rows on one rank (embedding and head are split by rows, the last rank padded).
std::int64_t vocabulary_per_rank(const spec::Model& model, const spec::Deployment& deployment);

}  // namespace marea::cost
