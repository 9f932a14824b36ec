// Sessions that are under way when the clock starts, so that a run need not wait for its first sessions to grow old.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.h"
#include "sim/traffic/source.h"

namespace marea::traffic {

// The first number of sessions that start inside their life: above every index that a session from its beginning can have.
inline constexpr std::uint64_t kFirstInside = std::uint64_t{1} << 40;

// Chooses sessions with a chance in proportion to their nominal duration and starts each at a uniform age: what an observer finds who
// looks at a random instant. The nominal duration counts waits as drawn and each call as its output at 40 tokens/s (the median client of
// TraceLab sees 40.7); tools are not queued for.
class Stationary {
 public:
  // Candidates are all sessions of a trace, or 1,024 drawn ones.
  Stationary(Source& source, std::uint64_t seed, std::uint32_t traffic);

  Seconds mean_duration() const { return mean_; }
  // Poisson number of sessions alive when they arrive at `rate` per second (M/G/infinity), at most a million.
  std::uint64_t alive(double rate) const;
  // Fills in the number-th such session. It begins with what is left of the wait that covers its age, or with the call that does;
  // sub-agents that cover it start over. Its first call finds nothing computed.
  void make(Source& source, std::uint64_t number, Session& session);
  std::string describe() const;

 private:
  std::uint64_t seed_;
  std::uint32_t traffic_;
  std::vector<double> cumulative_;  // seconds
  std::vector<std::uint64_t> bodies_;
  Seconds mean_{};
};

// Removes the first `age` of a program's nominal main-thread life, recomputing what each call finds computed before.
void start_inside(Session& session, Duration age);
// Nominal duration of the main thread with its sub-agents.
Duration nominal_duration(const Program& program);

}  // namespace marea::traffic
