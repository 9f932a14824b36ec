// The Azure LLM inference traces of 2023: arrivals and lengths of single calls, nothing of prefixes or sessions.
#pragma once

#include "sim/traffic/timestamp.h"
#include "sim/traffic/trace_builder.h"

namespace marea::traffic::traces {

struct Azure2023 {
  static constexpr std::string_view name = "azure-2023";
  static constexpr std::string_view summary =
      "Azure LLM inference 2023 CSV: TIMESTAMP, ContextTokens, GeneratedTokens; every content private";

  struct Params {};
  static Params params(Section&) { return {}; }

  // Times count from the first row.
  static Trace read(const std::string& file, const Params&, const TraceOptions& options) {
    TraceBuilder trace(file, options);
    CsvReader table(file);
    const std::size_t time_column = table.column("TIMESTAMP");
    const std::size_t prompt_column = table.column("ContextTokens");
    const std::size_t output_column = table.column("GeneratedTokens");
    std::optional<Duration> first, latest;
    trace.each_row(table, [&] {
      const auto time = parse_timestamp(table.field(time_column));
      if (!time) throw ConfigError(table.mark(time_column), "TIMESTAMP", "not a time of the form 2023-11-16 18:15:46.6805900");
      if (latest && *time < *latest)
        throw ConfigError(table.mark(time_column), "TIMESTAMP", "earlier than the row before; rows must be in order of time");
      const std::int64_t prompt = table.integer(prompt_column, 1, kMostTokens);
      const std::int64_t output = table.integer(output_column, 1, kMostTokens);
      latest = time;
      if (!first) first = time;
      const Duration start = *time - *first;
      if (to_seconds(start).count() > kMostSeconds)
        throw ConfigError(table.mark(time_column), "TIMESTAMP", "more than 31 years after the first row");
      trace.begin(start);
      const kv::Piece content{trace.own(0), 0, prompt + output};
      trace.call(0, prompt, output, {&content, 1}, start);
      trace.end(0);
    });
    return trace.finish();
  }
};

}  // namespace marea::traffic::traces
