// Runs a fuzz target once over files and folders, and over cut and altered copies of each, so that the targets work where libFuzzer is
// absent.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

// The file itself, its beginnings, and copies with one byte changed; at most a few hundred inputs a file.
int run_variants(const std::string& bytes) {
  const std::size_t stride = std::max<std::size_t>(1, bytes.size() / 64);
  int count = 1;
  run(bytes);
  for (std::size_t at = 0; at < bytes.size(); at += stride) {
    run(bytes.substr(0, at));
    for (const int change : {0x01, 0x20, 0x80}) {
      std::string copy = bytes;
      copy[at] = static_cast<char>(copy[at] ^ change);
      run(copy);
    }
    count += 4;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  int count = 0;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    count += run_variants(std::string(std::istreambuf_iterator<char>(stream), {}));
  }
  std::printf("%d inputs from %zu files\n", count, files.size());
  return files.empty() ? 1 : 0;
}
