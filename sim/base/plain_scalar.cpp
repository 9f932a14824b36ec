#include "sim/base/plain_scalar.h"

namespace marea {

namespace {

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool starts_plainly(std::string_view text) {
  const char first = text.front();
  const bool signed_number = (first == '-' || first == '+') && text.size() > 1 && (is_word(text[1]) || text[1] == '.');
  // Letters beyond ASCII are left to quotes: line separators and byte order marks are among them.
  return is_word(first) || signed_number || first == '/' || first == '_' || first == '$' ||
         (first == '.' && text.size() > 1 && is_word(text[1]));
}

}  // namespace

bool plain_scalar(std::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  if (!starts_plainly(text) || text.back() == ' ' || text.back() == ':') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c < 0x20 || c > 0x7e) return false;
    if (c == ':' && !is_word(text[i + 1]) && text[i + 1] != '/') return false;
    if (c == '#' && text[i - 1] == ' ') return false;
  }
  return true;
}

}  // namespace marea
