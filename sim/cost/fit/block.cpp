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

spec::Range range_of(const std::vector<Timing>& rows, Measure measure) {
  check(!rows.empty(), "the range of no rows");
  spec::Range range{rows.front()[measure], rows.front()[measure]};
  for (const Timing& row : rows) range = {std::min(range.least, row[measure]), std::max(range.most, row[measure])};
  return range;
}

}  // namespace marea::cost
