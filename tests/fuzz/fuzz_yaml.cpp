// Any bytes are a ConfigError or a tree that survives writing and reading back. Settings by path are tried on the tree, too.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/base/tree.h"

namespace {

// The limits are small so that a run explores structure instead of waiting for size.
constexpr marea::TreeLimits kLimits{1 << 20, 64, 20'000};

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  marea::Tree tree;
  try {
    tree = marea::parse_yaml(text, "input.yaml", kLimits);
  } catch (const marea::ConfigError&) {
    return 0;
  }
  // What one file holds may be longer when written out in full, so the second reading has the usual limits.
  require(marea::same(marea::parse_yaml(marea::to_yaml(tree), "written.yaml"), tree));
  marea::Tree merged = tree;
  marea::merge(merged, tree);
  require(marea::same(merged, tree));
  if (tree.kind != marea::Tree::Kind::map || tree.entries.empty()) return 0;
  // The last value becomes a setting at the path that the first key spells.
  try {
    marea::set_path(merged, tree.entries.front().key, tree.entries.back().value, marea::Mark{"--set"});
    require(marea::same(marea::parse_yaml(marea::to_yaml(merged), "written.yaml"), merged));
  } catch (const marea::ConfigError&) {
  }
  return 0;
}
