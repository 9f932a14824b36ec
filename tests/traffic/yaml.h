// Scenario fragments for the tests of this room.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/traffic/class_spec.h"
#include "sim/traffic/traces/mooncake.h"

namespace marea::test {

inline constexpr traffic::TraceFormat kFormats[] = {traffic::trace_format<traffic::traces::Mooncake>()};

// A parsed YAML text that outlives the values read from it.
struct Yaml {
  explicit Yaml(std::string_view text) : tree(parse_yaml(text, "test.yaml")) {}
  Value value(const std::string& path = "") const { return Value(tree, path); }
  Tree tree;
};

// A traffic class written as YAML; `programs` is the text of the `programs:` section. Trace files are taken as written.
inline traffic::ClassSpec read_class(std::string_view text, std::string_view programs = "{}") {
  const Yaml yaml(text), named_text(programs);
  const traffic::NamedPrograms named(named_text.value("programs"));
  const traffic::ClassContext context{kFormats, &named, [](const Value& name) { return name.text(); }};
  Section section(yaml.value("traffic[0]"));
  return traffic::read_class(section, context);
}

inline std::unique_ptr<traffic::Load> load_of(std::string_view text, std::string_view programs = "{}", std::uint64_t seed = 1,
                                              bool stationary = false) {
  return traffic::make_load(read_class(text, programs), {.seed = seed, .stationary = stationary});
}

// The message of the ConfigError that `run` throws; empty if it throws none.
template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace marea::test
