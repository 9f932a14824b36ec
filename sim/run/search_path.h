// Where names and files are looked up: beside the file that names them, then in MAREA_PATH, then in the shipped folders. It is handed
// in, never read from the environment here, so that a run depends on nothing it was not given.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace marea::run {

// The kinds of things that are YAML files looked up by name, and the folder of each below a root.
enum class Kind { model, device, calibration, node, engine, scenario };
// "models", "hardware/devices", "hardware/calibration", "hardware/nodes", "hardware/engines", "scenarios"
std::string_view folder(Kind kind);

class SearchPath {
 public:
  // `roots` in order of search; each may hold the folders of folder(), or the files themselves. Missing folders are passed over.
  explicit SearchPath(std::vector<std::filesystem::path> roots = {}) : roots_(std::move(roots)) {}

  const std::vector<std::filesystem::path>& roots() const { return roots_; }

  // The file of a thing called `name` (with or without ".yaml", or a path), named by a file in folder `beside`; nothing when there is none.
  std::optional<std::filesystem::path> find(Kind kind, std::string_view name, const std::filesystem::path& beside) const;

  // A trace or another file named in a file in folder `beside`; nothing when there is none.
  std::optional<std::filesystem::path> find_file(std::string_view name, const std::filesystem::path& beside) const;

  // Where things of a kind are looked for, for people: "looked in A/models and B/models; ...", with advice when none of them is there.
  std::string places(Kind kind) const;

  // Names of everything of a kind below the roots, sorted, each once.
  std::vector<std::string> names(Kind kind) const;

 private:
  std::vector<std::filesystem::path> roots_;
};

}  // namespace marea::run
