// A trace in memory, in one compact form whatever its format was: sessions of steps, with the content of each call as pieces. Immutable
// once read, so replications share it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/section.h"
#include "sim/kv/content.h"
#include "sim/traffic/limits.h"
#include "sim/traffic/load.h"
#include "sim/traffic/session.h"

namespace marea::traffic {

// Spans in a trace say in their top two bits how far they reach; making a session turns them into the run's spans.
namespace trace_span {
inline constexpr std::uint64_t kReach = std::uint64_t{3} << 62;
// A group's prefix (tool and system text): one in its sharing domain, also between classes and over repeats.
constexpr std::uint64_t group(std::uint64_t key) { return key | kReach; }
// Ids that are global in the trace: shared by its sessions in a sharing domain, fresh when the trace repeats.
constexpr std::uint64_t ids(std::uint64_t key) { return (key & ~kReach) | std::uint64_t{2} << 62; }
// One session's own.
constexpr std::uint64_t own(std::uint64_t key) { return key & ~kReach; }
}  // namespace trace_span

struct Trace {
  struct Call {
    std::int64_t prompt = 0, output = 0, known = 0;
    std::uint64_t first_piece = 0, pieces = 0;
    std::optional<Duration> recorded;  // since the start of the trace
  };
  struct Step {
    StepKind kind = StepKind::call;
    std::uint32_t thread = 0;
    std::uint64_t call = 0;  // index in calls
    Duration wait{};         // tool, human
    bool between = false;    // the wait is the time between two recorded calls: in recorded mode their times say it already
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;  // steps, counted within the session
  };
  struct Branch {
    std::uint32_t parent = 0;
    std::uint32_t model = 0;  // index in models
  };
  // Ranges end where the next session's begin; the last entry of `sessions` is an end mark.
  struct Entry {
    std::uint64_t first_step = 0, first_edge = 0, first_thread = 0;
    std::int64_t shareable = 0;
    std::optional<Duration> start;
  };

  std::vector<Entry> sessions{{}};
  std::vector<Step> steps;
  std::vector<Edge> edges;
  std::vector<Branch> threads;
  std::vector<Call> calls;
  kv::Content pieces;
  std::vector<std::string> models;  // [0] is "": not stated
  std::vector<Load::Note> notes;

  std::uint64_t size() const { return sessions.size() - 1; }
  kv::ContentView content(const Call& call) const { return {pieces.data() + call.first_piece, call.pieces}; }
};

// Cuts tool and human waits to `longest` and notes how many were longer.
void cap_waits(Trace& trace, Duration longest);

struct TraceOptions {
  bool skip_bad_rows = false;          // count them instead of throwing
  std::optional<std::uint64_t> limit;  // the first sessions only
};

// One trace format: a row of the table of plug-ins. `configure` takes the format's own keys from the trace's section and returns the
// reader.
struct TraceFormat {
  using Read = std::function<Trace(const std::string& file, const TraceOptions& options)>;
  std::string_view name;
  std::string_view summary;
  Read (*configure)(Section& section);
};

// The row of a reader: a struct with static name, summary, Params, `Params params(Section&)` and `Trace read(file, params, options)`.
template <class Reader>
constexpr TraceFormat trace_format() {
  return {Reader::name, Reader::summary, [](Section& section) -> TraceFormat::Read {
            return [params = Reader::params(section)](const std::string& file, const TraceOptions& options) {
              return Reader::read(file, params, options);
            };
          }};
}

}  // namespace marea::traffic
