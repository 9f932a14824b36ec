// Reading and keys of sharing domains.
#include "sim/traffic/sharing.h"

#include "sim/traffic/spans.h"

namespace marea::traffic {

std::uint64_t Sharing::tenant_of(double uniform) const {
  const std::uint64_t key = hash_name(tenant);
  return tenants == 1 ? key : combine(key, static_cast<std::uint64_t>(uniform * static_cast<double>(tenants)));
}

std::uint64_t Sharing::domain(std::uint64_t tenant_id) const {
  if (reach == Reach::tenant) return combine(hash_name("tenant"), tenant_id);
  if (reach == Reach::group) return combine(hash_name("group"), hash_name(group));
  return hash_name("global");
}

Sharing read_sharing(Section& section, const std::string& class_name) {
  Sharing sharing;
  const auto tenant = section.optional("tenant");
  sharing.tenant = tenant ? tenant->text() : class_name;
  if (const auto tenants = section.optional("tenants")) sharing.tenants = tenants->integer(1, 1'000'000'000);
  if (const auto group = section.optional("group")) sharing.group = group->text();
  if (const auto reach = section.optional("sharing")) {
    const std::string name = reach->one_of({"tenant", "group", "global"}, "sharing domain");
    if (name == "group") {
      if (sharing.group.empty()) reach->fail("sharing by group needs the name of the group; add `group: NAME`");
      sharing.reach = Sharing::Reach::group;
    } else if (name == "global") {
      sharing.reach = Sharing::Reach::global;
    }
  }
  return sharing;
}

}  // namespace marea::traffic
