// Reads the include lines of the code and fails on an arrow that points up, on a third-party header outside its room, and on a header that
// nothing compiles alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The rooms, lowest first. A room may include itself and those before it.
const std::vector<std::string> kRooms = {"base", "spec", "cost", "kv", "traffic", "serving", "cluster", "metrics", "run", "study", "tools"};

struct ThirdParty {
  std::string prefix;
  std::vector<std::string> rooms;  // where it may be included
  bool only_sources = false;       // never in a header
};

const std::vector<std::string> kAllButEngine = {"base", "spec", "cost", "traffic", "metrics", "run", "study", "tools"};

const std::vector<ThirdParty> kThirdParty = {
    {"yaml-cpp/", {"base"}, true},
    {"Random123/", {"base"}, true},
    {"zlib.h", {"base"}, true},
    {"boost/graph/", {"traffic", "cost"}},
    {"boost/property_map/", {"traffic", "cost"}},
    {"boost/math/", {"traffic", "metrics"}},  // quantiles of laws; of Student's t for intervals
    {"boost/program_options", {"tools"}},
    {"Eigen/", {"cost"}},
    {"unsupported/Eigen/", {"cost"}, true},
    {"sqlite3.h", {"run"}},
    {"xxhash.h", {"metrics"}},
    {"fmt/", kAllButEngine},
    {"nlohmann/", kAllButEngine},
};

// Headers of the operating system, for files, processes, terminals and signals. The engine needs none.
const std::vector<std::string> kSystem = {"fcntl.h", "unistd.h", "signal.h", "langinfo.h", "gnu/", "sys/"};
const std::vector<std::string> kSystemRooms = {"base", "run", "study", "tools"};

bool contains(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}
bool starts_with(const std::string& text, const std::string& prefix) { return text.compare(0, prefix.size(), prefix) == 0; }

// "sim/kv/pool.h" lies in kv; "tools/table.h" in tools; "" for anything else.
std::string room_of(const std::string& path) {
  if (starts_with(path, "tools/")) return "tools";
  if (!starts_with(path, "sim/")) return "";
  return path.substr(4, path.find('/', 4) - 4);
}

struct Include {
  std::string name;
  bool angle = false;
};

std::vector<Include> includes_of(const std::string& text) {
  std::vector<Include> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const std::size_t open = line.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const std::size_t close = line.find_first_of(">\"", open + 1);
    out.push_back({line.substr(open + 1, close - open - 1), line[open] == '<'});
  }
  return out;
}

bool is_header(const std::string& path) { return path.size() > 2 && path.compare(path.size() - 2, 2, ".h") == 0; }

// What is wrong with one include of one file; empty when nothing is.
std::string fault_of(const std::string& path, const Include& include) {
  const std::string room = room_of(path);
  if (!include.angle) {
    const std::string other = room_of(include.name);
    if (other.empty()) return "is not written from the root (sim/... or tools/...)";
    const auto here = std::find(kRooms.begin(), kRooms.end(), room);
    const auto there = std::find(kRooms.begin(), kRooms.end(), other);
    if (there == kRooms.end()) return "lies in no room";
    return there > here ? "points up from " + room + " to " + other : "";
  }
  for (const ThirdParty& one : kThirdParty) {
    if (!starts_with(include.name, one.prefix)) continue;
    if (!contains(one.rooms, room)) return "does not belong in " + room;
    return one.only_sources && is_header(path) ? "belongs in a source, not in a header" : "";
  }
  for (const std::string& prefix : kSystem)
    if (starts_with(include.name, prefix)) return contains(kSystemRooms, room) ? "" : "does not belong in " + room;
  const bool standard = include.name.find_first_of("/.") == std::string::npos;
  return standard ? "" : "is a third-party header that no room may use";
}

std::vector<std::string> faults_of(const std::string& path, const std::string& text) {
  std::vector<std::string> out;
  if (!contains(kRooms, room_of(path))) out.push_back(path + " lies in no room");
  for (const Include& include : includes_of(text))
    if (const std::string fault = fault_of(path, include); !fault.empty()) out.push_back(path + ": " + include.name + " " + fault);
  return out;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// All sources and headers of sim and tools, as paths from the root.
std::vector<std::string> code() {
  std::vector<std::string> out;
  for (const char* top : {"sim", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(MAREA_SOURCE_DIR) / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".h" || extension == ".cpp") out.push_back(fs::relative(entry.path(), MAREA_SOURCE_DIR).generic_string());
    }
  std::sort(out.begin(), out.end());
  return out;
}

std::set<std::string> listed_headers() {
  std::set<std::string> out;
  std::istringstream lines(contents(fs::path(MAREA_SOURCE_DIR) / "tests/layering/headers.txt"));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) out.insert(line);
  return out;
}

}  // namespace

TEST_CASE("the rules see what they forbid") {
  const auto faults = [](const std::string& path, const std::string& line) { return faults_of(path, line + "\n").size(); };
  CHECK(faults("sim/kv/a.cpp", "#include \"sim/serving/request.h\"") == 1);
  CHECK(faults("sim/kv/a.cpp", "  #  include \"sim/traffic/load.h\"") == 1);
  CHECK(faults("sim/kv/a.cpp", "#include \"sim/cost/step.h\"") == 0);
  CHECK(faults("sim/kv/a.cpp", "#include \"pool.h\"") == 1);
  CHECK(faults("sim/kv/a.cpp", "#include \"tools/table.h\"") == 1);
  CHECK(faults("tools/main.cpp", "#include \"sim/run/store.h\"") == 0);
  CHECK(faults("sim/kv/a.cpp", "#include <vector>") == 0);
  CHECK(faults("sim/kv/a.cpp", "#include <fmt/format.h>") == 1);
  CHECK(faults("sim/kv/a.cpp", "#include <nlohmann/json.hpp>") == 1);
  CHECK(faults("sim/run/a.cpp", "#include <fmt/format.h>") == 0);
  CHECK(faults("sim/run/a.cpp", "#include <sqlite3.h>") == 0);
  CHECK(faults("sim/metrics/a.cpp", "#include <sqlite3.h>") == 1);
  CHECK(faults("sim/base/a.cpp", "#include <yaml-cpp/yaml.h>") == 0);
  CHECK(faults("sim/base/a.h", "#include <yaml-cpp/yaml.h>") == 1);
  CHECK(faults("sim/spec/a.cpp", "#include <yaml-cpp/yaml.h>") == 1);
  CHECK(faults("sim/serving/a.cpp", "#include <unistd.h>") == 1);
  CHECK(faults("sim/base/a.cpp", "#include <absl/strings/string_view.h>") == 1);
  CHECK(faults("sim/attic/a.cpp", "") == 1);
}

TEST_CASE("no include points up and no third-party header leaves its room") {
  const std::vector<std::string> files = code();
  REQUIRE(files.size() > 20);
  for (const std::string& file : files)
    for (const std::string& fault : faults_of(file, contents(fs::path(MAREA_SOURCE_DIR) / file))) FAIL_CHECK(fault);
}

// A header is compiled alone where the source of its name includes it first, or where headers.txt lists it for the target headers_alone.
TEST_CASE("every header compiles alone") {
  const std::vector<std::string> files = code();
  const std::set<std::string> listed = listed_headers();
  for (const std::string& header : files) {
    if (!is_header(header)) continue;
    const std::string source = header.substr(0, header.size() - 2) + ".cpp";
    const bool has_source = std::binary_search(files.begin(), files.end(), source);
    const auto includes = has_source ? includes_of(contents(fs::path(MAREA_SOURCE_DIR) / source)) : std::vector<Include>();
    const bool first = !includes.empty() && includes.front().name == header;
    if (!first && listed.count(header) == 0)
      FAIL_CHECK(header << " is compiled alone nowhere: include it first in " << source << " or add it to tests/layering/headers.txt");
    if (first && listed.count(header) > 0)
      FAIL_CHECK(header << " is listed in tests/layering/headers.txt, but " << source << " compiles it alone already");
  }
  for (const std::string& header : listed)
    if (!std::binary_search(files.begin(), files.end(), header))
      FAIL_CHECK("tests/layering/headers.txt lists " << header << ", which does not exist");
}
