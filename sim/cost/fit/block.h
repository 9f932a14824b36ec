// From rows and a fitted law to a block: shared by the fits of all laws.
#pragma once

#include <span>

#include "sim/cost/fit/fits.h"
#include "sim/cost/fit/law_fit.h"
#include "sim/cost/laws.h"

namespace marea::cost {

inline Machine machine_of(const spec::Device& device, spec::Format math) {
  return {device.peak(math).value, device.memory.bandwidth.value, static_cast<double>(device.compute.units)};
}

// A key of a few small numbers, to group rows of one shape.
std::uint64_t shape_key(std::initializer_list<double> numbers);

// Throws ConfigError at `place` when the samples cannot carry even the basic coefficients of a law.
void require_enough(std::size_t rows, std::size_t shapes, std::size_t basic, const Block& block, const Mark& place);

// Seconds of the dense products of a latent block (compression of query and keys, expansion of both, output), as StepCost prices them.
double latent_products(const Timing& row, double rows, const ProductLaw& products);

// Pairs of a query and a key it sees, of one chunk after `before` cached tokens, each query seeing `most` keys at most (0: all).
double causal_pairs(double before, double tokens, double most);

// The range of a measure over the rows.
spec::Range range_of(const std::vector<Timing>& rows, Measure measure);

// Fits the law to the samples and fills the block; returns the coefficients.
template <class Case>
std::vector<double> complete(Block& block, const Law<Case>& law, const std::vector<Sample<Case>>& samples, const Mark& place) {
  std::vector<std::uint64_t> shape;
  for (const Sample<Case>& sample : samples) shape.push_back(sample.shape);
  std::size_t shapes = 0;
  if (!samples.empty()) deal_folds(shape, shapes);
  require_enough(samples.size(), shapes, law.basic, block, place);
  const Fitted fitted = fit_law(law, samples);
  const auto ranges = block.record.ranges;
  block.record = fitted.record;
  block.record.ranges = ranges;
  for (std::size_t i = 0; i < fitted.values.size(); ++i)
    if (i < law.basic || fitted.values[i] != law.neutral[i])
      block.values.emplace_back(law.coefficients[i].key, written(law.coefficients[i].notation, fitted.values[i]));
  return fitted.values;
}

}  // namespace marea::cost
