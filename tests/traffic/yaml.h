// Scenario fragments for the tests of this room.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/traffic/class_spec.h"
#include "sim/traffic/traces/azure_2023.h"
#include "sim/traffic/traces/csv.h"
#include "sim/traffic/traces/llmservingsim.h"
#include "sim/traffic/traces/mooncake.h"
#include "sim/traffic/traces/tracelab.h"
#include "sim/traffic/traces/weka.h"

namespace marea::test {

inline constexpr traffic::TraceFormat kFormats[] = {
    traffic::trace_format<traffic::traces::Azure2023>(),     traffic::trace_format<traffic::traces::Csv>(),
    traffic::trace_format<traffic::traces::LlmServingSim>(), traffic::trace_format<traffic::traces::Mooncake>(),
    traffic::trace_format<traffic::traces::TraceLab>(),      traffic::trace_format<traffic::traces::Weka>()};

// A parsed YAML text that outlives the values read from it.
struct Yaml {
  explicit Yaml(std::string_view text) : tree(parse_yaml(text, "test.yaml")) {}
  Value value() const { return Value(tree, ""); }
  Tree tree;
};

// A traffic class written as YAML; `programs` is the text of what `programs:` holds. Trace files are taken as written.
inline traffic::ClassSpec read_class(std::string_view text, std::string_view programs = "{}") {
  const Yaml yaml(text), named_text(programs);
  const traffic::NamedPrograms named(named_text.value());
  const traffic::ClassContext context{kFormats, &named, [](const Value& name) { return name.text(); }};
  Section section(yaml.value());
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
