// Access to the real data that the project does not ship. Where it is absent a test calls skip() and returns, and the program says how many
// did.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace marea::test {

inline int& skipped() {
  static int count = 0;
  return count;
}

// A path under $MAREA_SHARED (default ../shared beside the source folder), or nothing, counted as a skipped check.
inline std::optional<std::filesystem::path> shared(const std::string& relative) {
  const char* root = std::getenv("MAREA_SHARED");
  const std::filesystem::path path = std::filesystem::path(root ? root : MAREA_SOURCE_DIR "/../shared") / relative;
  if (std::filesystem::exists(path)) return path;
  ++skipped();
  return std::nullopt;
}

}  // namespace marea::test
