// Sessions drawn from agent programs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/traffic/program.h"
#include "sim/traffic/sharing.h"
#include "sim/traffic/source.h"

namespace marea::traffic {

class ProgramSource final : public Source {
 public:
  // `programs[0]` is the main program. `traffic` is the index of the traffic class: with `seed` it keys every draw. Tools are numbered from
  // `first_tool`.
  ProgramSource(std::vector<ProgramSpec> programs, std::vector<ToolSpec> tools, Sharing sharing, std::int64_t priority, std::uint64_t seed,
                std::uint32_t traffic, std::uint32_t first_tool);

  std::optional<std::uint64_t> size() const override { return std::nullopt; }
  // Throws ConfigError for a session of more than kMostSteps steps.
  void make(std::uint64_t body, std::uint64_t identity, Session& session) override;
  std::optional<Time> recorded_start(std::uint64_t) const override { return std::nullopt; }
  std::vector<Load::Note> notes() const override { return {}; }

 private:
  friend class ProgramDraw;
  void make_single(std::uint64_t body, Session& session, std::uint64_t own_span) const;

  std::vector<ProgramSpec> programs_;
  std::vector<ToolSpec> tools_;
  Sharing sharing_;
  std::int64_t priority_;
  std::uint64_t seed_;
  std::uint32_t traffic_;
  std::uint32_t first_tool_;
};

}  // namespace marea::traffic
