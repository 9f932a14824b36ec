// TraceLab replay tables: the model calls of coding-agent sessions as prefix, new input, output and the tool wait that follows.
#pragma once

#include "sim/traffic/traces/growing_context.h"

namespace marea::traffic::traces {

struct TraceLab {
  static constexpr std::string_view name = "tracelab";
  static constexpr std::string_view summary =
      "TraceLab replay CSV: session_id, round_idx, prefix_len, input_len, output_len, tool_wait_after_ms, arrival_time (ms, optional)";

  struct Params {};
  static Params params(Section&) { return {}; }

  // A prefix is the start of the session's latest context; where it falls back, what follows is a branch or a compaction with tokens of its
  // own. Where it is longer than the session's context, the rest is new to the session.
  static Trace read(const std::string& file, const Params&, const TraceOptions& options) {
    TraceBuilder trace(file, options);
    CsvReader table(file);
    const std::size_t id = table.column("session_id"), round = table.column("round_idx"), prefix = table.column("prefix_len");
    const std::size_t input = table.column("input_len"), output = table.column("output_len"), wait = table.column("tool_wait_after_ms");
    const std::optional<std::size_t> arrival = table.has("arrival_time") ? std::optional(table.column("arrival_time")) : std::nullopt;
    GrowingContext context;
    std::string session;
    std::int64_t rounds = 0;  // of the open session
    std::uint32_t last = 0;
    Duration pending{}, latest{};
    const auto close = [&] {
      if (!trace.in_session()) return;
      if (pending > Duration{}) trace.note("waits after the last call of a session, left out");
      trace.end(0);
    };
    trace.each_row(table, [&] {
      if (table.field(id) != session) close();
      const std::int64_t open_rounds = trace.in_session() ? rounds : 0;
      const std::int64_t number = table.integer(round, 0, 10'000'000);
      const std::int64_t cached = table.integer(prefix, 0, kMostTokens), fresh = table.integer(input, 0, kMostTokens);
      const std::int64_t tokens = table.integer(output, 1, kMostTokens);
      const Duration after = to_clock(Seconds{table.number(wait, 0, kMostSeconds * 1000) / 1000});
      if (cached + fresh < 1) throw ConfigError(table.mark(input), "input_len", "the prompt (prefix_len + input_len) must have a token");
      if (number != open_rounds) {
        throw ConfigError(table.mark(round), "round_idx",
                          "round " + std::to_string(open_rounds) + " of the session is expected: rounds follow each other from 0");
      }
      if (open_rounds == 0) {
        std::optional<Duration> start;
        if (arrival) start = to_clock(Seconds{table.number(*arrival, 0, kMostSeconds * 1000) / 1000});
        if (start && *start < latest)
          throw ConfigError(table.mark(*arrival), "arrival_time", "earlier than the session before; sessions must be in order of time");
        if (start) latest = *start;
        trace.begin(start);
        context.start();
        session = table.field(id);
      }
      if (cached > context.length())
        trace.note(open_rounds == 0 ? "sessions whose first call had a cached prefix, taken as new"
                                    : "prefixes longer than the session's context, the rest taken as new");
      const kv::ContentView content = context.next(trace, std::min(cached, context.length()), cached + fresh, tokens);
      std::optional<std::uint32_t> waited;
      if (open_rounds > 0 && pending > Duration{}) waited = trace.wait(StepKind::tool, 0, pending);
      const std::uint32_t call =
          trace.call(0, cached + fresh, tokens, content, open_rounds == 0 && arrival ? std::optional(latest) : std::nullopt);
      if (waited) trace.edge(last, *waited);
      if (open_rounds > 0) trace.edge(waited.value_or(last), call);
      last = call;
      pending = after;
      rounds = open_rounds + 1;
    });
    close();
    return trace.finish();
  }
};

}  // namespace marea::traffic::traces
