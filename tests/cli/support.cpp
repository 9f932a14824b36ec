// Processes and their output, by way of files.
#include "tests/cli/support.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace marea::test {

namespace {

std::string read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void into(const std::string& file, int descriptor) {
  const int opened = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ::dup2(opened, descriptor);
  ::close(opened);
}

// Waits until the process has computed for so long, however busy the machine is, or has ended.
void await_work(pid_t process, std::chrono::nanoseconds least) {
  clockid_t clock{};
  timespec used{};
  siginfo_t ended{};
  while (::clock_getcpuclockid(process, &clock) == 0 && ::clock_gettime(clock, &used) == 0 &&
         std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec) < least) {
    if (::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == process) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

Terminal::Terminal() {
  std::string name = (std::filesystem::temp_directory_path() / "marea-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

Terminal::~Terminal() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Ended Terminal::run(const std::string& program, const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                    int signal, int milliseconds) const {
  const std::string out = folder_ + "/.out";
  const std::string err = folder_ + "/.err";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    into(out, STDOUT_FILENO);
    into(err, STDERR_FILENO);
    ::unsetenv("MAREA_PATH");
    ::unsetenv("NO_COLOR");
    ::setenv("LC_ALL", "C", 1);
    ::setenv("MAREA", MAREA_PROGRAM, 1);
    for (const std::string& setting : environment) ::putenv(::strdup(setting.c_str()));
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    ::_exit(127);
  }
  if (signal != 0) {
    await_work(child, std::chrono::milliseconds(milliseconds));
    ::kill(child, signal);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read(out), read(err)};
}

Ended Terminal::marea(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) const {
  return run(MAREA_PROGRAM, arguments, environment, 0, 0);
}

Ended Terminal::interrupted(const std::vector<std::string>& arguments, int signal, int milliseconds) const {
  return run(MAREA_PROGRAM, arguments, {}, signal, milliseconds);
}

Ended Terminal::shell(const std::string& line) const { return run("/bin/bash", {"-c", line}, {}, 0, 0); }

void Terminal::write(const std::string& name, const std::string& text) const { std::ofstream(file(name), std::ios::binary) << text; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

}  // namespace marea::test
