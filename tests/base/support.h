// Small services of the base tests: the message of an expected error, and files that vanish with the test.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace marea::test {

// The message of the ConfigError that `act` throws, or a note that none came.
template <class Act>
std::string message_of(Act&& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(no error)";
}

// A file with the given bytes, removed at the end of its life.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    std::string name = (std::filesystem::temp_directory_path() / "marea-test-XXXXXX").string();
    const int handle = mkstemp(name.data());
    check(handle >= 0, "a temporary file");
    std::FILE* file = fdopen(handle, "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    path_ = name;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `message` without the name of the temporary file at its start: ":line:column: ...".
inline std::string without_file(const std::string& message, const TemporaryFile& file) {
  return message.rfind(file.path(), 0) == 0 ? message.substr(file.path().size()) : message;
}

}  // namespace marea::test
