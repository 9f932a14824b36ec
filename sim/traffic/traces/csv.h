// Any table of calls, its columns named in the scenario.
#pragma once

#include "sim/traffic/trace_builder.h"

namespace marea::traffic::traces {

// columns:
//   prompt: NAME, output: NAME                 tokens; required
//   time: {name: NAME, unit: ns|us|ms|s}       since the start of the trace, or `unit: date` for 2023-11-16 18:15:46.68 (counted from the
//   first row) session: NAME                              rows of one session, in order; without it every row is one wait: {name: NAME,
//   unit: ns|us|ms|s}       before the call (not before a session's first) waits_for: tool | human                    whose the waits are
//   (tool) prefix: {name: NAME, tokens: 512 tok}      rows of equal text share their first tokens (less where the prompt is shorter)
// A call of a session continues the context before if its prompt is at least as long; else it starts anew after the shared prefix.
struct Csv {
  static constexpr std::string_view name = "csv";
  static constexpr std::string_view summary =
      "any CSV of calls, its columns named under `columns:` (prompt, output, time, session, wait, prefix)";

  struct Params {
    struct Timed {
      std::string column;
      double unit = 0;  // ns; 0: a date
    };
    std::string prompt, output;
    std::optional<Timed> time, wait;
    std::optional<std::string> session, prefix;
    std::int64_t prefix_tokens = 0;
    StepKind waits_for = StepKind::tool;
  };
  static Params params(Section& section);
  static Trace read(const std::string& file, const Params& params, const TraceOptions& options);
};

}  // namespace marea::traffic::traces
