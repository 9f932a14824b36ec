#include "sim/metrics/audit.h"

#include <fmt/format.h>

#include <numeric>

namespace marea::metrics {

using cluster::CallEnd;

namespace {

[[noreturn]] void broken(std::string_view law, std::string_view where, Time now) {
  throw InternalError(fmt::format("audit: {} ({}, at {} ns)", law, where, since_start(now).count()));
}

Duration sum(const std::array<Duration, cluster::kCauses>& booked) { return std::accumulate(booked.begin(), booked.end(), Duration{}); }

std::string place(ClassId traffic, std::uint64_t index) { return fmt::format("class {}, session {}", traffic.value, index); }

}  // namespace

Audit::Audit(std::size_t classes, std::vector<std::int64_t> pool_tokens) : tokens_(classes) {
  for (const std::int64_t tokens : pool_tokens) replicas_.push_back({tokens, kStart, 0});
}

void Audit::clock(Time at, const char* where) {
  if (at < now_) [[unlikely]]
    broken("the clock went back", where, at);
  now_ = at;
}

void Audit::fail(const char* law, const Session& session) const { broken(law, place(session.traffic, session.index), now_); }

void Audit::fail(const char* law, const cluster::CallEnded& call) const {
  broken(law, fmt::format("{}, call {}", place(call.traffic, call.session_index), call.index), call.at);
}

Audit::Session& Audit::session(SessionSlot slot, const char* where) {
  if (slot.value >= sessions_.size() || !sessions_[slot.value].live) [[unlikely]]
    broken("a fact names a session that is not alive", where, now_);
  return sessions_[slot.value];
}

void Audit::on(const cluster::RunStarted& run) {
  if (run.classes != static_cast<std::int64_t>(tokens_.size()))
    broken("the run has other traffic classes than its observers", "start", now_);
  if (run.replicas != static_cast<std::int64_t>(replicas_.size())) broken("the run has other replicas than its observers", "start", now_);
}

void Audit::on(const cluster::SessionStarted& started) {
  clock(started.at, "session started");
  if (started.session.value >= sessions_.size()) sessions_.resize(started.session.value + 1);
  Session& row = sessions_[started.session.value];
  require(!row.live, "a session started in the slot of a live one", row);
  row = Session{.live = true, .index = started.index, .traffic = started.traffic, .started = started.at};
  ++live_;
}

void Audit::on(const cluster::SessionEnded& ended, const Window& window) {
  clock(ended.at, "session ended");
  Session& row = session(ended.session, "session ended");
  require(ended.started == row.started && ended.index == row.index && ended.traffic == row.traffic, "a session ended as another one", row);
  require(ended.booked == row.booked, "the bookings of a session are not those that its end states", row);
  require(sum(ended.booked) == ended.at - ended.started, "the bookings of a session do not sum to its life", row);
  require(row.agents == Duration{}, "the bookings of sub-agents do not sum to their lives", row);
  require(row.issued == row.ended, "a session ended before one of its calls", row);
  require(ended.end != cluster::SessionEnd::completed || row.completed == ended.calls_planned, "a session completed without all its calls",
          row);
  life_in_window_ += window.overlap(ended.started, ended.at).count();
  row.live = false;
  --live_;
}

void Audit::on(const cluster::TimeBooked& booked) {
  clock(booked.at, "time booked");
  Session& row = session(booked.session, "time booked");
  require(booked.duration >= Duration{}, "a negative duration was booked", row);
  if (booked.thread == 0) {
    row.booked[static_cast<std::size_t>(booked.cause)] += booked.duration;
  } else {
    row.agents += booked.duration;
  }
}

void Audit::on(const cluster::ThreadEnded& thread) {
  clock(thread.at, "sub-agent ended");
  Session& row = session(thread.session, "sub-agent ended");
  require(sum(thread.booked) == thread.at - thread.started, "the bookings of a sub-agent do not sum to its life", row);
  row.agents -= thread.at - thread.started;
}

void Audit::on(const cluster::ContextGrew& context) {
  clock(context.at, "call issued");
  Session& row = session(context.session, "call issued");
  row.shareable = context.shareable;
  ++row.issued;
}

void Audit::check_times(const cluster::CallEnded& call) const {
  require(call.issued <= call.at, "a call ended before it was issued", call);
  // Times that were not reached are kNever, so a time may only be set when the one before it is.
  require(call.issued <= call.queued, "a call was queued before it was issued", call);
  require(call.queued <= call.scheduled, "a call was scheduled before it was queued", call);
  require(call.scheduled <= call.first_token, "a call emitted a token before it was scheduled", call);
  require(call.first_token <= call.last_token, "a call emitted its last token before its first", call);
  require(call.last_token == kNever || call.last_token <= call.at, "a call emitted a token after its end", call);
  require(sum(call.booked) == call.at - call.issued, "the bookings of a call do not sum to its life", call);
}

void Audit::check_tokens(const cluster::CallEnded& call, const Session& owner) const {
  require(call.generated >= 0 && call.generated <= call.output, "a call emitted more tokens than it was to", call);
  if (call.end == CallEnd::completed) {
    require(call.generated == call.output && call.last_token != kNever, "a call completed without all its tokens", call);
    require(call.generated > 1 || call.first_token == call.last_token, "one token has two times", call);
  }
  require(call.end != CallEnd::refused || call.queued == kNever, "a refused call reached an engine", call);
  require(call.known >= 0 && call.known <= call.prompt, "a call knows more than its prompt", call);
  require(call.hit >= 0 && call.hit < call.prompt, "the cache gave the whole prompt of a call", call);
  // Sub-agents that run side by side may find what a sibling computed, which none of them is said to know.
  require(call.hit <= std::max(call.known, owner.shareable) || owner.agents_seen,
          "the cache gave tokens that were neither known nor shared", call);
  for (const std::int64_t lost : call.lost) require(lost >= 0, "a call lost a negative number of tokens", call);
}

void Audit::on(const cluster::CallEnded& call) {
  clock(call.at, "call ended");
  Session& row = session(call.session, "call ended");
  row.agents_seen |= call.thread != 0;
  check_times(call);
  check_tokens(call, row);
  preemptions_ += call.preemptions;
  if (call.end == CallEnd::refused) return;
  ++row.ended;
  require(row.ended <= row.issued, "a call ended that was not issued", call);
  Tokens& tokens = tokens_[call.traffic.value];
  if (call.end == CallEnd::completed) {
    ++row.completed;
    tokens.after_first += call.generated - 1;
  } else {
    ++tokens.unfinished;
  }
}

void Audit::on(const cluster::StepsRun& run) {
  if (run.ends.empty()) return;
  Replica& replica = replicas_[run.replica.value];
  bool in_order = run.start >= replica.busy_until;
  Time previous = run.start;
  for (const Time end : run.ends) {
    in_order &= end > previous;
    previous = end;
  }
  if (!in_order) [[unlikely]]
    broken("the steps of a replica overlap", fmt::format("replica {}", run.replica.value), run.start);
  replica.busy_until = previous;
  const auto steps = static_cast<std::int64_t>(run.ends.size());
  for (std::size_t c = 0; c < run.gaps_by_class.size(); ++c) tokens_[c].gaps += steps * run.gaps_by_class[c];
}

void Audit::on(const cluster::LongGap& gap) {
  clock(gap.at, "gap");
  ++tokens_[gap.traffic.value].gaps;
}

void Audit::on(const cluster::ToolEnded& tool) {
  clock(tool.at, "tool ended");
  if (tool.queued < Duration{} || tool.ran < Duration{})
    broken("a tool took negative time", fmt::format("tool {}", tool.tool.value), tool.at);
}

void Audit::on(const cluster::ReplicaSampled& sample) {
  clock(sample.at, "sample");
  if (sample.referenced_blocks < 0 || sample.cached_blocks < 0 || sample.referenced_blocks + sample.cached_blocks > sample.pool_blocks)
    broken("a replica holds more blocks than its pool", fmt::format("replica {}", sample.replica.value), sample.at);
}

void Audit::on(const cluster::MemoryBooked& booked) { replicas_[booked.replica.value].memory += booked.token_nanoseconds; }

void Audit::on(const cluster::WindowClosed& closed) {
  clock(closed.at, "window closed");
  if (closed_) broken("the measuring window closed twice", "window", closed.at);
  closed_ = true;
}

void Audit::on(const cluster::RunEnded& run, const Window& window, std::int64_t time_ledger) {
  clock(run.at, "run ended");
  if (!closed_) broken("the run ended inside its measuring window", "end", run.at);
  if (window.start != run.window_start || window.end != run.window_end)
    broken("the run had another measuring window than its observers", "end", run.at);
  if (live_ != 0) broken("a run ended before one of its sessions", fmt::format("{} alive", live_), run.at);
  if (life_in_window_ != time_ledger) broken("the time ledger is not the life of all sessions inside the window", "end", run.at);
  if (preemptions_ > run.preemptions) broken("calls were preempted more often than engines did it", "end", run.at);
  for (std::size_t r = 0; r < replicas_.size(); ++r) {
    const auto whole = static_cast<Uint128>(replicas_[r].pool_tokens) * static_cast<std::uint64_t>(window.length().count());
    if (replicas_[r].memory != whole)
      broken("the memory bookings of a replica do not sum to pool x window", fmt::format("replica {}", r), run.at);
  }
  for (std::size_t c = 0; c < tokens_.size(); ++c) {
    const Tokens& tokens = tokens_[c];
    const bool agree = tokens.unfinished > 0 ? tokens.gaps >= tokens.after_first : tokens.gaps == tokens.after_first;
    if (!agree)
      broken("tokens and the gaps between them do not agree",
             fmt::format("class {}: {} tokens, {} gaps", c, tokens.after_first, tokens.gaps), run.at);
  }
}

}  // namespace marea::metrics
