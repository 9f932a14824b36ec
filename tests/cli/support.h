// Runs the built marea as a user would, in a folder of its own.
#pragma once

#include <string>
#include <vector>

namespace marea::test {

struct Ended {
  int status = 0;  // exit status, or 1000 + the signal that ended it
  std::string out;
  std::string err;
};

// A working directory that goes away with it.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // `marea` with these arguments. `environment`: NAME=value, on top of a plain one (C locale, no MAREA_PATH).
  Ended marea(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) const;
  // The same, interrupted by `signal` after so many milliseconds of computing.
  Ended interrupted(const std::vector<std::string>& arguments, int signal, int milliseconds) const;
  // A shell line, in which $MAREA is the program.
  Ended shell(const std::string& line) const;

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const;

 private:
  Ended run(const std::string& program, const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int signal,
            int milliseconds) const;
  std::string folder_;
};

bool contains(const std::string& text, const std::string& part);
std::vector<std::string> lines(const std::string& text);

}  // namespace marea::test
