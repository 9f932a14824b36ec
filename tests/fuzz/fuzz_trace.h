// One trace reader on any bytes: a clear error or a trace whose sessions keep their promises, never a crash. Read twice, with bad rows
// refused and with bad rows skipped.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "sim/traffic/trace_source.h"

namespace marea::fuzz {

// The bytes as a file in memory.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("trace", 0)) {
    check(descriptor_ >= 0 && write(descriptor_, data, size) == static_cast<ssize_t>(size), "a file in memory can be written");
  }
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

inline void check_sessions(traffic::Trace read) {
  const auto trace = std::make_shared<const traffic::Trace>(std::move(read));
  traffic::TraceSource source(trace, {});
  traffic::Session session;
  for (std::uint64_t body = 0; body < trace->size(); ++body) {
    source.make(body, body, session);
    check(boost::num_vertices(session.program) > 0, "a session has steps");
    for (std::size_t v = 0; v < boost::num_vertices(session.program); ++v) {
      const traffic::Step& step = session.program[v];
      check(step.thread < session.threads.size(), "a step's thread exists");
      for (auto [edge, last] = boost::out_edges(v, session.program); edge != last; ++edge) {
        check(boost::target(*edge, session.program) > v, "edges point forward");
      }
      if (step.kind != traffic::StepKind::call) continue;
      check(step.call.prompt >= 1 && step.call.output >= 1, "a call has a prompt and an output");
      check(kv::length(step.call.content) == step.call.prompt + step.call.output, "content is prompt and output");
      check(step.call.known >= 0 && step.call.known < step.call.prompt, "known tokens leave one to compute");
    }
    check(traffic::critical_path(session.program) >= Duration{}, "waits are not negative");
  }
}

template <class Reader>
int trace(const std::uint8_t* data, std::size_t size, const typename Reader::Params& params = {}) {
  const MemoryFile file(data, size);
  for (const bool skip : {false, true}) {
    try {
      check_sessions(Reader::read(file.path(), params, {.skip_bad_rows = skip}));
    } catch (const ConfigError&) {  // the clear error
    }
  }
  return 0;
}

}  // namespace marea::fuzz
