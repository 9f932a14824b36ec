// The tables of the store, as the steps that lead from each schema version to the next. Version 0 is an empty file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace marea::run {

// "mare" in the header of every store, so that no other SQLite file is taken for one.
inline constexpr std::int64_t kApplicationId = 0x6d617265;

// steps[v] is the SQL that makes version v + 1 out of version v. The last version is the one this program writes.
const std::vector<std::string_view>& schema_steps();

}  // namespace marea::run
