// Workloads of LLMServingSim: single requests and agentic sessions, mixed in one file.
#pragma once

#include "sim/traffic/trace_builder.h"

namespace marea::traffic::traces {

// A request {input_toks, output_toks, arrival_time_ns} or a session {session_id, arrival_time_ns, sub_requests: [{input_toks, output_toks,
// tool_duration_ns}]}, whose waits come after each call. Identity, where given, is global in the file:
// - block16_ranges: inclusive runs of ids of 16-token blocks of the input;
// - input_tok_ids (and output_tok_ids): equal leading blocks of 16 token ids are equal content.
// Without it a call of a session continues the context before if its input is at least as long, else it starts anew.
// An input's partial block and its output take the next call's ids where that call continues all full blocks, else they are private.
struct LlmServingSim {
  static constexpr std::string_view name = "llmservingsim";
  static constexpr std::string_view summary =
      "LLMServingSim JSONL: flat requests (optional block16_ranges or input_tok_ids) and agentic sessions with sub_requests";

  struct Params {};
  static Params params(Section&) { return {}; }
  static Trace read(const std::string& file, const Params& params, const TraceOptions& options);
};

}  // namespace marea::traffic::traces
