// The YAML tree as marea reads it: every value with its place in the file, doubled keys refused, depth, aliases and size
// limited, and no type guessed. Editing (extends, spliced files, --set) happens here, before anything is interpreted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace marea {

struct TreeEntry;

// A scalar, a list or a map. Maps keep the order of the file.
struct Tree {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;                // scalar: exactly as written, without quotes
  bool quoted = false;             // scalar: was quoted, or could not stand without quotes: a string even if it looks like a number
  std::vector<Tree> items;         // list
  std::vector<TreeEntry> entries;  // map
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
  std::size_t bytes = 16u << 20;
  std::size_t depth = 64;
  std::size_t nodes = 500'000;  // after alias expansion
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
// parent map is added; a missing item is an error that lists the names there are. `[name]` after a map addresses the key `name`, for keys
// that contain a dot. A value `1.5x`, `+64 GB` or `-10 %` (of what stands there: 90 % becomes 81 %) is relative to the number that stands
// there (ConfigError when none does) and computed exactly; a plain negative number such as `-5` is not. `origin` names the source in errors
// ("--set").
void set_path(Tree& tree, std::string_view path, std::string_view value, const std::string& origin);
// The same with a value that has been read already (a study file's); `at` is the place of the setting in errors.
void set_path(Tree& tree, std::string_view path, Tree value, const Mark& at);
// The value at such a path, or null pointer when there is none. Throws ConfigError at `at` for a path that cannot be read.
const Tree* find_path(const Tree& tree, std::string_view path, const Mark& at);

// YAML text that parses back to an equal tree (marks apart). Used by `marea check` and kept with each run.
std::string to_yaml(const Tree& tree);

// Equal but for the marks.
bool same(const Tree& a, const Tree& b);

}  // namespace marea
