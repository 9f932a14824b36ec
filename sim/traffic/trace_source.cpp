// Turns a session of a trace into a program, its spans into those of the run.
#include "sim/traffic/trace_source.h"

#include "sim/base/random.h"
#include "sim/traffic/program_writer.h"
#include "sim/traffic/spans.h"
#include "sim/traffic/stationary.h"

namespace marea::traffic {

TraceSource::TraceSource(std::shared_ptr<const Trace> trace, Options options) : trace_(std::move(trace)), options_(std::move(options)) {}

Time TraceSource::scaled(Duration recorded) const {
  if (options_.time_scale == 1) return kStart + recorded;
  return kStart + to_clock(to_seconds(recorded) * options_.time_scale);
}

std::optional<Time> TraceSource::recorded_start(std::uint64_t body) const {
  const auto& start = trace_->sessions[body % trace_->size()].start;
  return start ? std::optional(scaled(*start)) : std::nullopt;
}

void TraceSource::make(std::uint64_t body, std::uint64_t identity, Session& session) {
  const Trace::Entry& entry = trace_->sessions[body % trace_->size()];
  const Trace::Entry& end = *(&entry + 1);
  session.index = identity;
  session.priority = options_.priority;
  session.abandon_after.reset();
  session.shareable = entry.shareable;
  const Sharing& sharing = options_.sharing;
  session.tenant = sharing.tenant_of(sharing.tenants == 1 ? 0.5 : RandomStream(options_.seed, "tenant", options_.traffic, body).uniform());

  const std::uint64_t domain = sharing.domain(session.tenant);
  const std::uint64_t round = identity >= kFirstInside ? identity : identity / trace_->size();
  const std::uint64_t ids = combine(combine(domain, hash_name("ids")), round);
  const std::uint64_t own = combine(combine(hash_name("session"), options_.traffic), round);
  const auto key = [&](std::uint64_t span) {
    const std::uint64_t reach = span >> 62;
    return combine(reach == 3 ? domain : reach == 2 ? ids : own, span);
  };

  session.threads.resize(end.first_thread - entry.first_thread);
  for (std::size_t i = 0; i < session.threads.size(); ++i) {
    const Trace::Branch& branch = trace_->threads[entry.first_thread + i];
    session.threads[i].parent = branch.parent;
    const auto pool = options_.pools.find(trace_->models[branch.model]);
    session.threads[i].pool = pool == options_.pools.end() ? std::string() : pool->second;
  }

  ProgramWriter writer(session.program);
  for (std::uint64_t i = entry.first_step; i < end.first_step; ++i) {
    const Trace::Step& from = trace_->steps[i];
    const Duration wait = options_.recorded && from.between ? Duration{} : from.wait;
    Step& step = writer[writer.add(from.kind, from.thread)];
    if (from.kind == StepKind::call) {
      const Trace::Call& call = trace_->calls[from.call];
      step.call.prompt = call.prompt;
      step.call.output = call.output;
      step.call.known = call.known;
      if (options_.recorded && call.recorded) step.call.recorded = scaled(*call.recorded);
      for (const kv::Piece& piece : trace_->content(call)) step.call.content.push_back({key(piece.span), piece.first, piece.length});
    } else if (from.kind == StepKind::tool) {
      step.tool.tool = options_.tool;
      step.tool.attempts.push_back({wait, false, {}});
    } else if (from.kind == StepKind::human) {
      step.human.time = wait;
    }
  }
  for (std::uint64_t i = entry.first_edge; i < end.first_edge; ++i) writer.edge(trace_->edges[i].from, trace_->edges[i].to);
  writer.finish();
}

}  // namespace marea::traffic
