// Where memory went inside the window: byte-time of every pool of replicas by state and owner, exactly, with the parts that never change
// (weights, reserve) beside the KV pool.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/int128.h"
#include "sim/base/units.h"
#include "sim/cluster/facts.h"
#include "sim/metrics/report.h"

namespace marea::metrics {

struct ObservedReplica {
  std::size_t pool = 0;              // index into the names of the pools
  std::int64_t pool_tokens = 0;      // usable blocks x block size
  std::int64_t bytes_per_token = 0;  // of KV, of the whole replica
};

// Memory of every replica of a pool that holds the same thing from start to end: "weights", "reserve", "activations".
struct StaticMemory {
  std::size_t pool = 0;
  std::string state;
  Bytes per_replica;
};

// Integers that sum to the rounded sum of parts / unit: each part is rounded down and the units still missing go to the largest remainders,
// of equal ones to the first. The sum of the parts must be below 2^127.
std::vector<std::int64_t> round_to_sum(const std::vector<Uint128>& parts, Uint128 unit);

class MemoryLedger {
 public:
  MemoryLedger(std::vector<std::string> pools, std::vector<ObservedReplica> replicas, std::vector<StaticMemory> static_memory);

  void on(const cluster::MemoryBooked& booked);

  // The ledger "memory" in MiB s (owner pool=NAME, cause state/owner, or the state of static memory) and the shares of the catalogue.
  void report(Report& report, Duration window) const;

 private:
  using Sums = std::array<std::array<Uint128, cluster::kKvOwners>, cluster::kKvStates>;  // byte-ns
  static void report_shares(Report& report, const std::string& label, const Sums& sums);

  std::vector<std::string> pools_;
  std::vector<ObservedReplica> replicas_;
  std::vector<StaticMemory> static_;
  std::vector<Sums> sums_;  // by pool
};

}  // namespace marea::metrics
