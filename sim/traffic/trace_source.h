// Sessions replayed from a trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/traffic/sharing.h"
#include "sim/traffic/source.h"
#include "sim/traffic/trace.h"

namespace marea::traffic {

class TraceSource final : public Source {
 public:
  struct Options {
    Sharing sharing;
    std::int64_t priority = 0;
    std::uint64_t seed = 0;
    std::uint32_t traffic = 0;                 // index of the class
    ToolId tool;                               // what waits for tools are booked on
    bool recorded = false;                     // calls are not issued before their recorded time
    double time_scale = 1;                     // recorded times are multiplied by it
    std::map<std::string, std::string> pools;  // model named in the trace to replica pool
  };
  TraceSource(std::shared_ptr<const Trace> trace, Options options);

  std::optional<std::uint64_t> size() const override { return trace_->size(); }
  void make(std::uint64_t body, std::uint64_t identity, Session& session) override;
  std::optional<Time> recorded_start(std::uint64_t body) const override;
  std::vector<Load::Note> notes() const override { return trace_->notes; }

 private:
  Time scaled(Duration recorded) const;

  std::shared_ptr<const Trace> trace_;
  Options options_;
};

}  // namespace marea::traffic
