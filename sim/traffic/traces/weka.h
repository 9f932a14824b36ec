// Claude Code sessions of the WEKA kv-cache-tester: one session a line with prefix block ids, waits and sub-agents.
#pragma once

#include "sim/traffic/trace_builder.h"

namespace marea::traffic::traces {

// How a session becomes a program:
// - Ids are the session's own (`hash_id_scope` local) or the trace's (global). The tool and system prefix is one group per equal
//   (tool_tokens, system_tokens): the tokens of the blocks with which the most calls of a thread start, up to that many tokens.
// - If the next call of the thread continues all full blocks of this one, this call's partial tail and its output are the next call's
//   tokens at their positions as far as its prompt reaches; otherwise they are private.
// - `think_time` is a person's wait after `end_turn`, else a tool's. `t` of a sub-agent that has a `duration_ms` is its end (its recorded
//   start is t - duration; the parent's think_time spans it). Sub-agents that overlap run side by side and join at the last end; the
//   parent's wait keeps what lies before the first start and after the last end.
// - A call of no output gives one token. Everything assumed is noted with its count.
struct Weka {
  static constexpr std::string_view name = "weka";
  static constexpr std::string_view summary = "WEKA agent sessions, JSONL: requests with hash_ranges of block ids, think_time, sub-agents";

  struct Params {};
  static Params params(Section&) { return {}; }
  static Trace read(const std::string& file, const Params& params, const TraceOptions& options);
};

}  // namespace marea::traffic::traces
