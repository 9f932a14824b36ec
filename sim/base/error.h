// The two kinds of error: ConfigError for what a user can cause, check() for what only we can cause.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace marea {

// A place in an input file. Lines and columns count from 1; 0 means that the place has none (a --set argument, a row without a column).
struct Mark {
  std::string file;
  int line = 0;
  int column = 0;
};

// "file:line:column", leaving out what is unknown.
std::string to_string(const Mark& mark);

// Something in the input is wrong. what() reads "file:line:column: key.path: what is wrong; what would be right".
class ConfigError : public std::runtime_error {
 public:
  // `path` is the YAML path or the column; it may be empty. `message` says what is wrong and what would be right.
  ConfigError(const Mark& mark, std::string_view path, std::string_view message);
};

// A file or database could not be read or written (exit status 4).
class StorageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken promise inside marea (exit status 1).
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* what);

// An invariant, tested in every build.
inline void check(bool condition, const char* what) {
  if (!condition) [[unlikely]]
    fail_check(what);
}

}  // namespace marea
