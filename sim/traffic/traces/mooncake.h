// The traces of Mooncake (FAST'25): one request a line, prefix blocks of 512 tokens named by ids that are global in the trace.
#pragma once

#include "sim/traffic/json_row.h"
#include "sim/traffic/trace_builder.h"

namespace marea::traffic::traces {

struct Mooncake {
  static constexpr std::string_view name = "mooncake";
  static constexpr std::string_view summary =
      "Mooncake FAST'25 JSONL: timestamp (ms), input_length, output_length, hash_ids of 512-token blocks";

  struct Params {
    std::int64_t block = 512;
  };
  static Params params(Section& section) {
    Params params;
    if (const auto block = section.optional("block")) {
      params.block = block->tokens(Tokens{1}).value;
      if (params.block > kMostBlock) block->fail("at most 16,384 tokens are accepted");
    }
    return params;
  }

  // The last id covers the rest of the input, so identical inputs are identical to their end. Outputs are private: the trace does not say
  // which request continues which.
  static Trace read(const std::string& file, const Params& params, const TraceOptions& options) {
    TraceBuilder trace(file, options);
    LineReader lines(file);
    JsonRow row;
    kv::Content content;
    Duration latest{};
    trace.each_line(lines, [&](std::string_view line) {
      const JsonValue request = row.parse(line, lines.mark());
      const JsonValue timestamp = request.at("timestamp");
      const Duration time = to_clock(Seconds{timestamp.number(0, kMostSeconds * 1000) / 1000});
      const std::int64_t prompt = request.at("input_length").integer(1, kMostTokens);
      const std::int64_t output = request.at("output_length").integer(1, kMostTokens);
      const JsonValue ids = request.at("hash_ids");
      if (time < latest) timestamp.fail("earlier than the row before; rows must be in order of time");
      const auto blocks = static_cast<std::int64_t>(ids.count());
      if (blocks > (prompt + params.block - 1) / params.block) ids.fail("more ids than blocks in input_length");
      trace.begin(time);
      content.clear();
      std::int64_t left = prompt;
      ids.each([&](const JsonValue& id) {
        kv::append(content, {trace.ids(), id.integer(0, kMostId) * params.block, std::min(left, params.block)});
        left -= std::min(left, params.block);
      });
      if (left > 0) trace.note("inputs with fewer ids than blocks, their rest private");
      kv::append(content, {trace.own(0), 0, left + output});
      trace.call(0, prompt, output, content, time);
      trace.end(INT64_MAX);
      latest = time;
    });
    return trace.finish();
  }
};

}  // namespace marea::traffic::traces
