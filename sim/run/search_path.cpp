// Looking names and files up in the folders of a SearchPath.
#include "sim/run/search_path.h"

#include <algorithm>

namespace marea::run {

namespace fs = std::filesystem;

std::string_view folder(Kind kind) {
  switch (kind) {
    case Kind::model:
      return "models";
    case Kind::device:
      return "hardware/devices";
    case Kind::calibration:
      return "hardware/calibration";
    case Kind::node:
      return "hardware/nodes";
    case Kind::engine:
      return "hardware/engines";
    case Kind::scenario:
      return "scenarios";
  }
  return "";
}

namespace {

// Something that can be read: a file, or a pipe such as /dev/stdin.
bool is_file(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  return fs::exists(status) && !fs::is_directory(status);
}

}  // namespace

std::optional<fs::path> SearchPath::find(Kind kind, std::string_view name, const fs::path& beside) const {
  const fs::path plain{std::string(name)};
  const fs::path named = plain.extension() == ".yaml" || plain.extension() == ".yml" ? plain : fs::path(std::string(name) + ".yaml");
  for (const fs::path& file : {plain, named}) {
    if (plain.is_absolute() && is_file(file)) return file;
  }
  if (plain.is_absolute()) return std::nullopt;
  std::vector<fs::path> roots{beside};
  roots.insert(roots.end(), roots_.begin(), roots_.end());
  for (const fs::path& root : roots) {
    // A calibration often has the name of its device, whose file may lie right here.
    fs::path near = root / named, below = root / folder(kind) / named;
    if (kind == Kind::calibration) near.swap(below);
    for (const fs::path& file : {near, below}) {
      if (is_file(file)) return file;
    }
  }
  // A file of another ending, or a pipe of any name; last, so that a name stays a name.
  return is_file(beside / plain) ? std::optional(beside / plain) : std::nullopt;
}

std::optional<fs::path> SearchPath::find_file(std::string_view name, const fs::path& beside) const {
  const fs::path plain{std::string(name)};
  if (plain.is_absolute()) return is_file(plain) ? std::optional(plain) : std::nullopt;
  if (is_file(beside / plain)) return beside / plain;
  for (const fs::path& root : roots_) {
    if (is_file(root / plain)) return root / plain;
  }
  return std::nullopt;
}

std::string SearchPath::places(Kind kind) const {
  std::string text;
  bool any = false;
  for (const fs::path& root : roots_) {
    std::error_code none;
    const fs::path place = root / folder(kind);
    const bool there = fs::is_directory(place, none);
    any = any || there;
    text += (text.empty() ? "looked in " : " and ") + place.string() + (there ? "" : " (not there)");
  }
  if (text.empty()) text = "no folder to look in";
  return any ? text : text + "; set MAREA_PATH to the folder that holds models, hardware and scenarios, or install marea with them";
}

std::vector<std::string> SearchPath::names(Kind kind) const {
  std::vector<std::string> names;
  for (const fs::path& root : roots_) {
    const fs::path top = root / folder(kind);
    std::error_code none;
    for (fs::recursive_directory_iterator entry(top, fs::directory_options::skip_permission_denied, none), end; entry != end;
         entry.increment(none)) {
      if (none) break;
      if (entry->path().extension() != ".yaml" || !is_file(entry->path())) continue;
      names.push_back(entry->path().lexically_relative(top).replace_extension().generic_string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace marea::run
