// What the command line says about itself and about wrong use of it.
#include <doctest/doctest.h>

#include "tests/cli/support.h"

using namespace marea::test;

namespace {

const std::vector<std::string> kCommands{"run", "check", "list", "runs", "show", "rerun", "export"};

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (const std::string& line : lines(text)) most = std::max(most, line.size());
  return most;
}

}  // namespace

TEST_CASE("help names every command and fits 80 columns") {
  const Terminal terminal;
  const Ended overview = terminal.marea({"--help"});
  CHECK(overview.status == 0);
  CHECK(overview.err.empty());
  CHECK(widest(overview.out) <= 80);
  for (const std::string& command : kCommands) {
    CHECK(contains(overview.out, "\n  " + command));
    const Ended help = terminal.marea({command, "--help"});
    CHECK(help.status == 0);
    CHECK_MESSAGE(contains(help.out, "examples:\n  marea " + command), command);
    CHECK_MESSAGE(widest(help.out) <= 80, help.out);
    CHECK(terminal.marea({"help", command}).out == help.out);
  }
}

TEST_CASE("the version is a number with where it was built from") {
  const Ended version = Terminal().marea({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out.starts_with("marea 0."));
}

TEST_CASE("wrong use is status 2 with what would be right") {
  const Terminal terminal;
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& message) {
    const Ended ended = terminal.marea(arguments);
    CHECK_MESSAGE(ended.status == 2, message);
    CHECK_MESSAGE(ended.out.empty(), message);
    CHECK_MESSAGE(contains(ended.err, message), ended.err);
  };
  fails({}, "usage: marea COMMAND");
  fails({""}, "there is no command");
  fails({"rnu"}, "there is no command rnu; did you mean run?");
  fails({"run", "pond", "--sede", "3"}, "there is no option --sede; did you mean --seed?");
  fails({"run", "pond", "-x"}, "there is no option -x");
  fails({"run"}, "say which: marea run SCENARIO");
  fails({"run", "a", "b"}, "\"b\" is one word too many");
  fails({"run", "pond", "--seed"}, "--seed needs a value");
  fails({"run", "pond", "--seed", "-1"}, "--seed -1: not a whole number from 0");
  fails({"run", "pond", "--seed", "9223372036854775808"}, "not a whole number from 0 to 9223372036854775807");
  fails({"check", "."}, ".: is a folder");
  fails({"run", "pond", "--seed", "1e3"}, "--seed 1e3: not a whole number");
  fails({"run", "pond", "--seed", "1", "--seed", "2"}, "--seed is given twice");
  fails({"run", "pond", "--replications", "0"}, "--replications 0: not a whole number from 1");
  fails({"run", "pond", "--detail", "request"},
        "--detail request: must be one of summary, sessions, requests, steps; did you mean requests?");
  fails({"run", "pond", "--set", "run.seed"}, "--set run.seed: must be PATH=VALUE");
  fails({"list", "modles"}, "did you mean models?");
  fails({"export", "last", "--table", "reqest"}, "did you mean request?");
  fails({"runs", "--seed", "1"}, "there is no option --seed");
  fails({"runs", "--db", ":memory:"}, "holds no runs to read");
  fails({"run", "frist-run"}, "did you mean first-run?");
}

TEST_CASE("lists come from what is shipped, wherever marea stands") {
  const Terminal terminal;
  CHECK(contains(terminal.marea({"list", "models"}).out, "llama-3.1-8b"));
  CHECK(contains(terminal.marea({"list", "scenarios"}).out, "first-run"));
  for (const char* kind : {"devices", "nodes", "metrics", "schedulers", "routers", "traces"}) {
    const Ended list = terminal.marea({"list", kind});
    CHECK_MESSAGE(list.status == 0, kind);
    CHECK_MESSAGE(lines(list.out).size() > 2, kind);
  }
  // An installation is a folder with bin and share in it, which may be moved.
  const Ended moved = terminal.shell(
      "mkdir -p a/bin a/share/marea/models && cp $MAREA a/bin/ && echo 'about: mine' > a/share/marea/models/own.yaml && "
      "mv a b && b/bin/marea list models --format csv");
  CHECK(moved.out == "name,about\nown,mine\n");
  const Ended also = terminal.marea({"list", "models"}, {"MAREA_PATH=" + terminal.file("b/share/marea")});
  CHECK(contains(also.out, "own "));
  CHECK(contains(also.out, "llama-3.1-8b"));
}

TEST_CASE("output that nobody reads ends quietly, output that cannot be written is status 4") {
  const Terminal terminal;
  const Ended head = terminal.shell(
      "for i in $(seq 20); do $MAREA list metrics --format json; done | head -1; $MAREA list metrics | true; echo ${PIPESTATUS[0]}");
  CHECK(head.err.empty());
  CHECK(lines(head.out).back() == "0");
  const Ended full = terminal.shell("$MAREA list metrics > /dev/full");
  CHECK(full.status == 4);
  CHECK(contains(full.err, "cannot write standard output"));
}
