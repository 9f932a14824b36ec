// The YAML tree as marea reads it: every value with its place in the file, doubled keys refused, depth, aliases and size
// limited, and no type guessed. Editing (extends, spliced files, --set) happens here, before anything is interpreted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"

namespace marea {

struct TreeEntry;

// A scalar, a list or a map. Maps keep the order of the file.
struct Tree {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;               // scalar: exactly as written, without quotes
  bool quoted = false;            // scalar: was quoted, so it is a string even if it looks like a number
  std::vector<Tree> items;        // list
  std::vector<TreeEntry> entries; // map
  Mark mark;

  // The value under a key of a map, or null pointer. Works on every kind (none has keys but a map).
  const Tree* find(std::string_view key) const;
  Tree* find(std::string_view key);
};

struct TreeEntry {
  std::string key;
  Mark mark;  // of the key
  Tree value;
};

// Bounds on what a hostile file may cost. Exceeding one is a ConfigError that names it.
struct TreeLimits {
  std::size_t bytes = 64u << 20;
  std::size_t depth = 64;
  std::size_t nodes = 2'000'000;  // after alias expansion
};

// Reads one YAML document. `file` appears in errors. Throws ConfigError for syntax errors, doubled keys, several documents,
// tags, merge keys, non-scalar keys, control characters and exceeded limits. An empty document is Kind::null.
Tree parse_yaml(std::string_view text, const std::string& file, const TreeLimits& limits = {});
// The same from a file. Throws ConfigError when it cannot be opened or read, or is a directory.
Tree read_yaml(const std::string& file, const TreeLimits& limits = {});

// Lays `over` on `base`: maps merge key by key, everything else is replaced.
void merge(Tree& base, const Tree& over);

// Replaces the value at a path such as `cluster.pools[main].replicas`, `kv.tiers[0].capacity` or `traffic[coders].arrivals.rate`;
// `value` is YAML text. Items are addressed by index or by the text of their `name`. A key missing in the last step is added; a missing
// parent map is added; a missing item is an error that lists the names there are. A value `1.5x`, `+64 GB` or `-10 %` is relative to the number
// that stands there (ConfigError when none does). `origin` names the source in errors ("--set").
void set_path(Tree& tree, std::string_view path, std::string_view value, const std::string& origin);

// YAML text that parses back to an equal tree (marks apart). Used by `marea check` and kept with each run.
std::string to_yaml(const Tree& tree);

// The candidate nearest to `word` in edit distance if it is near enough to be a typing slip, else an empty string.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace marea
