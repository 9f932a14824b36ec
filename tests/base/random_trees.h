// Random trees for the property tests of reading and writing YAML.
#pragma once

#include <rapidcheck.h>

#include <set>
#include <string>
#include <utility>

#include "sim/base/plain_scalar.h"
#include "sim/base/tree.h"

namespace marea::test {

// Texts out of pieces that YAML treats specially, with whole Unicode in between.
inline rc::Gen<std::string> random_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                          "a", "Z", "0", "12", "1.5", "x", " ", "  ", ":", ": ", "#", " #", "\n", "\n\n", "\t", "\r", "'", "\"", "\\", "[",
                          "]", "{", "}", ",", "- ", "-", "?", "&", "*", "!", "|", ">", "%", "@", "`", "~", "null", "true", "---", "...",
                          "<<", "=", "/s", "$", "+", "é", "→", "日本", "\xf0\x9f\x98\x80", "\xc2\x85", "\xe2\x80\xa8", "\xef\xbb\xbf",
                          "\xc2\xa0", "\xef\xbf\xbd", ".nan", "0x1F", "1e3", "\xee\x80\x80", "\xed\x9f\xbf")),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& piece : pieces) text += piece;
                        return text;
                      });
}

inline Tree random_tree(int depth) {
  Tree tree;
  const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 2);
  tree.kind = static_cast<Tree::Kind>(kind);
  if (tree.kind == Tree::Kind::scalar) {
    tree.text = *random_text();
    tree.quoted = !plain_scalar(tree.text) || *rc::gen::arbitrary<bool>();
  } else if (tree.kind == Tree::Kind::list) {
    const int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) tree.items.push_back(random_tree(depth - 1));
  } else if (tree.kind == Tree::Kind::map) {
    std::set<std::string> used;
    const int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) {
      const std::string key = *random_text();
      if (key.empty() || key.size() > 200 || !used.insert(key).second) continue;
      TreeEntry& entry = tree.entries.emplace_back();
      entry.key = key;
      entry.value = random_tree(depth - 1);
    }
  }
  return tree;
}

}  // namespace marea::test
