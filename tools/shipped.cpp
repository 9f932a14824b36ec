// The search path of the command line.
#include "tools/shipped.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace marea::cli {

namespace fs = std::filesystem;

run::SearchPath search_path() {
  std::vector<fs::path> roots;
  if (const char* given = std::getenv("MAREA_PATH")) {
    for (std::string_view rest(given); !rest.empty();) {
      const std::size_t colon = rest.find(':');
      if (colon != 0) roots.emplace_back(rest.substr(0, colon));
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) roots.push_back(fs::weakly_canonical(self.parent_path().parent_path() / "share" / "marea", error));
  return run::SearchPath(roots);
}

}  // namespace marea::cli
