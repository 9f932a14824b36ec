#include "sim/base/error.h"

namespace marea {

std::string to_string(const Mark& mark) {
  std::string text = mark.file;
  if (mark.line > 0) text += ':' + std::to_string(mark.line);
  if (mark.line > 0 && mark.column > 0) text += ':' + std::to_string(mark.column);
  return text;
}

namespace {

std::string compose(const Mark& mark, std::string_view path, std::string_view message) {
  std::string text = to_string(mark);
  if (!text.empty()) text += ": ";
  if (!path.empty()) text.append(path).append(": ");
  return text.append(message);
}

}  // namespace

ConfigError::ConfigError(const Mark& mark, std::string_view path, std::string_view message)
    : std::runtime_error(compose(mark, path, message)) {}

void fail_check(const char* what) { throw InternalError(what); }

}  // namespace marea
