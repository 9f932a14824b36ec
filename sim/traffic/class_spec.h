// One entry of `traffic:` as read from a scenario, and the load it makes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/section.h"
#include "sim/traffic/arrivals.h"
#include "sim/traffic/load.h"
#include "sim/traffic/program.h"
#include "sim/traffic/sharing.h"
#include "sim/traffic/tool.h"
#include "sim/traffic/trace.h"

namespace marea::traffic {

struct Lanes {
  std::int64_t count = 1;
  Duration ramp{};  // the lanes start evenly over it
};
struct Recorded {};

// Sessions drawn from programs: [0] is the main one.
struct Programs {
  std::vector<ProgramSpec> programs;
};
// Sessions read from a file.
struct Replay {
  std::string format;
  std::string file;  // as found
  std::shared_ptr<const Trace> trace;
  double time_scale = 1;
  bool repeat = false;
  std::optional<Duration> wait_cap;
  std::map<std::string, std::string> pools;
};

struct ClassSpec {
  std::string name;
  Sharing sharing;
  std::int64_t priority = 0;
  std::string pool;  // replica pool; empty: the cluster's only one
  std::variant<ArrivalSpec, Lanes, Recorded> load;
  std::variant<Programs, Replay> sessions;
  std::vector<ToolSpec> tools;        // a Replay has one, "recorded", of unlimited workers, if none is given
  std::optional<std::int64_t> limit;  // sessions to start in all
};

// What reading a class needs from outside it.
struct ClassContext {
  std::span<const TraceFormat> formats;
  const NamedPrograms* programs = nullptr;
  // Path of a trace named in a scenario; throws ConfigError at the value when there is none.
  std::function<std::string(const Value& name)> find_file;
};

// Reads one traffic class and, for a Replay, its trace. All keys but those taken before are this function's: it closes the section.
ClassSpec read_class(Section& section, const ClassContext& context);

struct LoadOptions {
  std::uint64_t seed = 0;
  std::uint32_t traffic = 0;     // index of the class in the run
  std::uint32_t first_tool = 0;  // ToolId of spec.tools[0]; the others follow
  bool stationary = false;       // `start: stationary`
};

// Throws ConfigError when the mode does not fit the sessions (recorded without times; stationary or repeat with recorded times).
std::unique_ptr<Load> make_load(const ClassSpec& spec, const LoadOptions& options);

}  // namespace marea::traffic
