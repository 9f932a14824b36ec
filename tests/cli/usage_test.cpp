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
    for (const std::string& line : lines(help.out)) CHECK_MESSAGE(!line.ends_with(' '), line);
    CHECK(terminal.marea({"help", command}).out == help.out);
  }
}

TEST_CASE("help breaks lines between words only") {
  const std::string help = Terminal().marea({"run", "--help"}).out;
  for (const char* word : {"serving.sequences=64", "cluster.node.device.memory.capacity=1.5x"}) CHECK_MESSAGE(contains(help, word), help);
}

TEST_CASE("metrics are listed under the names that are stored") {
  const Terminal terminal;
  const std::string names = terminal.marea({"list", "metrics", "--format", "csv"}).out;
  for (const char* name : {"\nttft_p95,", "\nttft_mean,", "\nsession_goodput,", "\nkv_demand_series,"})
    CHECK_MESSAGE(contains(names, name), name);
  CHECK_FALSE(contains(names, "\nttft,"));
  const std::string table = terminal.marea({"list", "metrics"}).out;
  CHECK(contains(table, "\nttft_* "));
  CHECK(contains(table, "mean std p50 p90 p95 p99"));
}

TEST_CASE("a table is wrapped on a terminal and keeps each row on one line in a pipe") {
  const Terminal terminal;
  const Ended piped = terminal.marea({"list", "schedulers"});
  CHECK(widest(piped.out) > 60);
  const Ended shown = terminal.shell("script -qec 'stty cols 60; $MAREA list schedulers' /dev/null | tr -d '\\r'");
  REQUIRE_MESSAGE(lines(shown.out).size() > lines(piped.out).size(), shown.out);
  CHECK(widest(shown.out) <= 60);
}

TEST_CASE("a marea that finds none of its folders says where it looked") {
  const Terminal terminal;
  CHECK(terminal.shell("mkdir bin && cp $MAREA bin/marea").status == 0);
  const Ended list = terminal.shell("bin/marea list models");
  CHECK(list.status == 4);
  CHECK_MESSAGE(contains(list.err, "there are no models: looked in " + terminal.file("share/marea/models") + " (not there)"), list.err);
  CHECK(contains(list.err, "MAREA_PATH"));
  const Ended run = terminal.shell("bin/marea run first-run");
  CHECK(run.status == 2);
  CHECK_MESSAGE(contains(run.err, "looked in " + terminal.file("share/marea/scenarios")), run.err);
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
  fails({"export", "last", "--table", "x"}, "must be one of metric, ledger, series, sketch, note, account, session, request, step\n");
  fails({"check", "first-run", "--set", "service.model=lama-3.1-8b"}, "did you mean 'llama-3.1-8b'?; see: marea list models");
  fails({"check", "first-run", "--set", "service.model=nothing-like-it"}, "see: marea list models");
  fails({"check", "first-run", "--set", "cluster.node=h100-box"}, "see: marea list nodes");
  fails({"check", "first-run", "--set", "cluster.node.device=b2000"}, "see: marea list devices");
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
