#include "sim/spec/tier.h"

#include <set>

namespace marea::spec {

namespace {

// Assumed: handing a copy to the copy engine. Learning of its end, once a step, comes on top.
constexpr Seconds kHostLatency{10e-6};
// First byte from an NVMe drive with its file system (facts.md 1.3: 60 to 120 us).
constexpr Seconds kDriveLatency{100e-6};

Tier read_tier(Section& section, bool first, const Node& node, double share) {
  Tier tier;
  tier.name = section.required("name").text();
  tier.capacity = section.required("capacity").bytes();
  if (const auto eviction = section.optional("eviction")) tier.arc = eviction->one_of({"lru", "arc"}, "eviction policy") == "arc";
  if (tier.arc && !first) section.fail("only the first tier gives up by arc; those below it by lru");
  const auto read = section.optional("read");
  const auto write = section.optional("write");
  if (first) {
    tier.read = tier.write = node.device.host_link.bandwidth;
    tier.latency = kHostLatency;
  } else {
    if ((!read || !write) && !node.nvme)
      section.fail("node " + node.name + " has no drives, so `read` and `write` rates of this tier are needed");
    if (node.nvme) {
      tier.read = Bandwidth{node.nvme->read.value * share};
      tier.write = Bandwidth{node.nvme->write.value * share};
    }
    tier.latency = kDriveLatency;
  }
  if (read) tier.read = read->bandwidth();
  if (write) tier.write = write->bandwidth();
  if (const auto latency = section.optional("latency")) tier.latency = to_seconds(latency->duration());
  return tier;
}

}  // namespace

Tiers read_tiers(const Value& value, const Node& node, double share) {
  Tiers all;
  std::set<std::string> names;
  for (const Value& item : value.items()) {
    Section section(item);
    const bool first = all.tiers.empty();
    all.tiers.push_back(read_tier(section, first, node, share));
    if (!names.insert(all.tiers.back().name).second)
      item.fail("there are two tiers named '" + all.tiers.back().name + "'; give each a name of its own");
    if (first) {
      if (const auto block = section.optional("block")) all.use.block = block->tokens(Tokens{1}).value;
      if (const auto stores = section.optional("stores"))
        all.use.prompt_only = stores->one_of({"prompts", "all"}, "choice of what is stored") == "prompts";
      if (const auto threshold = section.optional("store_threshold")) all.use.store_threshold = threshold->integer(0, 1'000'000);
    }
    section.close();
  }
  return all;
}

}  // namespace marea::spec
