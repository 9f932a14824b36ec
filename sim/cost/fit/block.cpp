// What the fits of all laws share.
#include "sim/cost/fit/block.h"

#include <bit>

#include "sim/base/error.h"
#include "sim/base/random.h"

namespace marea::cost {

std::uint64_t shape_key(std::initializer_list<double> numbers) {
  std::uint64_t key = 0;
  for (const double number : numbers) key = RandomStream(key, "shape of a kernel", std::bit_cast<std::uint64_t>(number)).bits();
  return key;
}

void require_enough(std::size_t rows, std::size_t shapes, std::size_t basic, const Block& block, const Mark& place) {
  if (rows >= 2 * basic && shapes >= 2) return;
  const std::string what = block.law + (block.format.empty() ? "" : " " + block.format);
  throw ConfigError(place, "",
                    what + " has " + std::to_string(rows) + " rows of " + std::to_string(shapes) + " shapes; a fit needs at least " +
                        std::to_string(2 * basic) + " rows of 2 shapes");
}

double latent_products(const Timing& row, double rows, const ProductLaw& products) {
  using M = Measure;
  const double heads = row[M::heads];
  const double hidden = row[M::hidden];
  const double query = heads * (row[M::nope_dim] + row[M::rope_dim]);
  const double compressed = row[M::latent] + row[M::rope_dim];
  double seconds = products(rows, hidden, (row[M::query_rank] > 0 ? row[M::query_rank] : query) + compressed);
  if (row[M::query_rank] > 0) seconds += products(rows, row[M::query_rank], query);
  seconds += products(rows, row[M::latent], heads * (row[M::nope_dim] + row[M::value_dim]));
  return seconds + products(rows, heads * row[M::value_dim], hidden);
}

double causal_pairs(double before, double tokens, double most) {
  if (most <= 0 || before + tokens <= most) return tokens * before + tokens * (tokens + 1) / 2;
  const double growing = std::clamp(most - before, 0.0, tokens);
  return growing * before + growing * (growing + 1) / 2 + (tokens - growing) * most;
}

spec::Range range_of(const std::vector<Timing>& rows, Measure measure) {
  check(!rows.empty(), "the range of no rows");
  spec::Range range{rows.front()[measure], rows.front()[measure]};
  for (const Timing& row : rows) range = {std::min(range.least, row[measure]), std::max(range.most, row[measure])};
  return range;
}

}  // namespace marea::cost
