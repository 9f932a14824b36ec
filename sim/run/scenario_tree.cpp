#include "sim/run/scenario_tree.h"

#include <algorithm>
#include <utility>

namespace marea::run {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFewNames = 8;

// What `marea list` calls a kind; empty: it has no list.
std::string_view list_of(Kind kind) {
  switch (kind) {
    case Kind::model:
      return "models";
    case Kind::device:
      return "devices";
    case Kind::node:
      return "nodes";
    case Kind::engine:
      return "engines";
    case Kind::scenario:
      return "scenarios";
    case Kind::calibration:
      break;
  }
  return {};
}

fs::path found(const SearchPath& path, Kind kind, const Tree& named, const fs::path& beside, std::string_view key) {
  if (named.kind != Tree::Kind::scalar) throw ConfigError(named.mark, key, "expected a name");
  if (auto file = path.find(kind, named.text, beside)) return *file;
  const std::vector<std::string> names = path.names(kind);
  const std::string near = nearest(named.text, names);
  std::string message =
      "there is no '" + named.text + "' beside the file, in MAREA_PATH or in the shipped folder " + std::string(folder(kind));
  if (names.empty()) {
    message += ", which are empty: " + path.places(kind);
  } else if (!near.empty()) {
    message += "; did you mean '" + near + "'?";
  } else if (names.size() <= kFewNames) {
    message += "; there are " + joined(names);
  }
  if (const std::string_view list = list_of(kind); !list.empty() && !names.empty()) message += "; see: marea list " + std::string(list);
  throw ConfigError(named.mark, key, message);
}

// Lays a file over everything that it extends.
Tree extended(Tree tree, const fs::path& folder, const SearchPath& path, std::vector<fs::path>& chain) {
  const Tree* extends = tree.find("extends");
  if (extends == nullptr) return tree;
  std::vector<Tree> bases = extends->kind == Tree::Kind::list ? extends->items : std::vector<Tree>{*extends};
  Tree result;
  result.kind = Tree::Kind::map;
  result.mark = tree.mark;
  for (const Tree& base : bases) {
    const fs::path file = fs::weakly_canonical(found(path, Kind::scenario, base, folder, "extends"));
    if (std::find(chain.begin(), chain.end(), file) != chain.end()) {
      throw ConfigError(base.mark, "extends",
                        "this goes in a circle: '" + base.text + "' extends, by way of others, itself; take the line out of one of them");
    }
    chain.push_back(file);
    Tree under = read_yaml(file.string());
    if (under.kind != Tree::Kind::map) throw ConfigError(under.mark, "", "a scenario is a map (name, service, cluster, ...)");
    merge(result, extended(std::move(under), file.parent_path(), path, chain));
    chain.pop_back();
  }
  std::erase_if(tree.entries, [](const TreeEntry& entry) { return entry.key == "extends"; });
  merge(result, tree);
  return result;
}

// Replaces a name by the map of its file, if there is one at this key.
void splice_at(Tree* parent, std::string_view key, Kind kind, std::string_view where, const fs::path& folder, const SearchPath& path) {
  Tree* value = parent == nullptr ? nullptr : parent->find(key);
  if (value == nullptr || value->kind != Tree::Kind::scalar) return;
  const fs::path file = found(path, kind, *value, folder, where);
  Tree map = read_yaml(file.string());
  if (map.kind != Tree::Kind::map) throw ConfigError(map.mark, "", "expected a map in a file that is named in a scenario");
  *value = std::move(map);
}

// Host times belong to every scenario: those of the engine at large where it names none.
void add_host(Tree& tree) {
  Tree host;
  host.kind = Tree::Kind::map;
  Tree name;
  name.kind = Tree::Kind::scalar;
  name.text = "vllm";
  host.entries.push_back({"host", {}, std::move(name)});
  Tree under;
  under.kind = Tree::Kind::map;
  under.entries.push_back({"serving", {}, std::move(host)});
  const Tree* serving = tree.find("serving");
  if (serving != nullptr && serving->find("host") != nullptr) return;
  merge(tree, under);
}

void splice(Tree& tree, const fs::path& folder, const SearchPath& path) {
  splice_at(tree.find("service"), "model", Kind::model, "service.model", folder, path);
  Tree* cluster = tree.find("cluster");
  splice_at(cluster, "node", Kind::node, "cluster.node", folder, path);
  Tree* node = cluster == nullptr ? nullptr : cluster->find("node");
  splice_at(node, "device", Kind::device, "cluster.node.device", folder, path);
  Tree* device = node == nullptr ? nullptr : node->find("device");
  splice_at(device, "calibration", Kind::calibration, "cluster.node.device.calibration", folder, path);
  splice_at(tree.find("serving"), "host", Kind::engine, "serving.host", folder, path);
}

}  // namespace

Tree scenario_tree(Tree tree, const fs::path& folder, const std::vector<std::string>& settings, const SearchPath& path) {
  if (tree.kind != Tree::Kind::map) throw ConfigError(tree.mark, "", "a scenario is a map (name, service, cluster, ...)");
  std::error_code a_pipe;  // has no such path, and cannot be extended either
  std::vector<fs::path> chain{fs::weakly_canonical(tree.mark.file, a_pipe)};
  tree = extended(std::move(tree), folder, path, chain);
  add_host(tree);
  splice(tree, folder, path);
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError({"--set"}, "", "'" + setting + "' is not path=value (for example cluster.pools[main].replicas=4)");
    }
    set_path(tree, std::string_view(setting).substr(0, equals), std::string_view(setting).substr(equals + 1), "--set");
    splice(tree, folder, path);
  }
  return tree;
}

}  // namespace marea::run
