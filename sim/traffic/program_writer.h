// Writes a program over an older one, so that vertices and their vectors are used again: making a session allocates nothing once the
// storage has grown to its size.
#pragma once

#include <cstdint>

#include "sim/traffic/session.h"

namespace marea::traffic {

class ProgramWriter {
 public:
  explicit ProgramWriter(Program& program) : program_(program) {}

  // Adds a step; its vectors are empty and its other members as constructed. The reference holds until the next add().
  std::size_t add(StepKind kind, std::uint32_t thread) {
    if (next_ == program_.m_vertices.size()) boost::add_vertex(program_);
    auto& vertex = program_.m_vertices[next_];
    vertex.m_out_edges.clear();
    Step& step = vertex.m_property;
    step.kind = kind;
    step.thread = thread;
    auto content = std::move(step.call.content);
    content.clear();
    step.call = CallStep{};
    step.call.content = std::move(content);
    step.tool.attempts.clear();
    step.tool.fatal = false;
    step.human.time = {};
    return next_++;
  }
  Step& operator[](std::size_t step) { return program_[step]; }
  void edge(std::size_t from, std::size_t to) { boost::add_edge(from, to, program_); }
  std::size_t size() const { return next_; }
  // Drops what is left of the older program.
  void finish() { program_.m_vertices.resize(next_); }

 private:
  Program& program_;
  std::size_t next_ = 0;
};

}  // namespace marea::traffic
