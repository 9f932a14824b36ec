// Small text services that error messages need: a safe excerpt of what the user wrote, and the nearest known name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace marea {

// What the user wrote, fit for one line of a message: control characters and invalid UTF-8 are escaped, long text is cut with "...".
std::string excerpt(std::string_view text, std::size_t longest = 60);

// "a, b, c"; beyond `most` names, the first ones and how many more there are.
std::string joined(const std::vector<std::string>& names, std::size_t most = 20);

// The candidate nearest to `word` in edit distance (insert, delete, replace, swap of neighbours; case and '_' for '-' are free) if it is
// near enough to be a typing slip, else an empty string.
// Of several, the first.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean NAME?" or an empty string.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when it is not well formed; `point` receives the code point.
std::size_t utf8_length(std::string_view text, char32_t& point);

}  // namespace marea
