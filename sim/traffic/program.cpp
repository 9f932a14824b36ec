// Reading of programs.
#include "sim/traffic/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/tree.h"

namespace marea::traffic {
namespace {

// Reads one class's programs. Each named one is read once; `open_` holds the names being read, so a repeated one is a cycle.
class Reader {
 public:
  Reader(const NamedPrograms& named, const std::vector<ToolSpec>* tools) : named_(named), tools_(tools) {}

  std::size_t read(const Value& value) {
    if (value.is_map()) return read_map(value, "");
    const std::string name = value.text();
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      if (programs_[i].name != name) continue;
      if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
        value.fail(fmt::format("the program starts itself: {} -> {}; sub-agents must come to an end", fmt::join(open_, " -> "), name));
      }
      return i;
    }
    const Value& body = named_.find(value);
    open_.push_back(name);
    const std::size_t index = read_map(body, name);
    open_.pop_back();
    return index;
  }

  std::vector<ProgramSpec> take() { return std::move(programs_); }

 private:
  std::size_t read_map(const Value& value, const std::string& name) {
    const std::size_t index = programs_.size();
    programs_.emplace_back();
    programs_.back().name = name;
    Section section(value);
    ProgramSpec program;
    program.name = name;
    program.mark = value.mark();
    if (const auto prefix = section.optional("shared_prefix")) program.shared_prefix = read_prefix(*prefix, name);
    program.output = Law::read(section.required("output"), Measure::tokens);
    if (const auto abandon = section.optional("abandon")) {
      Section inner(*abandon);
      program.abandon_after = Law::read(inner.required("after"), Measure::duration);
      inner.close();
    }
    if (const auto prompt = section.optional("prompt")) {  // the short form: a single call
      program.first_prompt = Law::read(*prompt, Measure::tokens);
    } else {
      read_agent(section, program);
    }
    section.close();
    programs_[index] = std::move(program);
    return index;
  }

  static SharedPrefix read_prefix(const Value& value, const std::string& name) {
    Section section(value);
    SharedPrefix prefix;
    const Value tokens = section.required("tokens");
    prefix.tokens = tokens.tokens(Tokens{1}).value;
    if (prefix.tokens > kMostTokens) tokens.fail(fmt::format("at most {} tokens are accepted", kMostTokens));
    const auto group = section.optional("group");
    prefix.group = group ? group->text() : name;
    section.close();
    return prefix;
  }

  void read_agent(Section& section, ProgramSpec& program) {
    if (const auto calls = section.optional("calls")) program.calls = Law::read(*calls, Measure::count);
    const auto new_input = section.optional("new_input");
    const auto first = section.optional("first_prompt");
    if (!new_input && !program.single_call()) section.fail("`new_input` is missing: the tokens that each call after the first adds");
    if (new_input) program.new_input = Law::read(*new_input, Measure::tokens);
    if (!first && !new_input) section.fail("`prompt` or `first_prompt` is missing: the tokens of the first call after the shared prefix");
    program.first_prompt = first ? Law::read(*first, Measure::tokens) : program.new_input;
    if (const auto after = section.optional("after_call")) {
      for (const Value& item : after->items()) program.after_call.push_back(read_after(item));
      if (program.after_call.empty()) after->fail("at least one entry is expected: {weight, tool | human | agents}");
      for (const AfterCall& choice : program.after_call) program.weights += choice.weight;
      if (!(program.weights > 0)) after->fail("at least one weight must be above 0");
    }
    if (const auto compaction = section.optional("compaction")) {
      Section inner(*compaction);
      Compaction made{inner.required("above").tokens(Tokens{1}).value, Law::read(inner.required("to"), Measure::tokens)};
      const std::int64_t kept = program.shared_prefix ? program.shared_prefix->tokens : 0;
      if (kept + made.to.count(0.5) >= made.above) {
        inner.fail(fmt::format("the shared prefix and the summary ({} tokens) must be shorter than `above`", kept + made.to.count(0.5)));
      }
      inner.close();
      program.compaction = std::move(made);
    }
  }

  AfterCall read_after(const Value& value) {
    Section section(value);
    AfterCall after{section.required("weight").number(0, 1e12), ToolChoice{}};
    const auto tool = section.optional("tool");
    const auto human = section.optional("human");
    const auto agents = section.optional("agents");
    if (tool.has_value() + human.has_value() + agents.has_value() != 1) section.fail("exactly one of tool, human and agents is expected");
    if (tool) after.what = ToolChoice{find_tool(*tool)};
    if (human) after.what = HumanChoice{Law::read(*human, Measure::duration)};
    if (agents) {
      Section inner(*agents);
      const Value program = inner.required("program");
      if (program.is_map()) program.fail("the name of a program in `programs:` is expected");
      AgentsChoice choice{Law::read(inner.required("count"), Measure::count), read(program), false};
      if (const auto join = inner.optional("join")) join->one_of({"all"}, "join");
      if (const auto fork = inner.optional("fork")) choice.fork = fork->boolean();
      inner.close();
      after.what = std::move(choice);
    }
    section.close();
    return after;
  }

  std::size_t find_tool(const Value& value) const {
    if (!tools_) return 0;
    std::vector<std::string> names;
    for (const ToolSpec& tool : *tools_) names.push_back(tool.name);
    const std::string name = value.text();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    if (names.empty()) value.fail(fmt::format("unknown tool `{}`: the traffic class has no `tools:`", name));
    const std::string near = nearest(name, names);
    value.fail(near.empty() ? fmt::format("unknown tool `{}`; the class has {}", name, fmt::join(names, ", "))
                            : fmt::format("unknown tool `{}`; did you mean `{}`?", name, near));
  }

  const NamedPrograms& named_;
  const std::vector<ToolSpec>* tools_;
  std::vector<ProgramSpec> programs_;
  std::vector<std::string> open_;
};

}  // namespace

NamedPrograms::NamedPrograms(const Value& section) : programs_(Section(section).rest()) {}

const Value& NamedPrograms::find(const Value& name) const {
  const std::string wanted = name.text();
  std::vector<std::string> names;
  for (const auto& [known, body] : programs_) {
    if (known == wanted) return body;
    names.push_back(known);
  }
  const std::string near = nearest(wanted, names);
  if (!near.empty()) name.fail(fmt::format("unknown program `{}`; did you mean `{}`?", wanted, near));
  name.fail(
      fmt::format("unknown program `{}`; `programs:` has {}", wanted, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

void NamedPrograms::check() const {
  for (const auto& [name, body] : programs_) {
    Reader reader(*this, nullptr);
    Tree scalar;
    scalar.kind = Tree::Kind::scalar;
    scalar.text = name;
    scalar.mark = body.mark();
    reader.read(Value(scalar, body.path()));
  }
}

std::vector<ProgramSpec> read_programs(const Value& program, const NamedPrograms& named, const std::vector<ToolSpec>* tools) {
  Reader reader(named, tools);
  reader.read(program);
  return reader.take();
}

}  // namespace marea::traffic
