// A run in 128 bits: a hash of what happened, equal exactly when two runs of one version did the same. Skipping ahead or stepping, the
// cutting of runs of steps, padding bytes and the machine's byte order leave it alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/facts.h"

struct XXH3_state_s;

namespace marea::metrics {

class Fingerprint {
 public:
  explicit Fingerprint(std::size_t replicas);
  ~Fingerprint();
  Fingerprint(Fingerprint&&) noexcept;

  void on(const cluster::SessionEnded& session);
  void on(const cluster::CallEnded& call);
  void on(const cluster::ToolEnded& tool);
  void on(const cluster::CopyEnded& copy);
  void on(const cluster::MemoryBooked& booked);
  void on(const cluster::RunEnded& run);

  // Only the ends of steps count, one after the other, so it does not matter how they are gathered into facts.
  void on(const cluster::StepsRun& run) {
    std::uint64_t mix = steps_[run.replica.value];
    for (const Time end : run.ends)
      mix = ((mix << 29 | mix >> 35) ^ static_cast<std::uint64_t>(since_start(end).count())) * 0x9e3779b97f4a7c15U;
    steps_[run.replica.value] = mix;
  }

  // 32 hexadecimal digits. Call once, at the end.
  std::string digits();

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  template <std::size_t N>
  void add(const std::array<std::uint64_t, N>& words);
  void flush();

  static constexpr std::size_t kBuffer = 1024;  // words

  std::unique_ptr<XXH3_state_s, Free> state_;
  std::vector<std::uint64_t> buffer_;
  std::size_t used_ = 0;
  std::vector<std::uint64_t> steps_;  // by replica
};

// One fingerprint of several runs, in their order.
std::string combined_fingerprint(const std::vector<std::string>& fingerprints);

}  // namespace marea::metrics
