// Reader of LLMServingSim workloads.
#include "sim/traffic/traces/llmservingsim.h"

#include <unordered_map>

#include "sim/traffic/block_content.h"
#include "sim/traffic/json_row.h"
#include "sim/traffic/spans.h"
#include "sim/traffic/traces/growing_context.h"

namespace marea::traffic::traces {
namespace {

constexpr std::int64_t kBlock = 16;

// Numbers blocks of token ids in the order in which they are first seen; a block's identity includes all before it.
class TokenBlocks {
 public:
  // Appends tokens of a stream; whole blocks become pieces of `content`.
  void begin() {
    chain_ = 0;
    filled_ = 0;
  }
  void add(std::int64_t token, std::uint64_t span, kv::Content& content) {
    chain_ = combine(chain_, static_cast<std::uint64_t>(token));
    if (++filled_ < kBlock) return;
    filled_ = 0;
    const auto number = numbers_.try_emplace(chain_, static_cast<std::int64_t>(numbers_.size())).first->second;
    kv::append(content, {span, number * kBlock, kBlock});
  }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;  // looked up only, never walked
  std::uint64_t chain_ = 0;
  std::int64_t filled_ = 0;
};

class SessionLines {
 public:
  explicit SessionLines(TraceBuilder& trace) : trace_(trace) {}

  void read(const JsonValue& line) {
    const JsonValue arrival = line.at("arrival_time_ns");
    const Duration start{arrival.integer(0, static_cast<std::int64_t>(kMostSeconds) * 1'000'000'000)};
    if (start < latest_) arrival.fail("earlier than the line before; lines must be in order of time");
    trace_.begin(start);
    calls_.clear();
    waits_.clear();
    identified_ = 0;
    const auto sub_requests = line.find("sub_requests");
    if (sub_requests) {
      sub_requests->each([&](const JsonValue& call) { read_call(call); });
      if (calls_.empty()) sub_requests->fail("at least one call is expected");
    } else {
      read_call(line);
    }
    const bool shared = identified_ > 0;
    if (shared) {
      if (identified_ < calls_.size())
        trace_.note("calls without ids in a session that has them, private", static_cast<std::int64_t>(calls_.size() - identified_));
      complete_contents(std::span(calls_), [&](std::size_t call) { return trace_.own(call); });
    } else {
      grow();
    }
    emit(start);
    trace_.end(shared ? INT64_MAX : 0);
    latest_ = start;
  }

 private:
  void read_call(const JsonValue& value) {
    BlockCall call;
    call.prompt = value.at("input_toks").integer(1, kMostTokens);
    call.output = value.at("output_toks").integer(1, kMostTokens);
    const auto ranges = value.find("block16_ranges"), ids = value.find("input_tok_ids"), output_ids = value.find("output_tok_ids");
    if (ranges && ids) ranges->fail("block16_ranges and input_tok_ids exclude each other");
    if (ranges) read_ranges(*ranges, call);
    if (ids) read_tokens(*ids, output_ids, call);
    identified_ += ranges || ids;
    Duration wait{};
    if (const auto tool = value.find("tool_duration_ns"))
      wait = Duration{tool->integer(0, static_cast<std::int64_t>(kMostSeconds) * 1'000'000'000)};
    waits_.push_back(wait);
    calls_.push_back(std::move(call));
  }

  void read_ranges(const JsonValue& ranges, BlockCall& call) {
    std::int64_t blocks = 0;
    ranges.each([&](const JsonValue& pair) {
      if (pair.count() != 2) pair.fail("a pair [first, last] is expected");
      std::int64_t first = -1, last = 0;
      pair.each([&](const JsonValue& id) {
        if (first < 0) {
          first = id.integer(0, kMostId);
        } else {
          last = id.integer(first, kMostId);
        }
      });
      blocks += last - first + 1;
      if (blocks > call.prompt / kBlock) ranges.fail("more blocks than input_toks has");
      kv::append(call.content, {trace_.ids(), first * kBlock, (last - first + 1) * kBlock});
    });
    if (blocks < call.prompt / kBlock) trace_.note("inputs with fewer ids than full blocks, their rest private");
  }

  void read_tokens(const JsonValue& ids, const std::optional<JsonValue>& output_ids, BlockCall& call) {
    if (static_cast<std::int64_t>(ids.count()) != call.prompt) ids.fail("input_toks token ids are expected");
    if (output_ids && static_cast<std::int64_t>(output_ids->count()) != call.output) output_ids->fail("output_toks token ids are expected");
    const std::uint64_t span = trace_.ids();
    blocks_.begin();
    const auto add = [&](const JsonValue& id) { blocks_.add(id.integer(0, kMostId), span, call.content); };
    ids.each(add);
    if (output_ids) output_ids->each(add);
  }

  void grow() {
    context_.start();
    for (BlockCall& call : calls_) {
      const bool goes_on = call.prompt >= context_.length();
      const kv::ContentView content = context_.next(trace_, goes_on ? context_.length() : 0, call.prompt, call.output);
      call.content.assign(content.begin(), content.end());
    }
    if (calls_.size() > 1) trace_.note("sessions without ids, each call taken to continue the one before if it is at least as long");
  }

  void emit(Duration start) {
    std::optional<std::uint32_t> last;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (i > 0 && waits_[i - 1] > Duration{}) {
        const std::uint32_t wait = trace_.wait(StepKind::tool, 0, waits_[i - 1]);
        trace_.edge(*last, wait);
        last = wait;
      }
      const std::uint32_t step =
          trace_.call(0, calls_[i].prompt, calls_[i].output, calls_[i].content, i == 0 ? std::optional(start) : std::nullopt);
      if (last) trace_.edge(*last, step);
      last = step;
    }
    if (waits_.back() > Duration{}) trace_.note("waits after the last call of a session, left out");
  }

  TraceBuilder& trace_;
  TokenBlocks blocks_;
  GrowingContext context_;
  std::vector<BlockCall> calls_;
  std::vector<Duration> waits_;  // after each call
  std::size_t identified_ = 0;
  Duration latest_{};
};

}  // namespace

Trace LlmServingSim::read(const std::string& file, const Params&, const TraceOptions& options) {
  TraceBuilder trace(file, options);
  LineReader lines(file);
  JsonRow row;
  SessionLines reader(trace);
  trace.each_line(lines, [&](std::string_view line) { reader.read(row.parse(line, lines.mark())); });
  return trace.finish();
}

}  // namespace marea::traffic::traces
