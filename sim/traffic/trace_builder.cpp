// Assembly of traces.
#include "sim/traffic/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/traffic/known.h"
#include "sim/traffic/spans.h"

namespace marea::traffic {
namespace {

// The file's own name: moving a trace to another folder changes no id.
std::string_view base_name(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

}  // namespace

TraceBuilder::TraceBuilder(const std::string& file, const TraceOptions& options)
    : file_(file), options_(options), file_key_(combine(hash_name("trace"), hash_name(base_name(file)))) {
  trace_.models.emplace_back();
}

void TraceBuilder::begin(std::optional<Duration> start) {
  drop();
  open_ = true;
  waited_ = {};
  piece_mark_ = trace_.pieces.size();
  call_mark_ = trace_.calls.size();
  trace_.sessions.back().start = start;
  trace_.threads.push_back({});
}

std::uint32_t TraceBuilder::step(Trace::Step step) {
  trace_.steps.push_back(step);
  return static_cast<std::uint32_t>(trace_.steps.size() - 1 - trace_.sessions.back().first_step);
}

std::uint32_t TraceBuilder::call(std::uint32_t thread, std::int64_t prompt, std::int64_t output, kv::ContentView content,
                                 std::optional<Duration> recorded) {
  const std::uint64_t first = trace_.pieces.size();
  trace_.pieces.insert(trace_.pieces.end(), content.begin(), content.end());
  trace_.calls.push_back({prompt, output, 0, first, content.size(), recorded});
  return step({StepKind::call, thread, trace_.calls.size() - 1});
}

std::uint32_t TraceBuilder::wait(StepKind kind, std::uint32_t thread, Duration time, bool between) {
  waited_ += time;
  if (to_seconds(waited_).count() > kMostSeconds) fail("the waits of a session add up to more than 31 years");
  return step({kind, thread, 0, time, between});
}

void TraceBuilder::fail(std::string_view message) const {
  throw ConfigError({file_}, "", fmt::format("session {}: {}", trace_.size(), message));
}

std::uint32_t TraceBuilder::thread(std::uint32_t parent) {
  trace_.threads.push_back({parent, 0});
  return static_cast<std::uint32_t>(trace_.threads.size() - 1 - trace_.sessions.back().first_thread);
}

void TraceBuilder::model(std::uint32_t thread, std::string_view name) {
  auto found = std::find(trace_.models.begin(), trace_.models.end(), name);
  if (found == trace_.models.end()) found = trace_.models.insert(found, std::string(name));
  trace_.threads[trace_.sessions.back().first_thread + thread].model = static_cast<std::uint32_t>(found - trace_.models.begin());
}

void TraceBuilder::end(std::int64_t shareable) {
  check(open_, "a session of a trace is closed once");
  find_known();
  open_ = false;
  trace_.sessions.back().shareable = shareable;
  trace_.sessions.push_back({trace_.steps.size(), trace_.edges.size(), trace_.threads.size(), 0, std::nullopt});
}

void TraceBuilder::skip(const ConfigError& error) {
  if (skipped_++ == 0) first_skipped_ = error.what();
  note("bad rows skipped");
  if (open_ && trace_.steps.size() > trace_.sessions.back().first_step) note("sessions left out because of a bad row");
  drop();
}

void TraceBuilder::drop() {
  if (!open_) return;
  open_ = false;
  const Trace::Entry& entry = trace_.sessions.back();
  trace_.steps.resize(entry.first_step);
  trace_.edges.resize(entry.first_edge);
  trace_.threads.resize(entry.first_thread);
  trace_.calls.resize(call_mark_);
  trace_.pieces.resize(piece_mark_);
}

void TraceBuilder::find_known() {
  const std::uint64_t first = trace_.sessions.back().first_step;
  const std::size_t steps = trace_.steps.size() - first;
  if (trace_.calls.size() - call_mark_ <= 1) return;
  Precedence precedence;
  const bool single_thread = trace_.threads.size() - trace_.sessions.back().first_thread == 1;
  if (!single_thread && steps > kMostSteps) fail(fmt::format("a session with sub-agents has more than {} steps", kMostSteps));
  precedence.reset(steps, single_thread);
  const auto edges = trace_.edges.begin() + static_cast<std::ptrdiff_t>(trace_.sessions.back().first_edge);
  std::sort(edges, trace_.edges.end(),
            [](const Trace::Edge& a, const Trace::Edge& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  for (auto edge = edges; edge != trace_.edges.end(); ++edge) precedence.add(edge->from, edge->to);
  std::vector<KnownCall> calls;
  for (std::size_t i = 0; i < steps; ++i) {
    const Trace::Step& step = trace_.steps[first + i];
    if (step.kind != StepKind::call) continue;
    Trace::Call& call = trace_.calls[step.call];
    const KnownCall known{trace_.content(call), call.prompt, call.prompt + call.output - 1, static_cast<std::uint32_t>(i)};
    call.known = known_tokens(calls, known, precedence);
    append_known(calls, known);
  }
}

std::uint64_t TraceBuilder::own(std::uint64_t key) const { return trace_span::own(combine(combine(file_key_, trace_.size()), key)); }

void TraceBuilder::note(std::string_view text, std::int64_t count) {
  if (count == 0) return;
  for (Load::Note& old : trace_.notes) {
    if (old.text != text) continue;
    old.count += count;
    return;
  }
  trace_.notes.push_back({std::string(text), count});
}

Trace TraceBuilder::finish() {
  drop();
  if (trace_.size() == 0 && skipped_ > 0)
    throw ConfigError({file_}, "",
                      fmt::format("holds no sessions: {} {} skipped as bad rows; the first: {}", skipped_,
                                  skipped_ == 1 ? "row was" : "rows were", first_skipped_));
  return std::move(trace_);
}

}  // namespace marea::traffic
