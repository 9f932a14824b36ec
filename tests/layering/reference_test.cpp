// docs/scenario.md against the readers: the code that asks for a key is the only list of keys there is, so the page is compared with it.
// Each table names the files, or functions of files, whose keys it holds.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string read(const std::string& file) {
  std::ifstream stream(std::string(MAREA_SOURCE_DIR "/") + file);
  REQUIRE_MESSAGE(stream, file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The text of "file" or "file#function": from the line that begins the function to the brace that ends it.
std::string code(const std::string& name) {
  const std::size_t hash = name.find('#');
  const std::string text = read(name.substr(0, hash));
  if (hash == std::string::npos) return text;
  std::smatch begin;
  const bool found = std::regex_search(text, begin, std::regex("\n[A-Za-z][^\n]*[ :]" + name.substr(hash + 1) + "\\("));
  REQUIRE_MESSAGE(found, name);
  const auto from = static_cast<std::size_t>(begin.position());
  return text.substr(from, text.find("\n}\n", from) - from);
}

// The keys that are asked for by name.
std::set<std::string> asked(const std::string& text) {
  static const std::regex call(
      R"re(\b(?:optional|required|has|find|positive|positive_rate|duration)\("([a-z][a-z0-9_]*)"|\bseconds\(\w+, "([a-z_]+)")re");
  std::set<std::string> keys;
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) keys.insert((*at)[1].matched ? (*at)[1] : (*at)[2]);
  return keys;
}

struct Table {
  std::vector<std::string> sources;
  std::vector<std::string> keys;
};

std::vector<Table> tables() {
  std::vector<Table> found;
  std::istringstream page(read("docs/scenario.md"));
  const std::string mark = "<!-- keys of: ";
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(mark)) {
      std::istringstream names(line.substr(mark.size(), line.find(" -->") - mark.size()));
      found.push_back({{std::istream_iterator<std::string>(names), {}}, {}});
    } else if (line.starts_with("| `")) {
      REQUIRE(!found.empty());
      found.back().keys.push_back(line.substr(3, line.find('`', 3) - 3));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("every key that a reader asks for has a row in docs/scenario.md, and every row is a key") {
  const std::vector<Table> all = tables();
  CHECK(all.size() == 13);
  for (const Table& table : all) {
    std::string text;
    for (const std::string& source : table.sources) text += code(source);
    const std::set<std::string> rows(table.keys.begin(), table.keys.end());
    for (const std::string& key : asked(text)) CHECK_MESSAGE(rows.contains(key), table.sources.front() << " asks for " << key);
    for (const std::string& key : rows)
      CHECK_MESSAGE(text.find('"' + key + '"') != std::string::npos, table.sources.front() << " knows no " << key);
  }
}

TEST_CASE("every reader of scenarios stands in a table of docs/scenario.md") {
  std::set<std::string> named;
  std::set<std::string> asked_there;
  for (const Table& table : tables()) {
    for (const std::string& source : table.sources) {
      named.insert(source.substr(0, source.find('#')));
      asked_there.merge(asked(code(source)));
    }
  }
  int readers = 0;
  for (const char* room : {"run", "traffic", "serving", "cluster"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(std::string(MAREA_SOURCE_DIR "/sim/") + room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      const std::string file = fs::relative(entry.path(), MAREA_SOURCE_DIR).generic_string();
      const std::string text = read(file);
      if (text.find(".optional(\"") == std::string::npos && text.find(".required(\"") == std::string::npos) continue;
      ++readers;
      CHECK_MESSAGE(named.contains(file), file);
      static const std::regex call(R"re(\.(?:optional|required)\("([a-z][a-z0-9_]*)")re");
      for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at)
        CHECK_MESSAGE(asked_there.contains((*at)[1]), file << ": " << (*at)[1].str());
    }
  }
  CHECK(readers > 8);
}

TEST_CASE("the trace of docs/scenario.md is the one that ships") {
  const std::string page = read("docs/scenario.md");
  CHECK(page.find("```csv\n" + read("scenarios/own-trace.csv") + "```") != std::string::npos);
  std::istringstream scenario(read("scenarios/own-trace.yaml"));
  for (std::string line; std::getline(scenario, line);) {
    if (line.find("columns:") != std::string::npos || line.find("file:") != std::string::npos)
      CHECK_MESSAGE(page.find(line.substr(line.find_first_not_of(' '))) != std::string::npos, line);
  }
}
