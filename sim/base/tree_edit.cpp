// Editing: laying one tree on another, and setting single values by path.
#include <charconv>
#include <optional>

#include "sim/base/relative.h"
#include "sim/base/text.h"
#include "sim/base/tree.h"

namespace marea {

namespace {

// One step of a path: `.name` or `[name]`.
struct PathStep {
  std::string name;
  bool bracket = false;
  std::string so_far;  // the path up to and with this step, for errors
};

std::vector<PathStep> split_path(std::string_view path, const Mark& at) {
  const auto fail = [&](std::string_view problem) {
    throw ConfigError(at, excerpt(path), std::string(problem) + "; a path reads like cluster.pools[main].replicas");
  };
  if (path.empty()) fail("an empty path");
  std::vector<PathStep> steps;
  for (std::size_t i = 0; i < path.size();) {
    if (path[i] == '[') {
      const std::size_t end = path.find(']', i);
      if (end == std::string_view::npos) fail("a bracket is not closed");
      if (end == i + 1) fail("nothing stands between the brackets");
      steps.push_back({std::string(path.substr(i + 1, end - i - 1)), true, std::string(path.substr(0, end + 1))});
      i = end + 1;
      if (i < path.size() && path[i] != '.' && path[i] != '[') fail("a dot is missing after a bracket");
    } else {
      if (!steps.empty()) ++i;  // the dot
      const std::size_t end = std::min(path.find_first_of(".[]", i), path.size());
      if (end == i || (end < path.size() && path[end] == ']')) fail("a step without a name");
      steps.push_back({std::string(path.substr(i, end - i)), false, std::string(path.substr(0, end))});
      i = end;
    }
  }
  return steps;
}

std::string_view name_of(const Tree& item) {
  const Tree* name = item.find("name");
  return name && name->kind == Tree::Kind::scalar ? std::string_view(name->text) : std::string_view();
}

// The item that a step addresses: by its name, else by its index. Null pointer when there is none.
const Tree* find_item(const Tree& list, const std::string& step) {
  for (const Tree& item : list.items)
    if (name_of(item) == step) return &item;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  const bool number = error == std::errc() && end == step.data() + step.size();
  return number && index < list.items.size() ? &list.items[index] : nullptr;
}

[[noreturn]] void fail_item(const Tree& list, const PathStep& step, const Mark& at) {
  std::vector<std::string> names;
  for (const Tree& item : list.items)
    if (!name_of(item).empty()) names.emplace_back(name_of(item));
  std::string message = "there is no such item; ";
  if (list.items.empty()) {
    message += "the list is empty";
  } else if (names.empty()) {
    message += "the list has the items 0 to " + std::to_string(list.items.size() - 1);
  } else {
    message += "the list has " + joined(names) + did_you_mean(step.name, names);
  }
  throw ConfigError(at, step.so_far, message);
}

// One step down, making maps on the way where there is nothing yet.
Tree& descend(Tree& tree, const PathStep& step, const Mark& at) {
  if (tree.kind == Tree::Kind::list) {
    if (!step.bracket) throw ConfigError(at, step.so_far, "a list stands before this step; address its items like [0] or [name]");
    const Tree* item = find_item(tree, step.name);
    if (!item) fail_item(tree, step, at);
    return const_cast<Tree&>(*item);
  }
  if (tree.kind == Tree::Kind::scalar)
    throw ConfigError(at, step.so_far, "the value " + excerpt(tree.text) + " stands before this step, which has no keys and no items");
  if (Tree* value = tree.find(step.name)) return *value;
  if (tree.kind == Tree::Kind::null) {
    if (step.bracket) throw ConfigError(at, step.so_far, "there is no such list to take an item from; set the whole list");
    tree.kind = Tree::Kind::map;
    tree.mark = at;
  }
  tree.entries.push_back({step.name, at, Tree{}});
  tree.entries.back().value.mark = at;
  return tree.entries.back().value;
}

void place_everywhere(Tree& tree, const Mark& mark) {
  tree.mark = mark;
  for (Tree& item : tree.items) place_everywhere(item, mark);
  for (TreeEntry& entry : tree.entries) {
    entry.mark = mark;
    place_everywhere(entry.value, mark);
  }
}

}  // namespace

void merge(Tree& base, const Tree& over) {
  if (base.kind != Tree::Kind::map || over.kind != Tree::Kind::map) {
    base = over;
    return;
  }
  base.mark = over.mark;
  for (const TreeEntry& entry : over.entries) {
    if (Tree* value = base.find(entry.key)) {
      merge(*value, entry.value);
    } else {
      base.entries.push_back(entry);
    }
  }
}

const Tree* find_path(const Tree& tree, std::string_view path, const Mark& at) {
  const Tree* here = &tree;
  for (const PathStep& step : split_path(path, at)) {
    here = here->kind == Tree::Kind::list && step.bracket ? find_item(*here, step.name) : here->find(step.name);
    if (!here) return nullptr;
  }
  return here;
}

void set_path(Tree& tree, std::string_view path, Tree value, const Mark& at) {
  const std::vector<PathStep> steps = split_path(path, at);
  if (is_relative(value)) {
    const Tree* standing = find_path(tree, path, at);
    if (!standing) throw ConfigError(at, path, excerpt(value.text) + " is relative, but nothing stands there; give an absolute value");
    value.text = apply_relative(*standing, value, path, at);
  }
  Tree* here = &tree;
  for (const PathStep& step : steps) here = &descend(*here, step, at);
  *here = std::move(value);
}

void set_path(Tree& tree, std::string_view path, std::string_view value, const std::string& origin) {
  const Mark mark{origin};
  Tree parsed = parse_yaml(value, origin + " " + std::string(excerpt(path)));
  place_everywhere(parsed, mark);
  set_path(tree, path, std::move(parsed), mark);
}

}  // namespace marea
