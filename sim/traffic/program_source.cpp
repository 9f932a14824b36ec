// Draws the steps of a session: the calls of a thread one after another, what follows each, sub-agents as threads of their own.
//
// A thread's context is [group prefix][stream 0..n): prompt, outputs and new inputs are one span, whose positions go on, because they exist
// nowhere else. A compaction starts a new stream; a forked sub-agent continues its parent's pieces with a stream of its own.
#include "sim/traffic/program_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/random.h"
#include "sim/traffic/known.h"
#include "sim/traffic/program_writer.h"
#include "sim/traffic/spans.h"

namespace marea::traffic {
namespace {

// How much of a group prefix a session has computed so far.
struct SeenPrefix {
  std::uint64_t span = 0;
  std::int64_t tokens = 0;
};

}  // namespace

// One session being drawn.
class ProgramDraw {
 public:
  ProgramDraw(const ProgramSource& source, std::uint64_t body, std::uint64_t own_span, Session& session)
      : source_(source),
        body_(body),
        own_span_(own_span),
        domain_(source.sharing_.domain(session.tenant)),
        session_(session),
        writer_(session.program) {}

  void draw() {
    session_.shareable = 0;
    ThreadState main;
    run(source_.programs_[0], main, kNone, {});
    writer_.finish();
    session_.threads.resize(threads_);
    for (std::uint32_t i = 1; i < threads_; ++i) session_.threads[i].parent = parents_[i - 1];
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct ThreadState {
    std::uint32_t thread = 0;
    std::uint32_t epoch = 0;
    std::uint32_t calls = 0;    // made so far
    kv::Content context;        // what the next prompt starts with
    std::int64_t length = 0;    // tokens of it
    std::int64_t position = 0;  // next position in the stream
    std::int64_t computed = 0;  // leading tokens of `context` computed by this session
    std::int64_t prefix = 0;    // leading tokens that a compaction keeps
    std::uint64_t prefix_span = 0;
    std::size_t last = kNone;  // latest step
    std::int64_t last_output = 0;
  };

  RandomStream stream(Purpose purpose, const ThreadState& state, std::uint32_t index) const {
    return RandomStream(source_.seed_, purpose, source_.traffic_, body_, (std::uint64_t{state.thread} << 32) | index);
  }
  std::int64_t draw(const Law& law, Purpose purpose, const ThreadState& state) const {
    return law.is_fixed() ? law.count(0.5) : law.count(stream(purpose, state, state.calls).uniform());
  }

  void grow(ThreadState& state, std::int64_t tokens) {
    kv::append(state.context, {combine(own_span_, (std::uint64_t{state.thread} << 32) | state.epoch), state.position, tokens});
    state.position += tokens;
    state.length += tokens;
  }

  std::size_t add(StepKind kind, ThreadState& state) {
    if (writer_.size() >= kMostSteps) {
      throw ConfigError(
          source_.programs_[0].mark, "program",
          fmt::format("session {} would have more than {} steps; lower `calls`, or the count or nesting of `agents`", body_, kMostSteps));
    }
    const std::size_t step = writer_.add(kind, state.thread);
    if (state.last != kNone) writer_.edge(state.last, step);
    state.last = step;
    return step;
  }

  // Sums of waits must stay within the clock.
  void waited(Duration time) {
    waited_ += to_seconds(time).count();
    if (waited_ < 3e9) return;
    throw ConfigError(source_.programs_[0].mark, "program",
                      fmt::format("session {} would wait for more than 95 years; add a `max` to the times of tools and people", body_));
  }

  // A call over the whole context. The new context ends with its output, unless the call is a compaction.
  void call(ThreadState& state, std::int64_t output, bool compaction) {
    const std::int64_t prompt = state.length;
    CallStep& made = writer_[add(StepKind::call, state)].call;
    made.prompt = prompt;
    made.output = output;
    made.known = std::min(state.computed, prompt - 1);
    made.compaction = compaction;
    if (compaction) {
      made.content.assign(state.context.begin(), state.context.end());
      ++state.epoch;
      state.position = 0;
      state.context.clear();
      state.length = state.prefix;
      state.computed = state.prefix;
      kv::append(state.context, {state.prefix_span, 0, state.prefix});
      const std::size_t before = made.content.size();
      grow(state, output);
      made.content.push_back(state.context.back());
      check(made.content.size() == before + 1, "a compaction adds one piece");
    } else {
      grow(state, output);
      made.content.assign(state.context.begin(), state.context.end());
      state.computed = prompt + output - 1;
    }
    state.last_output = output;
    ++state.calls;
  }

  // All calls of one thread, from `from` (the fork, or nothing for the main thread).
  void run(const ProgramSpec& program, ThreadState& state, std::size_t from, std::vector<SeenPrefix> seen) {
    state.last = from;
    if (program.shared_prefix && state.length == 0) open_prefix(*program.shared_prefix, state, seen);
    const std::int64_t calls = draw(program.calls, "calls", state);
    grow(state, draw(program.first_prompt, "first prompt", state));
    for (std::int64_t i = 0; i < calls; ++i) {
      if (i > 0) {
        const std::int64_t input = wait(program, state, seen);
        if (program.compaction && state.length + input > program.compaction->above) compact(program, state);
        grow(state, input);
      }
      call(state, draw(program.output, "output", state), false);
    }
    if (state.prefix > 0) note_prefix(seen, state);
    seen_ = std::move(seen);
  }

  void open_prefix(const SharedPrefix& shared, ThreadState& state, const std::vector<SeenPrefix>& seen) {
    state.prefix = shared.tokens;
    state.prefix_span = combine(domain_, hash_name(shared.group));
    kv::append(state.context, {state.prefix_span, 0, shared.tokens});
    state.length = shared.tokens;
    for (const SeenPrefix& old : seen) {
      if (old.span == state.prefix_span) state.computed = std::min(old.tokens, shared.tokens);
    }
    session_.shareable = std::max(session_.shareable, shared.tokens);
  }

  static void note_prefix(std::vector<SeenPrefix>& seen, const ThreadState& state) {
    for (SeenPrefix& old : seen) {
      if (old.span != state.prefix_span) continue;
      old.tokens = std::max(old.tokens, state.prefix);
      return;
    }
    seen.push_back({state.prefix_span, state.prefix});
  }

  void compact(const ProgramSpec& program, ThreadState& state) {
    const std::int64_t to = draw(program.compaction->to, "compaction", state);
    if (state.length > state.prefix + to) call(state, to, true);
  }

  // What follows a call; returns the tokens of new input that it brings.
  std::int64_t wait(const ProgramSpec& program, ThreadState& state, std::vector<SeenPrefix>& seen) {
    if (!program.after_call.empty()) {
      const auto& what = choose(program, state);
      if (const auto* tool = std::get_if<ToolChoice>(&what)) {
        ToolStep& step = writer_[add(StepKind::tool, state)].tool;
        const ToolSpec& spec = source_.tools_[tool->tool];
        step.tool = ToolId{source_.first_tool_ + static_cast<std::uint32_t>(tool->tool)};
        step.fatal = spec.fatal;
        RandomStream draws = stream("tool", state, state.calls);
        draw_attempts(spec, draws, step.attempts);
        for (const ToolAttempt& attempt : step.attempts) waited(attempt.time + attempt.backoff_after);
      } else if (const auto* human = std::get_if<HumanChoice>(&what)) {
        const Duration time = human->time.duration(stream("human", state, state.calls).uniform());
        waited(time);
        writer_[add(StepKind::human, state)].human.time = time;
      } else {
        if (state.prefix > 0) note_prefix(seen, state);
        return agents(std::get<AgentsChoice>(what), state, seen);
      }
    }
    return draw(program.new_input, "new input", state);
  }

  const decltype(AfterCall::what)& choose(const ProgramSpec& program, const ThreadState& state) const {
    if (program.after_call.size() == 1) return program.after_call.front().what;
    double at = stream("after call", state, state.calls).uniform() * program.weights;
    for (const AfterCall& after : program.after_call) {
      at -= after.weight;
      if (at < 0 && after.weight > 0) return after.what;
    }
    return std::find_if(program.after_call.rbegin(), program.after_call.rend(), [](const AfterCall& after) { return after.weight > 0; })
        ->what;
  }

  // Sub-agents side by side: the parent receives the last output of each.
  std::int64_t agents(const AgentsChoice& choice, ThreadState& parent, std::vector<SeenPrefix>& seen) {
    const std::int64_t count = draw(choice.count, "agents", parent);
    const std::size_t fork = add(StepKind::fork, parent);
    std::vector<std::size_t> ends;
    std::vector<SeenPrefix> after = seen;
    std::int64_t received = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      ThreadState child;
      child.thread = threads_++;
      parents_.push_back(parent.thread);
      if (choice.fork) {
        child.context = parent.context;
        child.length = parent.length;
        child.computed = parent.computed;
        child.prefix = parent.prefix;
        child.prefix_span = parent.prefix_span;
      }
      run(source_.programs_[choice.program], child, fork, seen);
      for (const SeenPrefix& one : seen_) {
        ThreadState holder;
        holder.prefix = one.tokens;
        holder.prefix_span = one.span;
        note_prefix(after, holder);
      }
      ends.push_back(child.last);
      received += child.last_output;
    }
    if (choice.fork) parent.computed = parent.length;  // the forks have computed the parent's latest token too
    parent.last = kNone;
    const std::size_t join = add(StepKind::join, parent);
    for (const std::size_t end : ends) writer_.edge(end, join);
    seen = std::move(after);
    return received;
  }

  const ProgramSource& source_;
  std::uint64_t body_;
  std::uint64_t own_span_;
  std::uint64_t domain_;
  Session& session_;
  ProgramWriter writer_;
  double waited_ = 0;  // seconds
  std::uint32_t threads_ = 1;
  std::vector<std::uint32_t> parents_;
  std::vector<SeenPrefix> seen_;  // what the thread that ended last had seen
};

ProgramSource::ProgramSource(std::vector<ProgramSpec> programs, std::vector<ToolSpec> tools, Sharing sharing, std::int64_t priority,
                             std::uint64_t seed, std::uint32_t traffic, std::uint32_t first_tool)
    : programs_(std::move(programs)),
      tools_(std::move(tools)),
      sharing_(std::move(sharing)),
      priority_(priority),
      seed_(seed),
      traffic_(traffic),
      first_tool_(first_tool) {}

void ProgramSource::make(std::uint64_t body, std::uint64_t identity, Session& session) {
  session.index = identity;
  session.priority = priority_;
  session.tenant = sharing_.tenant_of(sharing_.tenants == 1 ? 0.5 : RandomStream(seed_, "tenant", traffic_, body).uniform());
  session.threads.resize(1);
  session.threads[0] = {};
  session.abandon_after.reset();
  if (const auto& abandon = programs_[0].abandon_after) {
    session.abandon_after = abandon->duration(RandomStream(seed_, "abandon", traffic_, body).uniform());
  }
  const std::uint64_t own_span = combine(combine(hash_name("session"), traffic_), identity);
  if (programs_[0].single_call()) {
    make_single(body, session, own_span);
  } else {
    ProgramDraw(*this, body, own_span, session).draw();
  }
}

void ProgramSource::make_single(std::uint64_t body, Session& session, std::uint64_t own_span) const {
  const ProgramSpec& program = programs_[0];
  const auto draw = [&](const Law& law, Purpose purpose) {
    return law.is_fixed() ? law.count(0.5) : law.count(RandomStream(seed_, purpose, traffic_, body).uniform());
  };
  ProgramWriter writer(session.program);
  CallStep& call = writer[writer.add(StepKind::call, 0)].call;
  const std::int64_t own = draw(program.first_prompt, "first prompt");
  call.output = draw(program.output, "output");
  session.shareable = 0;
  if (program.shared_prefix) {
    session.shareable = program.shared_prefix->tokens;
    call.content.push_back({combine(sharing_.domain(session.tenant), hash_name(program.shared_prefix->group)), 0, session.shareable});
  }
  call.prompt = session.shareable + own;
  call.content.push_back({combine(own_span, 0), 0, own + call.output});
  writer.finish();
}

}  // namespace marea::traffic
