// Agent programs as written in YAML: how many calls, how long their inputs and outputs are, what happens between them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/section.h"
#include "sim/traffic/law.h"
#include "sim/traffic/tool.h"

namespace marea::traffic {

struct SharedPrefix {
  std::int64_t tokens = 0;
  std::string group;
};

// What a call is followed by.
struct ToolChoice {
  std::size_t tool = 0;  // index in the class's tools
};
struct HumanChoice {
  Law time;
};
// Sub-agents that run side by side; the parent goes on when all have ended.
struct AgentsChoice {
  Law count;
  std::size_t program = 0;  // index in the class's programs
  bool fork = false;        // they start from the parent's context instead of their own shared prefix
};
struct AfterCall {
  double weight = 0;
  std::variant<ToolChoice, HumanChoice, AgentsChoice> what;
};

struct Compaction {
  std::int64_t above = 0;  // a call whose prompt would be longer is preceded by a compaction
  Law to;                  // tokens of the summary
};

struct ProgramSpec {
  std::string name;  // empty: written in place
  Mark mark;
  std::optional<SharedPrefix> shared_prefix;
  Law first_prompt = Law::fixed(1, Measure::tokens);  // tokens after the shared prefix (a sub-agent's task)
  Law calls = Law::fixed(1, Measure::count);
  Law output = Law::fixed(1, Measure::tokens);
  Law new_input = Law::fixed(1, Measure::tokens);
  std::vector<AfterCall> after_call;  // empty: the next call follows at once
  double weights = 0;
  std::optional<Compaction> compaction;
  std::optional<Law> abandon_after;

  // One call, no sub-agents: the cheap case.
  bool single_call() const { return calls.is_fixed() && calls.count(0.5) == 1; }
};

// The `programs:` section of a scenario: named programs for sub-agents and reuse.
class NamedPrograms {
 public:
  NamedPrograms() = default;
  explicit NamedPrograms(const Value& section);

  // Throws ConfigError, naming the nearest one, when there is none of that name.
  const Value& find(const Value& name) const;
  // Reads every program, with any tool name accepted: for those that no class uses.
  void check() const;

 private:
  std::vector<std::pair<std::string, Value>> programs_;
};

// The program of a traffic class and those of its sub-agents: [0] is the main one. `tools` of the class are looked up by name; null: every
// name is accepted. Throws ConfigError for unknown names and for programs that start themselves, naming the cycle.
std::vector<ProgramSpec> read_programs(const Value& program, const NamedPrograms& named, const std::vector<ToolSpec>* tools);

}  // namespace marea::traffic
