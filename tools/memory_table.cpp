// Where the bytes of a device go, pool by pool.
#include "tools/memory_table.h"

#include <fmt/format.h>

#include "sim/base/quantity.h"
#include "tools/words.h"

namespace marea::cli {

std::string memory_table(const run::MemoryReport& memory, const Style& style) {
  std::string text;
  for (std::size_t first = 0; first < memory.rows.size();) {
    std::size_t last = first;
    std::int64_t total = 0;
    for (; last < memory.rows.size() && memory.rows[last].pool == memory.rows[first].pool; ++last) total += memory.rows[last].bytes;
    text += style.heading(left(fmt::format("Memory of one device, pool {}", memory.rows[first].pool), 46)) + right(show(Bytes(total)), 11) +
            "\n";
    for (; first < last; ++first) {
      const run::MemoryRow& row = memory.rows[first];
      const double share = total != 0 ? static_cast<double>(row.bytes) / static_cast<double>(total) : 0;
      text +=
          "  " + left(row.item, 44) + right(show(Bytes(row.bytes)), 11) + right(percent(share), 9) + "  " + style.dim(row.status) + "\n";
    }
  }
  return text;
}

}  // namespace marea::cli
