// Comparison of whole contexts.
#include "sim/kv/content.h"

#include "sim/kv/cursor.h"

namespace marea::kv {

std::int64_t common_prefix(ContentView a, ContentView b) {
  PieceCursor left(a);
  PieceCursor right(b);
  return PieceCursor::match(left, right, INT64_MAX);
}

}  // namespace marea::kv
