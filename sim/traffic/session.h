// One agent session as it will be lived: a graph of model calls, tool calls, waits and sub-agents. Drawn or read when the session
// starts and executed by the cluster; policies never see it.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/time.h"
#include "sim/kv/content.h"

namespace marea::traffic {

// A model call. content = prompt followed by output, so length(content) = prompt + output.
struct CallStep {
  kv::Content content;
  std::int64_t prompt = 0;  // tokens, >= 1
  std::int64_t output = 0;  // tokens to generate, >= 1
  std::int64_t known = 0;   // leading prompt tokens that this session computed before, if everything was kept: the most a cache could give
  bool compaction = false;  // a call whose output replaces the context
  std::optional<Time> recorded;  // load mode `recorded`: not issued before this time
};

// One try of a tool. A try that fails or times out took `time` as well.
struct ToolAttempt {
  Duration time{};
  bool fails = false;
  Duration backoff_after{};  // wait before the next try; 0 after the last
};

// A tool call: tries until one succeeds or none is left. `fatal`: the session fails with it.
struct ToolStep {
  ToolId tool;
  std::vector<ToolAttempt> attempts;
  bool fatal = false;
};

// A person's wait.
struct HumanStep {
  Duration time{};
};

// Forks: nothing happens at the step itself. Join: fires when all its predecessors have.
struct ForkStep {};
struct JoinStep {};

enum class StepKind : std::uint8_t { call, tool, human, fork, join };

// A vertex. Exactly the member that `kind` names is meaningful. `thread` 0 is the session's main thread; each sub-agent has one of its own.
struct Step {
  StepKind kind = StepKind::call;
  std::uint32_t thread = 0;
  CallStep call;
  ToolStep tool;
  HumanStep human;
};

// Edges run from a step to those that may start when it has ended. Vertices are added in an order in which every edge points
// forward; a step without predecessors starts with the session.
using Program = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Step>;

// Where a thread came from: the sub-agent's first step follows a fork of its parent thread.
struct Thread {
  std::uint32_t parent = 0;
  std::string pool;  // name of the replica pool that serves it; empty: the class's pool
};

struct Session {
  std::uint64_t index = 0;  // within its traffic class: session k is the same session under every policy and load
  std::uint64_t tenant = 0;
  Program program;
  std::vector<Thread> threads;            // [0] is the main thread
  std::optional<Duration> abandon_after;  // from its start
  std::int64_t priority = 0;              // smaller is more urgent
  // Tokens of `content` before this position may be shared with other sessions (a group prefix); all later ones are private to the
  // session. INT64_MAX: unknown, everything may be shared.
  std::int64_t shareable = INT64_MAX;
};

// The longest chain of tool and human time through the program: no GPU can end the session sooner. Calls count as 0.
Duration critical_path(const Program& program);

}  // namespace marea::traffic
