// Writing: block style throughout, so that every plain text stays plain; everything else in double quotes.
#include "sim/base/plain_scalar.h"
#include "sim/base/text.h"
#include "sim/base/tree.h"

namespace marea {

namespace {

std::string quoted(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = 0;
    const std::size_t length = utf8_length(text.substr(at), point);
    check(length > 0, "text of a tree is UTF-8");
    const bool odd = point < 0x20 || (point >= 0x7f && point < 0xa1) || point == 0x2028 || point == 0x2029 ||
                     (point >= 0xfff0 && point < 0x10000) || point == 0xfeff;
    if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += "\\t";
    } else if (point == '\r') {
      out += "\\r";
    } else if (odd) {
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out += hex[(point >> shift) & 15];
    } else {
      if (point == '"' || point == '\\') out += '\\';
      out.append(text.substr(at, length));
    }
    at += length;
  }
  return out + '"';
}

void write(const Tree& tree, std::size_t indent, std::string& out);

// A value after "key:" or "-". Collections start on the line below, but a map in a list shares the line of its dash.
void write_after(const Tree& tree, bool dash, std::size_t indent, std::string& out) {
  const bool map = tree.kind == Tree::Kind::map && !tree.entries.empty();
  const bool list = tree.kind == Tree::Kind::list && !tree.items.empty();
  if (map && dash) {
    out += ' ';
    std::string block;
    write(tree, indent, block);
    out.append(block, indent);
  } else if (map || list) {
    out += '\n';
    write(tree, indent, out);
  } else {
    out += ' ';
    write(tree, indent, out);
  }
}

void write(const Tree& tree, std::size_t indent, std::string& out) {
  if (tree.kind == Tree::Kind::null) {
    out += "null\n";
  } else if (tree.kind == Tree::Kind::scalar) {
    out.append(tree.quoted || !plain_scalar(tree.text) ? quoted(tree.text) : tree.text).append("\n");
  } else if (tree.kind == Tree::Kind::list) {
    if (tree.items.empty()) out += "[]\n";
    for (const Tree& item : tree.items) {
      out.append(indent, ' ').append("-");
      write_after(item, true, indent + 2, out);
    }
  } else {
    if (tree.entries.empty()) out += "{}\n";
    for (const TreeEntry& entry : tree.entries) {
      out.append(indent, ' ').append(plain_scalar(entry.key) ? entry.key : quoted(entry.key)).append(":");
      write_after(entry.value, false, indent + 2, out);
    }
  }
}

}  // namespace

std::string to_yaml(const Tree& tree) {
  std::string out;
  write(tree, 0, out);
  return out;
}

bool same(const Tree& a, const Tree& b) {
  if (a.kind != b.kind || a.text != b.text || a.quoted != b.quoted || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || !same(a.entries[i].value, b.entries[i].value)) return false;
  return true;
}

}  // namespace marea
