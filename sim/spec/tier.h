// A tier of KV memory below a device's own, and how an engine uses it.
#pragma once

#include <string>
#include <vector>

#include "sim/base/section.h"
#include "sim/base/units.h"
#include "sim/spec/node.h"

namespace marea::spec {

// What one replica has of it.
struct Tier {
  std::string name;
  Bytes capacity{};
  Bandwidth read{};   // towards the device: of one device for the first tier, of the whole replica for those below
  Bandwidth write{};  // away from it
  Seconds latency{};  // of each transfer
  bool arc = false;   // gives up by ARC, not the least recently used
};

struct TierUse {
  std::int64_t block = 0;            // tokens that are copied as one; 0: those of a block of the engine
  bool prompt_only = true;           // generated tokens are stored once they are part of a prompt
  std::int64_t store_threshold = 0;  // looked up so often before a block is stored
};

// `kv.tiers`: the first is host memory over the devices' host links, those below it are drives or what their rates say. Rates that are not
// stated are those of the node, of which `share` is one replica's.
struct Tiers {
  std::vector<Tier> tiers;
  TierUse use;
};
Tiers read_tiers(const Value& value, const Node& node, double share);

}  // namespace marea::spec
