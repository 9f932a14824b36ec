// What an engine that offloads KV to a host pool decides beside its schedule: which blocks are copied down, which are loaded, whom a copy
// holds up. The rules are those of vLLM's OffloadingConnector; the copies themselves happen elsewhere, and are reported when they have
// ended.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/kv/offload_pool.h"

namespace marea::serving {

struct OffloadParams {
  std::int64_t blocks = 0;  // of the host pool, in offload blocks; 0: no offloading
  std::int64_t factor = 1;  // blocks of the engine in an offload block
  kv::Replacement replacement = kv::Replacement::lru;
  bool prompt_only = true;           // generated tokens are stored only once they are part of a prompt
  std::int64_t store_threshold = 0;  // looked up so often before a block is stored; below 2: stored at once
  // Tiers below the host pool, asked in this order: offload blocks that each holds.
  std::vector<std::int64_t> lower;
};

// Transfers are numbered in the order in which they were decided.
using TransferNumber = std::uint64_t;

struct Transfer {
  TransferNumber number = 0;
  bool load = false;
  CallSlot call;
  std::int64_t blocks = 0;         // of the engine, that are copied
  std::vector<kv::KeyRange> keys;  // of the call's content, in offload blocks
};

// A copy between the host pool and a tier below it, numbered by itself: a cascade of what was stored, or a promotion of what was asked for.
struct LowerTransfer {
  TransferNumber number = 0;
  std::size_t tier = 0;
  bool load = false;  // a promotion
  CallSlot call;
  std::int64_t blocks = 0;         // offload blocks
  std::vector<kv::KeyRange> keys;  // of the call's content
};

// One look for the KV of a call that waits.
struct ExternalLookup {
  enum class Answer : std::uint8_t {
    found,    // `tokens` can be loaded, or 0
    own,      // later: its own transfers still run
    storing,  // later: a block that it needs is being written
    loading,  // later: another call is loading one of its blocks
  };
  CallSlot call;
  std::int64_t local = 0;   // tokens found on the device
  std::int64_t tokens = 0;  // beyond them in the host pool
  Answer answer = Answer::found;
};

// What one schedule decided. The vectors are used again by the next schedule.
struct OffloadDecisions {
  std::vector<ExternalLookup> lookups;  // in order
  std::vector<Transfer> loads;          // start with this step
  std::vector<Transfer> stores;         // start with the next step
  struct Refusal {
    CallSlot call;
    kv::KeyRange keys;  // offered
  };
  std::vector<Refusal> refused;           // stores for which there was no room
  std::vector<TransferNumber> flush;      // must end before this step starts on the device
  std::vector<LowerTransfer> promotions;  // start at once
  std::vector<TransferNumber> noticed;    // lower transfers that the host pool has taken notice of
  std::int64_t no_room = 0;               // offload blocks found below for which the host pool had no room

  void clear() {
    lookups.clear();
    loads.clear();
    stores.clear();
    refused.clear();
    flush.clear();
    promotions.clear();
    noticed.clear();
    no_room = 0;
  }
};

}  // namespace marea::serving
