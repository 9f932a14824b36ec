// How far group prefixes and trace ids may be shared between sessions: within a tenant, within a named group of tenants, or by all.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/section.h"

namespace marea::traffic {

struct Sharing {
  enum class Reach { tenant, group, global };
  Reach reach = Reach::tenant;
  std::string tenant;        // name; several tenants are numbered within it
  std::int64_t tenants = 1;  // sessions are dealt to them at random
  std::string group;         // name; reach `group` only

  // Tenant of a session, given a uniform number of its own.
  std::uint64_t tenant_of(double uniform) const;
  // Key of the domain in which a tenant's spans may be shared: part of the name of every such span.
  std::uint64_t domain(std::uint64_t tenant_id) const;
};

// Takes tenant, tenants, group and sharing from a traffic class. The tenant's name is the class's unless given.
Sharing read_sharing(Section& section, const std::string& class_name);

}  // namespace marea::traffic
