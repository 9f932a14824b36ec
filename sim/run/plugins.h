// The one table of everything that can be plugged in by name: `list`, "did you mean", the readers and the contract tests all come from it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/section.h"
#include "sim/cluster/router.h"
#include "sim/serving/scheduler.h"
#include "sim/traffic/trace.h"

namespace marea::run {

// A policy: its name and summary, and how its YAML becomes a recipe for fresh instances.
template <class Recipe>
struct PluginRow {
  std::string_view name;
  std::string_view summary;
  Recipe (*read)(Section& section);
};

std::span<const PluginRow<cluster::RouterRecipe>> routers();
std::span<const PluginRow<serving::SchedulerRecipe>> schedulers();
std::span<const traffic::TraceFormat> trace_formats();

// Reads `kind: name` with its parameters, or a bare name, and hands back the recipe. `common` may take further keys of the same map first.
template <class Recipe>
Recipe read_plugin(const Value& value, std::span<const PluginRow<Recipe>> rows, std::string_view what,
                   const std::function<void(Section&)>& common = {}) {
  std::vector<std::string> names;
  for (const PluginRow<Recipe>& row : rows) names.emplace_back(row.name);
  const auto find = [&](const std::string& name) {
    for (const PluginRow<Recipe>& row : rows) {
      if (row.name == name) return row;
    }
    value.fail("no such " + std::string(what));
  };
  if (value.is_scalar()) {
    Tree empty;
    empty.kind = Tree::Kind::map;
    empty.mark = value.mark();
    Section section{Value(empty, value.path())};
    return find(value.one_of(names, what)).read(section);
  }
  Section section(value);
  const std::string name = section.required("kind").one_of(names, what);
  if (common) common(section);
  Recipe recipe = find(name).read(section);
  section.close();
  return recipe;
}

}  // namespace marea::run
