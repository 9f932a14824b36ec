// Contexts as pieces: comparing, hashing, and the radix tree over them.
#include <doctest/doctest.h>

#include "sim/kv/content.h"
#include "sim/kv/cursor.h"
#include "sim/kv/prefix_tree.h"

namespace marea::kv {
namespace {

TEST_CASE("common prefix counts tokens whatever way the pieces are cut") {
  const Content whole{{1, 0, 10}, {2, 5, 4}};
  const Content cut{{1, 0, 3}, {1, 3, 7}, {2, 5, 2}, {3, 0, 9}};
  CHECK(common_prefix(whole, cut) == 12);  // 10 of span 1, then positions 5 and 6 of span 2
  CHECK(common_prefix(cut, whole) == 12);
  CHECK(common_prefix(whole, whole) == 14);
  CHECK(common_prefix(whole, {}) == 0);
  CHECK(common_prefix(whole, Content{{1, 1, 10}}) == 0);  // the same span from another position
}

TEST_CASE("a piece that continues the last one is merged with it") {
  Content content;
  append(content, {1, 0, 4});
  append(content, {1, 4, 2});
  append(content, {1, 7, 1});
  append(content, {9, 0, 0});
  CHECK(content == Content{{1, 0, 6}, {1, 7, 1}});
  CHECK(length(content) == 7);
}

TEST_CASE("the hash of tokens does not depend on how the pieces are cut") {
  const Content whole{{1, 0, 10}, {2, 5, 4}};
  const Content cut{{1, 0, 3}, {1, 3, 7}, {2, 5, 1}, {2, 6, 3}};
  for (std::int64_t tokens = 1; tokens <= 14; ++tokens) CHECK(PieceCursor(whole).hash(tokens) == PieceCursor(cut).hash(tokens));
  CHECK(PieceCursor(whole, 4).hash(8) == PieceCursor(cut, 4).hash(8));
  CHECK(PieceCursor(whole).hash(8) != PieceCursor(whole, 1).hash(8));
}

TEST_CASE("a split node keeps its content and its children, and joins again") {
  // Blocks of 4 tokens. One chain of 4 blocks, a child behind it, then a cut at block 1.
  PrefixTree tree(4);
  const Content a{{1, 0, 10}, {2, 0, 6}};
  const Content b{{1, 0, 10}, {2, 0, 6}, {3, 0, 8}};
  const NodeId node = tree.add(kRoot, 0, 4, PieceCursor(a), 16);
  const NodeId leaf = tree.add(node, 4, 6, PieceCursor(b, 16), 8);
  const NodeId upper = tree.split(node, 1);
  CHECK(tree.child(kRoot, PieceCursor(a)) == upper);
  CHECK(tree.child(upper, PieceCursor(a, 4)) == node);
  CHECK(tree.child(node, PieceCursor(b, 16)) == leaf);
  CHECK(tree.child(upper, PieceCursor(b, 16)) == kNone);
  CHECK(tree[upper].hi == 1);
  CHECK(tree[node].lo == 1);
  CHECK(tree.prefix(leaf, 6) == b);
  CHECK(tree.prefix(node, 3) == Content{{1, 0, 10}, {2, 0, 2}});
  CHECK(tree.prefix(upper, 1) == Content{{1, 0, 4}});
  tree.absorb(leaf);
  tree.absorb(node);
  CHECK(tree.size() == 1);
  CHECK(tree.prefix(upper, 6) == b);
  PieceCursor at(b);
  CHECK(tree.match(upper, at, 100) == 24);
}

TEST_CASE("a lone child joins its parent with all that hangs below it") {
  // The parent's pieces reach beyond its 2 blocks, as those of a node that could have grown do.
  PrefixTree tree(4);
  const Content a{{1, 0, 16}};
  const Content b{{1, 0, 8}, {2, 0, 12}};
  const Content c{{1, 0, 8}, {2, 0, 8}, {3, 0, 4}};
  const NodeId parent = tree.add(kRoot, 0, 2, PieceCursor(a), 16);
  const NodeId child = tree.add(parent, 2, 4, PieceCursor(b, 8), 8);
  const NodeId left = tree.add(child, 4, 5, PieceCursor(b, 16), 4);
  const NodeId right = tree.add(child, 4, 5, PieceCursor(c, 16), 4);
  CHECK_THROWS(tree.join(left));  // it is not alone
  tree.join(child);
  CHECK(tree.size() == 3);
  CHECK(tree.child(kRoot, PieceCursor(b)) == child);
  CHECK(tree.child(child, PieceCursor(b, 16)) == left);
  CHECK(tree.child(child, PieceCursor(c, 16)) == right);
  CHECK(tree[child].lo == 0);
  CHECK(tree.prefix(left, 5) == b);
  CHECK(tree.prefix(right, 5) == c);
  CHECK_THROWS(tree.join(child));  // the root is nobody's content
}

TEST_CASE("children are found among thousands, also after others have gone") {
  PrefixTree tree(2);
  std::vector<NodeId> nodes;
  std::vector<Content> contents;
  for (std::uint64_t span = 0; span < 3000; ++span) contents.push_back({{span, 0, 4}});
  for (const Content& content : contents) nodes.push_back(tree.add(kRoot, 0, 2, PieceCursor(content), 4));
  for (std::size_t i = 0; i < nodes.size(); i += 3) tree.remove(nodes[i]);
  for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(tree.child(kRoot, PieceCursor(contents[i])) == (i % 3 == 0 ? kNone : nodes[i]));
  CHECK(tree.size() == 2000);
}

}  // namespace
}  // namespace marea::kv
