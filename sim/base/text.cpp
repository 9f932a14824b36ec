#include "sim/base/text.h"

#include <algorithm>
#include <array>

namespace marea {

std::size_t utf8_length(std::string_view text, char32_t& point) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  std::size_t length = 0;
  char32_t least = 0;
  if (first < 0x80) {
    point = first;
    return 1;
  }
  if (first >= 0xc2 && first < 0xe0) {
    length = 2, least = 0x80, point = first & 0x1f;
  } else if (first >= 0xe0 && first < 0xf0) {
    length = 3, least = 0x800, point = first & 0x0f;
  } else if (first >= 0xf0 && first < 0xf5) {
    length = 4, least = 0x10000, point = first & 0x07;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3f);
  }
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  return point < least || point > 0x10ffff || surrogate ? 0 : length;
}

std::string excerpt(std::string_view text, std::size_t longest) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) return out += "...";
    char32_t point = 0;
    const std::size_t length = utf8_length(text, point);
    const bool control = length > 0 && (point < 0x20 || (point >= 0x7f && point < 0xa0));
    if (length > 0 && !control) {
      out.append(text.substr(0, length));
    } else if (text.front() == '\n') {
      out += "\\n";
    } else if (text.front() == '\t') {
      out += "\\t";
    } else {
      for (const char c : text.substr(0, std::max<std::size_t>(length, 1))) {
        const auto byte = static_cast<unsigned char>(c);
        out.append("\\x").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
      }
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string joined(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) out.append(i > 0 ? ", " : "").append(excerpt(names[i]));
  if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
  return out;
}

namespace {

constexpr std::size_t kLongestWord = 64;  // names are shorter; a longer word is no typing slip, and the distance is quadratic

std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return out;
}

// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kLongestWord + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& above2 = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], above2[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string wanted = folded(word);
  // One slip in a short word, two in a longer one, three in a long one; and never more than half of it.
  std::size_t best = (word.size() <= 4 ? 1 : word.size() <= 9 ? 2 : 3) + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestWord || candidate.size() < 2 || candidate == word) continue;
    const std::size_t apart = distance(wanted, folded(candidate));
    if (apart >= best || 2 * apart > std::min(word.size(), candidate.size()) + (apart == 1 ? 1 : 0)) continue;
    best = apart;
    found = candidate;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string name = nearest(word, candidates);
  return name.empty() ? std::string{} : "; did you mean " + name + "?";
}

}  // namespace marea
