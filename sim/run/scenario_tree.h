// A scenario as one tree: `extends` merged, named files spliced in, settings applied. Nothing is interpreted yet.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/tree.h"
#include "sim/run/search_path.h"

namespace marea::run {

// Builds the tree of a scenario that was read as `tree` from a file in `folder`. In this order: everything it `extends` is laid under it (a
// file may extend one file or a list, later ones win); `service.model`, `cluster.node` and its `device` that are names become the maps of
// their files; each setting ("path=value") is applied, names it introduces are spliced in as well. Throws ConfigError for cycles, files
// that do not exist (naming the nearest), settings without "=" and wrong paths.
Tree scenario_tree(Tree tree, const std::filesystem::path& folder, const std::vector<std::string>& settings, const SearchPath& path);

}  // namespace marea::run
