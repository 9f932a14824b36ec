// Reading and writing YAML: places, quoting, aliases, limits, and the round trip of any tree.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "sim/base/tree.h"
#include "tests/base/random_trees.h"
#include "tests/base/support.h"

using namespace marea;
using test::message_of;

namespace {

Tree parse(std::string_view text) { return parse_yaml(text, "t.yaml"); }

std::string repeated(std::string_view piece, std::size_t times) {
  std::string out;
  out.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

bool contains(const std::string& text, std::string_view part) {
  INFO("text: ", text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every value knows its line and column") {
  const Tree tree = parse("a: 1\nb:\n  - x\n  - {c: 2}\n");
  CHECK(tree.find("a")->mark.line == 1);
  CHECK(tree.find("a")->mark.column == 4);
  const Tree& second = tree.find("b")->items[1];
  CHECK(second.mark.line == 4);
  CHECK(second.mark.column == 5);
  CHECK(second.entries[0].mark.column == 6);
  CHECK(second.find("c")->mark.column == 9);
  CHECK(to_string(second.find("c")->mark) == "t.yaml:4:9");
}

TEST_CASE("scalars keep their text and whether they were quoted") {
  const Tree tree = parse("a: 012\nb: \"012\"\nc: '1'\nd: |\n  x\n  y\ne: two words\nf: ~\ng:\nh: 80 GB\n");
  CHECK(tree.find("a")->text == "012");
  CHECK_FALSE(tree.find("a")->quoted);
  CHECK(tree.find("b")->text == "012");
  CHECK(tree.find("b")->quoted);
  CHECK(tree.find("c")->quoted);
  CHECK(tree.find("d")->text == "x\ny\n");
  CHECK(tree.find("d")->quoted);
  CHECK(tree.find("e")->text == "two words");
  CHECK(tree.find("f")->kind == Tree::Kind::null);
  CHECK(tree.find("g")->kind == Tree::Kind::null);
  CHECK(tree.find("g")->mark.line == 9);
  CHECK(tree.find("h")->text == "80 GB");
}

TEST_CASE("an empty document and one of comments are null") {
  CHECK(parse("").kind == Tree::Kind::null);
  CHECK(parse("# nothing\n\n").kind == Tree::Kind::null);
  CHECK(parse("\xef\xbb\xbf# byte order mark\n").kind == Tree::Kind::null);
}

TEST_CASE("an alias repeats the value with the place where it was written") {
  const Tree tree = parse("a: &x {p: 1}\nb: *x\nc: [*x, *x]\n");
  CHECK(same(*tree.find("a"), *tree.find("b")));
  CHECK(tree.find("c")->items.size() == 2);
  CHECK(tree.find("c")->items[1].find("p")->mark.line == 1);
}

TEST_CASE("keys keep the order of the file") {
  const Tree tree = parse("z: 1\na: 2\nm: 3\n");
  CHECK(tree.entries[0].key == "z");
  CHECK(tree.entries[1].key == "a");
  CHECK(tree.entries[2].key == "m");
}

TEST_CASE("nesting is limited, whatever makes it") {
  const std::string limit = "nested deeper than 64 levels";
  CHECK(contains(message_of([] { parse(repeated("[", 65) + repeated("]", 65)); }), limit));
  CHECK(contains(message_of([] { parse(repeated("{a: ", 65) + "1" + repeated("}", 65)); }), limit));
  CHECK(contains(message_of([] { parse(repeated("- ", 65) + "1"); }), limit));
  CHECK(message_of([] { parse(repeated("[", 63) + "1" + repeated("]", 63)); }) == "(no error)");
  CHECK(message_of([] { parse(repeated("[", 64) + "1" + repeated("]", 64)); }) != "(no error)");
  std::string stairs;
  for (std::size_t i = 0; i < 100; ++i) stairs += repeated(" ", i) + "a:\n";
  CHECK(contains(message_of([&] { parse(stairs); }), limit));
}

TEST_CASE("millions of open brackets end in an error, not in memory or stack") {
  for (const std::string piece : {"[", "[\n", "{a: ", "[? ", "{", "[[\"[\","}) {
    CAPTURE(piece);
    CHECK(message_of([&] { parse(repeated(piece, 2'000'000)); }) != "(no error)");
  }
}

TEST_CASE("a file above the limit of bytes is refused before it is read") {
  TreeLimits limits;
  limits.bytes = 100;
  CHECK(contains(message_of([&] { parse_yaml(repeated("a", 101), "t.yaml", limits); }), "the limit is 100"));
  const test::TemporaryFile file(repeated("a", 101));
  CHECK(contains(message_of([&] { read_yaml(file.path(), limits); }), "more than 100 bytes"));
}

TEST_CASE("aliases that multiply are stopped at the limit of values and of bytes") {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'm'; ++c) {
    const std::string before = std::string("*") + static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [" + before + repeated("," + before, 9) + "]\n";
  }
  CHECK(contains(message_of([&] { parse(bomb); }), "more than 500000 values"));
  const std::string heavy = "a: &a " + repeated("x", 100'000) + "\nb: [*a" + repeated(", *a", 1000) + "]\n";
  CHECK(contains(message_of([&] { parse(heavy); }), "more than 16777216 bytes"));
  // Depth counts through aliases as well.
  const std::string deep =
      "a: &a " + repeated("[", 40) + "1" + repeated("]", 40) + "\nb: " + repeated("[", 40) + "*a" + repeated("]", 40) + "\n";
  CHECK(contains(message_of([&] { parse(deep); }), "nested deeper"));
}

TEST_CASE("a folder or a missing file is a clear error") {
  CHECK(contains(message_of([] { read_yaml("/"); }), "is a folder"));
  CHECK(contains(message_of([] { read_yaml("/no/such/file.yaml"); }), "/no/such/file.yaml: cannot be opened: No such file"));
}

TEST_CASE("binary bytes name their place") {
  CHECK(message_of([] { parse(std::string_view("a: 1\nb: \0x", 10)); }) ==
        "t.yaml:2:4: the control character \\x00; a YAML file is plain text");
  CHECK(message_of([] { parse("a: \xff"); }) == "t.yaml:1:4: the byte \\xff is not UTF-8; save the file as UTF-8 text");
  CHECK(message_of([] { parse("a: b\rc: d\r"); }) == "t.yaml:1:5: the control character \\x0d; a YAML file is plain text");
  CHECK(contains(message_of([] { parse("a: \"\\N\""); }), "an escaped control character"));
  CHECK(parse("a: \"\\r\"\r\nb: 1\r\n").find("a")->text == "\r");
  CHECK(contains(message_of([] { parse("\x1f\x8b\x08"); }), "control character"));
  CHECK(contains(message_of([] { parse("a: \xed\xa0\x80"); }), "not UTF-8"));  // a surrogate
  CHECK(contains(message_of([] { parse("a: \xc0\xaf"); }), "not UTF-8"));      // an overlong slash
}

TEST_CASE("a quote that is never closed is an error, wherever the text ends") {
  for (const std::string end : {"", "\n", "\n\n", " ", "\n  ", "\r\n", "\n\t"}) {
    CAPTURE(end);
    CHECK(contains(message_of([&] { parse("a: \"b" + end); }), "a closing quote is missing"));
    CHECK(contains(message_of([&] { parse("a: 'b\nc: 1" + end); }), "a closing quote is missing"));
    CHECK(parse("a: |+\n  b\n" + end).find("a")->text.substr(0, 2) == "b\n");
  }
  CHECK(parse("a: |+\n  b\n\n\n").find("a")->text == "b\n\n\n");
}

TEST_CASE("writing and reading back gives the same tree") {
  CHECK(rc::check("to_yaml, then parse_yaml", [] {
    const Tree tree = test::random_tree(4);
    const std::string text = to_yaml(tree);
    RC_LOG() << text;
    RC_ASSERT(same(parse(text), tree));
  }));
}

TEST_CASE("any text at all survives as a value and as a key") {
  CHECK(rc::check("texts", [] {
    const std::string text = *test::random_text();
    Tree tree;
    tree.kind = Tree::Kind::map;
    Tree value;
    value.kind = Tree::Kind::scalar;
    value.text = text;
    TreeEntry& entry = tree.entries.emplace_back();
    entry.key = text.empty() || text.size() > 256 ? "k" : text;
    entry.value = value;
    const Tree back = parse(to_yaml(tree));
    RC_ASSERT(back.entries.size() == 1u);
    RC_ASSERT(back.entries[0].key == tree.entries[0].key);
    RC_ASSERT(back.entries[0].value.kind == Tree::Kind::scalar);
    RC_ASSERT(back.entries[0].value.text == text);
  }));
}

TEST_CASE("random bytes and random slices of YAML give a tree or a ConfigError") {
  CHECK(rc::check("hostile text", [] {
    std::string text = *test::random_text();
    text += *test::random_text();
    try {
      const Tree tree = parse(text);
      RC_ASSERT(same(parse(to_yaml(tree)), tree));
    } catch (const ConfigError&) {
    }
  }));
}

TEST_CASE("the nearest name is found for typing slips and for nothing else") {
  const std::vector<std::string> names = {"capacity", "replicas", "retention", "rate", "block", "ttft", "tpot"};
  CHECK(nearest("capcity", names) == "capacity");
  CHECK(nearest("Replica", names) == "replicas");
  CHECK(nearest("retnetion", names) == "retention");
  CHECK(nearest("rates", names) == "rate");
  CHECK(nearest("eviction", names).empty());
  CHECK(nearest("x", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest("batch_tokens", {"batch-tokens"}) == "batch-tokens");
  CHECK(nearest(repeated("a", 10'000'000), names).empty());
}
