// The folder tests/errors: wrong inputs, each with the exact message expected in a file beside it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "sim/base/section.h"
#include "sim/base/tree.h"
#include "tests/base/support.h"

using namespace marea;

namespace {

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> inputs(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(MAREA_SOURCE_DIR) / "tests/errors" / folder))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

template <class Read>
void compare_folder(const std::string& folder, Read read) {
  const auto files = inputs(folder);
  REQUIRE(!files.empty());
  for (const auto& file : files) {
    std::filesystem::path expected = file;
    expected.replace_extension(".expected");
    const std::string name = file.filename().string();
    CAPTURE(name);
    const std::string message = test::message_of([&] { read(parse_yaml(contents(file), name)); });
    CHECK(message + "\n" == contents(expected));
  }
}

// A reader like those of the rooms above, with every kind of value.
void read_sample(const Tree& tree) {
  Section root(Value(tree, ""));
  if (auto value = root.optional("serving")) {
    Section serving(*value);
    serving.required("engine").one_of({"vllm-v1", "sglang"}, "engine");
    serving.required("block").tokens(Tokens{1});
    serving.required("batch_tokens").tokens(Tokens{1});
    serving.required("sequences").integer(1, 65536);
    if (auto flag = serving.optional("prefix_caching")) flag->boolean();
    serving.close();
  }
  if (auto value = root.optional("kv")) {
    Section kv(*value);
    kv.required("memory_fraction").fraction();
    if (auto tiers = kv.optional("tiers"))
      for (const Value& item : tiers->items()) {
        Section tier(item);
        tier.required("name").text();
        tier.required("capacity").bytes(Bytes{1});
        if (auto speed = tier.optional("bandwidth")) speed->bandwidth();
        tier.close();
      }
    kv.close();
  }
  if (auto value = root.optional("run")) {
    Section run(*value);
    run.required("duration").duration(Duration{1});
    if (auto rate = run.optional("rate")) rate->rate();
    if (auto seed = run.optional("seed")) seed->integer(0, INT64_MAX);
    run.close();
  }
  root.close();
}

}  // namespace

TEST_CASE("text that is not the YAML of marea gets the message beside it") {
  compare_folder("yaml", [](const Tree&) {});
}

TEST_CASE("values of the wrong kind get the message beside them") { compare_folder("sections", read_sample); }
