// Reader of WEKA agent sessions.
#include "sim/traffic/traces/weka.h"

#include <algorithm>

#include "sim/traffic/block_content.h"
#include "sim/traffic/json_row.h"
#include "sim/traffic/spans.h"

namespace marea::traffic::traces {
namespace {

// Inclusive run of block ids.
struct Range {
  std::int64_t first = 0, last = 0;
  std::int64_t blocks() const { return last - first + 1; }
};

struct Call {
  std::int64_t prompt = 0, output = 0, blocks = 0;
  std::size_t first_range = 0, ranges = 0;
  double time = 0;
  std::optional<double> think;
  bool person_follows = false;
  std::string_view model;
};

// A call or a sub-agent of a thread, in the order of the file.
struct Item {
  bool agent = false;
  std::size_t index = 0;  // in the thread's calls, or in the session's threads
};

struct Line {
  std::vector<Item> items;
  std::vector<Call> calls;
  std::vector<BlockCall> contents;  // one a call
  std::int64_t tool_tokens = 0, system_tokens = 0;
  double start = 0, end = 0;  // of a sub-agent, on its parent's clock
  std::int64_t prefix() const { return tool_tokens + system_tokens; }
};

// Ids that stand for a group's prefix.
struct PrefixIds {
  std::size_t first_range = 0, ranges = 0;
  std::int64_t tokens = 0;
  std::uint64_t span = 0;
};

class SessionReader {
 public:
  explicit SessionReader(TraceBuilder& trace) : trace_(trace) {}

  void read(const JsonValue& session) {
    block_ = session.at("block_size").integer(1, kMostBlock);
    lines_.clear();
    ranges_.clear();
    prefixes_.clear();
    const auto scope = session.find("hash_id_scope");
    const bool global = scope && scope->text() == "global";
    if (scope && !global && scope->text() != "local") scope->fail("`local` or `global` is expected");
    parse(session);
    if (lines_[0].items.empty()) session.at("requests").fail("at least one request is expected");
    trace_.begin(std::nullopt);
    ids_ = global ? trace_.ids() : trace_.own(hash_name("ids"));
    for (std::size_t i = 0; i < lines_.size(); ++i) resolve(i);
    emit(0, 0, std::nullopt);
    std::int64_t shareable = 0;
    for (const PrefixIds& prefix : prefixes_) shareable = std::max(shareable, prefix.tokens);
    trace_.end(global ? INT64_MAX : shareable);
  }

 private:
  // Reads a thread and its sub-agents; returns its index in lines_.
  std::size_t parse(const JsonValue& thread) {
    const std::size_t index = lines_.size();
    lines_.emplace_back();
    if (const auto tool = thread.find("tool_tokens")) lines_[index].tool_tokens = tool->integer(0, kMostTokens);
    if (const auto system = thread.find("system_tokens")) lines_[index].system_tokens = system->integer(0, kMostTokens);
    double latest = 0;
    thread.at("requests").each([&](const JsonValue& request) {
      const JsonValue at = request.at("t");
      const double time = at.number(0, kMostSeconds);
      if (time < latest) at.fail("earlier than the request before; requests must be in order of time");
      latest = time;
      if (request.at("type").text() == "subagent") {
        const std::size_t agent = parse(request);
        place(lines_[agent], request, time);
        lines_[index].items.push_back({true, agent});
      } else {
        lines_[index].items.push_back({false, lines_[index].calls.size()});
        lines_[index].calls.push_back(parse_call(request, time));
      }
    });
    return index;
  }

  // Start and end of a sub-agent on its parent's clock.
  void place(Line& agent, const JsonValue& request, double time) {
    if (const auto duration = request.find("duration_ms")) {
      agent.end = time;
      agent.start = time - duration->number(0, kMostSeconds * 1000) / 1000;
      return;
    }
    trace_.note("sub-agents without a duration, taken to start at their time and waited for");
    agent.start = agent.end = time;
    if (!agent.calls.empty()) agent.end += agent.calls.back().time;
  }

  Call parse_call(const JsonValue& request, double time) {
    Call call;
    call.time = time;
    call.prompt = request.at("in").integer(1, kMostTokens);
    call.output = request.at("out").integer(0, kMostTokens);
    if (call.output == 0) {
      trace_.note("calls without output, taken as 1 token");
      call.output = 1;
    }
    if (const auto think = request.find("think_time")) call.think = think->number(0, kMostSeconds);
    if (const auto stop = request.find("stop")) call.person_follows = stop->text() == "end_turn";
    if (const auto model = request.find("model")) call.model = model->text();
    call.first_range = ranges_.size();
    const JsonValue given = request.at("hash_ranges");
    given.each([&](const JsonValue& pair) {
      if (pair.count() != 2) pair.fail("a pair [first, last] is expected");
      Range range{-1, 0};
      pair.each([&](const JsonValue& id) {
        if (range.first < 0) {
          range.first = id.integer(0, kMostId);
        } else {
          range.last = id.integer(range.first, kMostId);
        }
      });
      call.blocks += range.blocks();
      if (call.blocks > call.prompt / block_) given.fail("more blocks than `in` has");
      if (ranges_.size() > call.first_range && ranges_.back().last + 1 == range.first) {
        ranges_.back().last = range.last;
      } else {
        ranges_.push_back(range);
      }
    });
    call.ranges = ranges_.size() - call.first_range;
    if (call.blocks < call.prompt / block_) trace_.note("inputs with fewer ids than full blocks, their rest private");
    return call;
  }

  std::int64_t first_id(const Call& call) const { return call.ranges ? ranges_[call.first_range].first : -1; }

  // Number of leading blocks that two runs of ranges have in common.
  std::int64_t common_blocks(std::size_t a, std::size_t a_ranges, std::size_t b, std::size_t b_ranges) const {
    std::int64_t common = 0;
    for (std::size_t i = 0; i < a_ranges && i < b_ranges; ++i) {
      const Range &x = ranges_[a + i], &y = ranges_[b + i];
      if (x.first != y.first) break;
      common += std::min(x.blocks(), y.blocks());
      if (x.last != y.last) break;
    }
    return common;
  }

  // The ids of the thread's tool and system prefix: those of a call with the start that most calls have, the earlier in a tie.
  void find_prefix(const Line& line) {
    if (line.prefix() == 0) return;
    std::vector<std::pair<std::size_t, const Call*>> starts;
    for (const Call& call : line.calls) {
      if (call.ranges == 0 || call.prompt < line.prefix()) continue;
      const auto same =
          std::find_if(starts.begin(), starts.end(), [&](const auto& start) { return first_id(*start.second) == first_id(call); });
      if (same == starts.end()) {
        starts.emplace_back(1, &call);
      } else {
        ++same->first;
      }
    }
    if (starts.empty()) return;
    const Call& call =
        *std::max_element(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.first < b.first; })->second;
    for (const PrefixIds& known : prefixes_) {
      if (ranges_[known.first_range].first == first_id(call)) return;  // an id means what it meant first
    }
    const std::uint64_t key = combine(combine(hash_name("weka tools and system"), static_cast<std::uint64_t>(line.tool_tokens)),
                                      static_cast<std::uint64_t>(line.system_tokens));
    prefixes_.push_back({call.first_range, call.ranges, line.prefix(), trace_span::group(key)});
  }

  // Full blocks of a prompt as content.
  kv::Content blocks_of(const Call& call) const {
    kv::Content content;
    std::int64_t skip = 0;
    for (const PrefixIds& prefix : prefixes_) {
      if (ranges_[prefix.first_range].first != first_id(call)) continue;
      const std::int64_t common = common_blocks(prefix.first_range, prefix.ranges, call.first_range, call.ranges);
      skip = std::min(common * block_, prefix.tokens);
      kv::append(content, {prefix.span, 0, skip});
      break;
    }
    for (std::size_t i = 0; i < call.ranges; ++i) {
      const Range& range = ranges_[call.first_range + i];
      const std::int64_t length = range.blocks() * block_, left_out = std::min(skip, length);
      skip -= left_out;
      kv::append(content, {ids_, range.first * block_ + left_out, length - left_out});
    }
    return content;
  }

  void resolve(std::size_t index) {
    Line& line = lines_[index];
    find_prefix(line);
    for (const Call& call : line.calls) line.contents.push_back({blocks_of(call), call.prompt, call.output});
    complete_contents(std::span(line.contents), [&](std::size_t call) { return trace_.own(combine(index + 1, call)); });
  }

  std::uint32_t link(std::optional<std::uint32_t> from, std::uint32_t step) {
    if (from) trace_.edge(*from, step);
    return step;
  }
  std::optional<std::uint32_t> wait(std::optional<std::uint32_t> from, bool person, std::uint32_t thread, double seconds) {
    const Duration time = to_clock(Seconds{std::max(seconds, 0.0)});
    return time > Duration{} ? link(from, trace_.wait(person ? StepKind::human : StepKind::tool, thread, time)) : from;
  }

  // Steps of one thread after step `from`; returns its last one.
  std::optional<std::uint32_t> emit(std::size_t index, std::uint32_t thread, std::optional<std::uint32_t> from) {
    const Line& line = lines_[index];
    std::optional<std::uint32_t> last = from;
    const Call* previous = nullptr;
    double recorded_end = 0;  // of what the thread did last
    bool after_agents = false;
    if (!line.calls.empty()) trace_.model(thread, line.calls.front().model);
    for (std::size_t i = 0; i < line.items.size();) {
      if (line.items[i].agent) {
        if (previous && !after_agents) recorded_end = end_of(line, i, *previous);
        const std::size_t group = overlapping(line, i);
        if (group > i) {
          double start = lines_[line.items[i].index].start, end = lines_[line.items[i].index].end;
          for (std::size_t k = i; k < group; ++k) {
            start = std::min(start, lines_[line.items[k].index].start);
            end = std::max(end, lines_[line.items[k].index].end);
          }
          if (previous || after_agents)
            last = wait(last, previous && previous->person_follows && !after_agents, thread, start - recorded_end);
          last = agents(line, i, group, thread, last);
          recorded_end = end;
          after_agents = true;
        }
        i = group;
        continue;
      }
      const std::size_t number = line.items[i].index;
      const Call& call = line.calls[number];
      if (previous || after_agents) {
        if (!call.think) trace_.note("waits missing, taken as 0");
        double think = call.think.value_or(0);
        if (after_agents) think = std::clamp(call.time - recorded_end, 0.0, think);
        last = wait(last, previous && previous->person_follows && !after_agents, thread, think);
      }
      if (call.model != line.calls.front().model) trace_.note("calls to another model than their thread's first, served with it");
      last = link(last, trace_.call(thread, call.prompt, call.output, line.contents[number].content));
      previous = &call;
      after_agents = false;
      ++i;
    }
    return last;
  }

  // Recorded end of a call that sub-agents follow: the next call's time less its think time, which spans them; else the first sub-agent's
  // start.
  double end_of(const Line& line, std::size_t item, const Call& call) const {
    for (std::size_t i = item; i < line.items.size(); ++i) {
      if (line.items[i].agent) continue;
      const Call& next = line.calls[line.items[i].index];
      if (next.think) return std::max(call.time, next.time - *next.think);
      break;
    }
    return lines_[line.items[item].index].start;
  }

  // End of the run of sub-agents from `item` that overlap in time.
  std::size_t overlapping(const Line& line, std::size_t item) const {
    double end = lines_[line.items[item].index].end;
    std::size_t i = item + 1;
    for (; i < line.items.size() && line.items[i].agent; ++i) {
      const Line& next = lines_[line.items[i].index];
      if (next.start >= end) break;
      end = std::max(end, next.end);
    }
    return i;
  }

  std::uint32_t agents(const Line& line, std::size_t from, std::size_t to, std::uint32_t thread, std::optional<std::uint32_t> last) {
    const std::uint32_t fork = link(last, trace_.fork(thread));
    std::vector<std::uint32_t> ends;
    for (std::size_t i = from; i < to; ++i) {
      const std::uint32_t child = trace_.thread(thread);
      const auto end = emit(line.items[i].index, child, fork);
      if (lines_[line.items[i].index].items.empty()) trace_.note("sub-agents without calls");
      ends.push_back(*end);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    const std::uint32_t join = trace_.join(thread);
    for (const std::uint32_t end : ends) trace_.edge(end, join);
    return join;
  }

  TraceBuilder& trace_;
  std::int64_t block_ = 0;
  std::uint64_t ids_ = 0;
  std::vector<Line> lines_;  // [0] is the main thread
  std::vector<Range> ranges_;
  std::vector<PrefixIds> prefixes_;
};

}  // namespace

Trace Weka::read(const std::string& file, const Params&, const TraceOptions& options) {
  TraceBuilder trace(file, options);
  LineReader lines(file);
  JsonRow row;
  SessionReader session(trace);
  trace.each_line(lines, [&](std::string_view line) { session.read(row.parse(line, lines.mark())); });
  return trace.finish();
}

}  // namespace marea::traffic::traces
