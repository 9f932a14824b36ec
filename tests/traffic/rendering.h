// Programs and contents as text that can be worked out by hand.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "sim/traffic/session.h"

namespace marea::test {

// Names spans a, b, c, ... in the order in which they are first shown.
class Spans {
 public:
  // "a[0,160) b[224,394)"
  std::string show(const kv::Content& content) {
    std::string text;
    for (const kv::Piece& piece : content) {
      const char letter = static_cast<char>('a' + names_.try_emplace(piece.span, names_.size()).first->second);
      text += fmt::format("{}{}[{},{})", text.empty() ? "" : " ", letter, piece.first, piece.first + piece.length);
    }
    return text;
  }

 private:
  std::map<std::uint64_t, std::size_t> names_;
};

// One line a step: "2 call t0 180+10 known 159: a[0,100) b[0,90) -> 3", times in ns.
inline std::string show(const traffic::Program& program, Spans& spans) {
  std::string text;
  for (std::size_t v = 0; v < boost::num_vertices(program); ++v) {
    const traffic::Step& step = program[v];
    text += fmt::format("{} ", v);
    switch (step.kind) {
      case traffic::StepKind::call:
        text += fmt::format("{} t{} {}+{} known {}: {}", step.call.compaction ? "compaction" : "call", step.thread, step.call.prompt,
                            step.call.output, step.call.known, spans.show(step.call.content));
        break;
      case traffic::StepKind::tool:
        text += fmt::format("tool t{}", step.thread);
        for (const auto& attempt : step.tool.attempts) text += fmt::format(" {}{}", attempt.time.count(), attempt.fails ? "!" : "");
        break;
      case traffic::StepKind::human:
        text += fmt::format("human t{} {}", step.thread, step.human.time.count());
        break;
      case traffic::StepKind::fork:
        text += fmt::format("fork t{}", step.thread);
        break;
      case traffic::StepKind::join:
        text += fmt::format("join t{}", step.thread);
        break;
    }
    const char* arrow = " -> ";
    for (auto [edge, last] = boost::out_edges(v, program); edge != last; ++edge) {
      text += fmt::format("{}{}", arrow, boost::target(*edge, program));
      arrow = ", ";
    }
    text += "\n";
  }
  return text;
}

inline std::string show(const traffic::Session& session) {
  Spans spans;
  return show(session.program, spans);
}

}  // namespace marea::test
