// The probe and the simulator know nothing of each other: only a table lies between them.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/kernels/support.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> includes_with(const std::string& folder, const std::string& part) {
  std::vector<std::string> out;
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(MAREA_SOURCE_DIR) / folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.find(".c") + name.find(".h") == 2 * std::string::npos) continue;
    ++files;
    for (const std::string& line : marea::probe::test::lines_of(marea::probe::test::contents(entry.path().string())))
      if (line.rfind("#include", 0) == 0 && line.find(part) != std::string::npos) out.push_back(entry.path().string() + ": " + line);
  }
  REQUIRE(files > 10);
  return out;
}

}  // namespace

TEST_CASE("the probe includes nothing of the simulator, nor the other way round") {
  CHECK(includes_with("kernels", "\"sim/").empty());
  CHECK(includes_with("kernels", "\"tools/").empty());
  CHECK(includes_with("sim", "\"kernels/").empty());
  CHECK(includes_with("tools", "\"kernels/").empty());
}
