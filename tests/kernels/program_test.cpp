// marea-probe as a program: a quick run on this machine, resumed, killed, and asked wrongly.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "kernels/backend.h"
#include "kernels/table.h"
#include "tests/kernels/support.h"

using namespace marea::probe;
using namespace marea::probe::test;

namespace {

struct Ran {
  int status = 0;
  std::string text;  // both streams
};

Ran shell(const std::string& command) {
  Ran out;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) out.text.append(part.data(), got);
  const int status = ::pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

Ran probe(const std::string& arguments) { return shell(std::string(MAREA_PROBE) + " " + arguments); }

// Every row of a table has the header's number of cells, a known operation and a positive time.
void check_rows(const std::string& path) {
  const std::vector<std::string> lines = lines_of(contents(path));
  REQUIRE(!lines.empty());
  CHECK(lines[0] == Table::header());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    CAPTURE(lines[i]);
    const std::vector<std::string> cells = cells_of(lines[i]);
    REQUIRE(cells.size() == cells_of(lines[0]).size());
    CHECK(cells[0] == "this-cpu");
    CHECK(operation_named(cells[1]).has_value());
    CHECK(std::stod(cells[cells.size() - 2]) > 0);
  }
}

}  // namespace

TEST_CASE("a quick run on the host measures, says on what, and can be resumed") {
  const Folder folder("program");
  const std::string out = folder.file("t.csv");
  const Ran first = probe("--quick --budget 3s --seed 11 --out " + out);
  CAPTURE(first.text);
  CHECK(first.status == 0);
  check_rows(out);
  const nlohmann::json facts = nlohmann::json::parse(contents(out + ".json"));
  const std::size_t rows = lines_of(contents(out)).size() - 1;
  CHECK(facts["finished"] == true);
  CHECK(facts["measured"] == rows);
  CHECK(facts["seed"] == 11);
  CHECK(facts["wrong"].empty());
  CHECK(facts["unsupported"].empty());
  CHECK_FALSE(facts["facts"]["system"].get<std::string>().empty());
  // Every case is measured, or was disturbed by other programs throughout, or came after the end of the time.
  CHECK(rows + facts["throttled"].size() + facts["unreached"].get<std::size_t>() == facts["cases"]);
  CHECK(rows >= 1);
  const std::string before = contents(out);
  const Ran again = probe("--quick --budget 1s --resume --out " + out);
  CHECK(again.status == 0);
  CHECK(contents(out).rfind(before, 0) == 0);
  CHECK(nlohmann::json::parse(contents(out + ".json"))["held_before"].get<std::size_t>() <= rows);
  check_rows(out);
}

TEST_CASE("a kill leaves whole rows") {
  const Folder folder("killed");
  const std::string out = folder.file("t.csv");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::execl(MAREA_PROBE, "marea-probe", "--quiet", "--operations", "memory_read,memory_copy,gemm", "--out", out.c_str(), nullptr);
    ::_exit(127);
  }
  for (int waited = 0; waited < 200 && lines_of(contents(out)).size() < 2; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  check_rows(out);
  CHECK(nlohmann::json::parse(contents(out + ".json"))["finished"] == false);
}

TEST_CASE("a check counts what it checked") {
  const Folder folder("check");
  const Ran checked = probe(fmt::format("--check --quiet --operations gemm,kv_gather --file-folder {}", folder.file(".")));
  CHECK(checked.status == 0);
  CHECK(checked.text == "5 checked, 0 unsupported, 0 wrong, 0 not reached in time\n");
}

TEST_CASE("the list is the plan, and takes no time") {
  const Ran all = probe("--list");
  CHECK(all.status == 0);
  CHECK(lines_of(all.text).size() == make_host_backend(".")->cases(false).size());
  const Ran some = probe("--list --operations gemm --formats bf16");
  for (const std::string& line : lines_of(some.text)) CHECK(line.rfind("gemm bf16 m=", 0) == 0);
  CHECK(probe("--help").text.rfind("usage: marea-probe", 0) == 0);
}

TEST_CASE("mistakes end with status 2, files that cannot be written with 4") {
  const Ran usage = probe("--quick");
  CHECK(usage.status == 2);
  CHECK(usage.text == "marea-probe: --out is missing: the file for the table\nTry 'marea-probe --help'.\n");
  CHECK(probe("--list --operations all_reduce").status == 2);
  const Ran file = probe("--quick --out /nowhere/t.csv");
  CHECK(file.status == 4);
  CHECK(file.text.find("/nowhere/t.csv: cannot be opened for writing: No such file or directory") != std::string::npos);
}

namespace {

void write_program(const std::string& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

// tools/calibrate-gpu with programs of paper before those of the machine.
Ran calibrate(const Folder& folder, const std::string& options) {
  return shell(fmt::format("PATH={}:$PATH {}/tools/calibrate-gpu --out {} --probe {} {}", folder.file("bin"), MAREA_SOURCE_DIR,
                           folder.file("out"), folder.file("bin/probe"), options));
}

}  // namespace

TEST_CASE("tools/calibrate-gpu checks, measures on top of what is there, and says what is missing") {
  const Folder folder("calibrate");
  std::filesystem::create_directories(folder.file("bin"));
  write_program(folder.file("bin/nvidia-smi"), "echo 9.0\n");
  write_program(folder.file("bin/marea"), "echo marea \"$@\"; touch \"$6\"\n");
  write_program(folder.file("bin/probe"), R"(
echo "probe $*"
case "$*" in *--check*) exit ${WRONG:-0} ;; esac
while [ "$1" != --out ]; do shift; done
[ -s "$2" ] || printf 'device,operation\n' >"$2"
printf 'h200-sxm,gemm\n' >>"$2"
)");
  const Ran first = calibrate(folder, "--minutes 8");
  CAPTURE(first.text);
  CHECK(first.status == 0);
  CHECK(first.text.find("probe --backend cuda --check --quiet") != std::string::npos);
  CHECK(first.text.find(" --resume ") != std::string::npos);
  CHECK(contents(folder.file("out/timings.csv")) == "device,operation\nh200-sxm,gemm\n");
  CHECK(first.text.find(fmt::format("calibrate {0}/timings.csv --device h200-sxm --out {0}/h200-sxm.yaml", folder.file("out"))) !=
        std::string::npos);
  calibrate(folder, "");
  CHECK(lines_of(contents(folder.file("out/timings.csv"))).size() == 3);  // not begun anew

  write_program(folder.file("bin/nvidia-smi"), "echo 7.5\n");
  CHECK(calibrate(folder, "").text ==
        "tools/calibrate-gpu: the GPU is older than compute capability 8.0, for which the kernels are written\n");
  write_program(folder.file("bin/nvidia-smi"), "echo No devices were found; exit 6\n");
  const Ran none = calibrate(folder, "");
  CHECK(none.status == 2);
  CHECK(none.text == "tools/calibrate-gpu: nvidia-smi finds no GPU that works: No devices were found\n");
}
