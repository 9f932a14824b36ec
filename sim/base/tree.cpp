// Parsing: yaml-cpp's events become a Tree. Its own Node class is not used because it keeps doubled keys, drops quoting and
// expands aliases without bound.
#include "sim/base/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <memory>
#include <streambuf>
#include <unordered_map>
#include <utility>

#include "sim/base/input.h"
#include "sim/base/plain_scalar.h"
#include "sim/base/text.h"

namespace marea {

const Tree* Tree::find(std::string_view key) const {
  for (const TreeEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Tree* Tree::find(std::string_view key) { return const_cast<Tree*>(std::as_const(*this).find(key)); }

namespace {

constexpr std::size_t kLongestKey = 256;  // bytes; YAML itself ends simple keys at 1,024 characters, escapes included

// What a finished subtree costs when an alias repeats it.
struct Cost {
  std::size_t nodes = 0;
  std::size_t bytes = 0;
  std::size_t depth = 0;

  void include(const Cost& child) {
    nodes += child.nodes;
    bytes += child.bytes;
    depth = std::max(depth, child.depth + 1);
  }
};

// Builds the tree of the first document and refuses a second one.
class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& file, const TreeLimits& limits) : file_(file), limits_(limits) { root_.mark.file = file; }

  Tree take() { return std::move(root_); }
  std::size_t events() const { return events_; }

  Mark place(const YAML::Mark& mark) const { return mark.is_null() ? Mark{file_} : Mark{file_, mark.line + 1, mark.column + 1}; }

  [[noreturn]] void fail(const Mark& mark, std::string_view message) const { throw ConfigError(mark, excerpt(path(), 120), message); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(place(mark), "a second document or left-over text starts here; a file holds one YAML document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) fail(place(mark), "an empty key; every key is a plain name");
    Tree tree;
    // An empty value has no text of its own: yaml-cpp reports the place of whatever follows, so its key's place is the better one.
    tree.mark = stack_.empty() || stack_.back().tree.kind != Tree::Kind::map ? place(mark) : stack_.back().key_mark;
    finish(std::move(tree), {1, 0, 1}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) fail(place(mark), "an alias as a key; every key is a plain name");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(place(mark), "this alias stands inside what it repeats");
    const Cost cost = found->second.second;
    charge(cost, place(mark));
    finish(Tree(found->second.first), cost, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    refuse_tag(mark, tag, "!");
    refuse_control_characters(mark, value);
    if (wants_key()) return take_key(mark, tag, value);
    Tree tree;
    tree.kind = Tree::Kind::scalar;
    tree.text = value;
    tree.quoted = tag == "!" || !plain_scalar(value);
    tree.mark = place(mark);
    const Cost cost{1, value.size(), 1};
    charge(cost, tree.mark);
    finish(std::move(tree), cost, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(Tree::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(Tree::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map under construction.
  struct Frame {
    Tree tree;
    Cost cost;
    YAML::anchor_t anchor = 0;
    std::string key;  // map: the key that waits for its value
    Mark key_mark;
    bool has_key = false;
    std::unordered_map<std::string, int> lines;  // map: where each key stands, to refuse a second one
  };

  bool wants_key() {
    ++events_;
    return !stack_.empty() && stack_.back().tree.kind == Tree::Kind::map && !stack_.back().has_key;
  }

  std::string path() const {
    std::string out;
    for (const Frame& frame : stack_) {
      if (frame.tree.kind == Tree::Kind::list) out += '[' + std::to_string(frame.tree.items.size()) + ']';
      if (frame.has_key) out.append(out.empty() ? "" : ".").append(excerpt(frame.key));
    }
    return out;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag, std::string_view harmless) const {
    if (tag != "?" && tag != harmless && !tag.empty())
      fail(place(mark), "the tag " + excerpt(tag) + "; tags are not used here, leave it out");
  }

  // What escapes in double quotes may have made of plain text. (The scanner turns \N and \_ into bytes that are not UTF-8.)
  void refuse_control_characters(const YAML::Mark& mark, const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      char32_t point = 0;
      const std::size_t length = utf8_length(std::string_view(text).substr(at, 4), point);
      const bool control = (point < 0x20 && point != '\n' && point != '\t' && point != '\r') || point == 0x7f;
      if (length == 0 || control)
        fail(place(mark), "an escaped control character in " + excerpt(text) + "; only tab and line ends are accepted");
      at += length;
    }
  }

  void take_key(const YAML::Mark& mark, const std::string& tag, const std::string& value) {
    Frame& frame = stack_.back();
    const Mark here = place(mark);
    if (value == "<<" && tag != "!") fail(here, "a merge key (<<); use extends: or repeat the keys");
    if (value.empty()) fail(here, "an empty key; every key is a plain name");
    if (value.size() > kLongestKey)
      fail(here, "a key of " + std::to_string(value.size()) + " bytes; keys end at " + std::to_string(kLongestKey));
    const auto [first, fresh] = frame.lines.emplace(value, here.line);
    if (!fresh) fail(here, "the key " + excerpt(value) + " is given twice; the first is in line " + std::to_string(first->second));
    charge({0, value.size(), 0}, here);
    frame.key = value;
    frame.key_mark = here;
    frame.has_key = true;
  }

  void open(Tree::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (wants_key()) fail(place(mark), "a list or map as a key, or one that is never closed; every key is a plain name");
    refuse_tag(mark, tag, "?");
    charge({1, 0, 1}, place(mark));
    Frame& frame = stack_.emplace_back();
    frame.tree.kind = kind;
    frame.tree.mark = place(mark);
    frame.cost = {1, 0, 1};
    frame.anchor = anchor;
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.tree), frame.cost, frame.anchor);
  }

  // Adds to what has been built so far and compares with the limits.
  void charge(const Cost& cost, const Mark& mark) {
    nodes_ += cost.nodes;
    bytes_ += cost.bytes;
    if (nodes_ > limits_.nodes) fail(mark, "more than " + std::to_string(limits_.nodes) + " values, aliases expanded; that is the limit");
    if (bytes_ > limits_.bytes) fail(mark, "more than " + std::to_string(limits_.bytes) + " bytes, aliases expanded; that is the limit");
    if (stack_.size() + cost.depth > limits_.depth)
      fail(mark, "nested deeper than " + std::to_string(limits_.depth) + " levels; that is the limit");
  }

  // Puts a finished value where it belongs.
  void finish(Tree tree, const Cost& cost, YAML::anchor_t anchor) {
    if (anchor != 0) {
      charge({cost.nodes, cost.bytes, 0}, tree.mark);  // the copy kept for aliases costs memory too
      anchors_[anchor] = {tree, cost};
    }
    if (stack_.empty()) {
      root_ = std::move(tree);
      return;
    }
    Frame& frame = stack_.back();
    frame.cost.include(cost);
    if (frame.tree.kind == Tree::Kind::list) {
      frame.tree.items.push_back(std::move(tree));
      return;
    }
    frame.cost.bytes += frame.key.size();
    frame.tree.entries.push_back({std::move(frame.key), std::move(frame.key_mark), std::move(tree)});
    frame.key.clear();
    frame.has_key = false;
  }

  const std::string& file_;
  const TreeLimits& limits_;
  Tree root_;
  std::vector<Frame> stack_;
  std::unordered_map<YAML::anchor_t, std::pair<Tree, Cost>> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::size_t events_ = 0;
  int documents_ = 0;
};

// Hands the text to yaml-cpp in small pieces. Its scanner collects tokens without bound while a bracket may still turn out to begin a
// key, so a run of brackets without an event between them is stopped here, before it costs memory.
class Feed : public std::streambuf {
 public:
  Feed(std::string_view text, const Builder& builder, std::size_t depth) : text_(text), builder_(builder), most_(16384 + 16 * depth) {
    show(0, 0);
  }

 protected:
  int_type underflow() override {
    const auto at = static_cast<std::size_t>(gptr() - eback());
    if (at == text_.size()) return traits_type::eof();
    const std::string_view piece = text_.substr(at, kPiece);
    if (builder_.events() != seen_) brackets_ = 0;
    seen_ = builder_.events();
    brackets_ += static_cast<std::size_t>(std::count_if(piece.begin(), piece.end(), [](char c) { return c == '[' || c == '{'; }));
    if (brackets_ > most_) fail_at(at);
    show(at, piece.size());
    return traits_type::to_int_type(piece.front());
  }

 private:
  static constexpr std::size_t kPiece = 2048;

  // The whole text is in memory, so everything before the current piece stays there for putting characters back.
  void show(std::size_t at, std::size_t size) {
    char* begin = const_cast<char*>(text_.data());  // streambuf wants it so; nothing is written
    setg(begin, begin + at, begin + at + size);
  }

  [[noreturn]] void fail_at(std::size_t at) const {
    Mark mark = builder_.place(YAML::Mark::null_mark());
    mark.line = static_cast<int>(1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    builder_.fail(mark, "more than " + std::to_string(most_) + " brackets in one piece of text; nesting this deep is not accepted");
  }

  std::string_view text_;
  const Builder& builder_;
  std::size_t most_;
  std::size_t seen_ = 0;
  std::size_t brackets_ = 0;
};

// What is usually behind the parser's terse messages.
std::string_view remedy(const std::string& message) {
  struct Remedy {
    std::string_view message;
    std::string_view text;
  };
  const Remedy kRemedies[] = {
      {YAML::ErrorMsg::MAP_VALUE, "; check the indentation, and put quotes around a text that contains a colon"},
      {YAML::ErrorMsg::END_OF_MAP, "; check the indentation of this line"},
      {YAML::ErrorMsg::END_OF_SEQ, "; check the indentation of this line"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "; a } is missing before this place"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "; a ] is missing before this place"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "; a closing quote is missing"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "; put quotes around a text that begins with a special character"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "; a list begins on a line of its own"},
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "; indent with spaces"},
  };
  for (const Remedy& one : kRemedies)
    if (one.message == message) return one.text;
  return {};
}

// UTF-8 without control characters; the scanner would replace or stumble over anything else without naming the place.
void check_characters(std::string_view text, const std::string& file) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = 0;
    const std::size_t length = utf8_length(text.substr(at, 4), point);
    const Mark mark{file, line, static_cast<int>(std::min<std::size_t>(at - line_start + 1, 1 << 30))};
    if (length == 0) throw ConfigError(mark, "", "the byte " + excerpt(text.substr(at, 1)) + " is not UTF-8; save the file as UTF-8 text");
    const bool line_end = point == '\n' || (point == '\r' && text.substr(at + 1, 1) == "\n");
    const bool control = (point < 0x20 && point != '\t' && !line_end) || (point >= 0x7f && point < 0xa0 && point != 0x85);
    if (control || point == 0xfffe || point == 0xffff)
      throw ConfigError(mark, "", "the control character " + excerpt(text.substr(at, length)) + "; a YAML file is plain text");
    at += length;
    if (point == '\n') {
      ++line;
      line_start = at;
    }
  }
}

}  // namespace

Tree parse_yaml(std::string_view text, const std::string& file, const TreeLimits& limits) {
  if (text.size() > limits.bytes)
    throw ConfigError({file}, "", std::to_string(text.size()) + " bytes of YAML; the limit is " + std::to_string(limits.bytes));
  check_characters(text, file);
  Builder builder(file, limits);
  // The scanner takes a quote that is never closed for closed when the text ends with a line end; a last comment without one prevents it.
  std::string closed(text.substr(0, text.find_last_not_of(" \t") + 1));
  if (!closed.empty() && (closed.back() == '\n' || closed.back() == '\r')) closed += '#';
  Feed feed(closed, builder, limits.depth);
  std::istream stream(&feed);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    builder.fail(builder.place(error.mark), ("not valid YAML: " + error.msg).append(remedy(error.msg)));
  }
  return builder.take();
}

Tree read_yaml(const std::string& file, const TreeLimits& limits) { return parse_yaml(read_text(file, limits.bytes), file, limits); }

}  // namespace marea
