// A run from the command line to the store and back.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/run/sqlite.h"
#include "tests/cli/support.h"

using namespace marea::test;
using Json = nlohmann::json;

namespace {

const std::string kPond = MAREA_SOURCE_DIR "/tests/cli/pond.yaml";

Json json_of(const Ended& ended) {
  REQUIRE_MESSAGE(ended.status == 0, ended.err);
  return Json::parse(ended.out);
}

std::string fingerprint(const Json& document) { return document.at("run").at("fingerprint"); }

}  // namespace

TEST_CASE("a run is stored, shown and run again with the same result") {
  const Terminal terminal;
  const Ended first = terminal.marea({"run", kPond});
  REQUIRE_MESSAGE(first.status == 0, first.err);
  CHECK(first.err.empty());
  CHECK(first.out.starts_with("pond"));
  CHECK(contains(first.out, "stored as run 1 in marea.sqlite"));
  for (const std::string& line : lines(first.out)) CHECK_MESSAGE(line.size() <= 80, line);
  CHECK(contains(terminal.marea({"run", kPond}).out, "same fingerprint as run 1"));
  const Json shown = json_of(terminal.marea({"show", "last", "--format", "json"}));
  CHECK(contains(first.out, fingerprint(shown)));
  const Ended again = terminal.marea({"rerun", "last"});
  CHECK(again.status == 0);
  CHECK(contains(again.out, "same fingerprint " + fingerprint(shown)));
  CHECK(lines(terminal.marea({"runs", "--format", "csv"}).out).size() == 2);
}

TEST_CASE("json is one document that the store gives back") {
  const Terminal terminal;
  const Json run = json_of(terminal.marea({"run", kPond, "--format", "json", "--seed", "3"}));
  const Json shown = json_of(terminal.marea({"show", "1", "--format", "json"}));
  CHECK(run.at("run") == shown.at("run"));
  CHECK(run.at("metrics").size() == shown.at("metrics").size());
  CHECK(run.at("run").at("seed") == 3);
  for (const Json& ledger : run.at("ledgers")) {
    std::int64_t sum = 0;
    for (const Json& row : ledger.at("rows")) sum += row.at("value").get<std::int64_t>();
    CHECK(sum == ledger.at("total").get<std::int64_t>());
  }
}

TEST_CASE("the example of run --help names a metric that a run stores") {
  const Terminal terminal;
  const std::string help = terminal.marea({"run", "--help"}).out;
  const std::size_t begin = help.find(".name == \"") + 10;
  const std::string name = help.substr(begin, help.find('"', begin) - begin);
  bool stored = false;
  const Json run = json_of(terminal.marea({"run", kPond, "--format", "json"}));
  for (const Json& metric : run.at("metrics")) stored |= metric.at("name") == name;
  CHECK_MESSAGE(stored, name);
}

TEST_CASE("what --set changed stays known: in the page, in the list of runs, after a rerun with more detail") {
  const Terminal terminal;
  const std::string setting = "cluster.node.device.memory.capacity=1.1x";
  const std::string page = terminal.marea({"run", kPond, "--set", setting, "--set", "serving.sequences=8"}).out;
  CHECK(contains(page, "changed       " + setting + ", serving.sequences=8"));
  CHECK(terminal.marea({"run", kPond}).status == 0);
  CHECK(contains(terminal.marea({"runs"}).out, "capacity=1.1x, sequences=8\n"));
  const Json before = json_of(terminal.marea({"show", "1", "--format", "json"}));
  CHECK(before.at("run").at("settings") == Json{setting, "serving.sequences=8"});
  CHECK(contains(terminal.marea({"rerun", "1", "--detail", "requests"}).out, "replaced run 1"));
  const Json after = json_of(terminal.marea({"show", "1", "--format", "json"}));
  CHECK(after.at("run").at("settings") == before.at("run").at("settings"));
  CHECK(after.at("run").at("started_ns") == before.at("run").at("started_ns"));
  CHECK(contains(terminal.marea({"show", "1"}).out, "export 1 --table request"));
  CHECK(contains(terminal.marea({"show", "2"}).out, "rerun 2 --detail requests"));
}

TEST_CASE("a load that still rises at the end of the window is told, a steady one is not") {
  const Terminal terminal;
  const std::string steady = terminal.marea({"run", kPond, "--set", "run.duration=4 h"}).out;
  CHECK_FALSE(contains(steady, "still rising"));
  CHECK(contains(steady, "within its memory"));
  // Sessions that come faster than they can end: each waits half an hour for its first tool.
  const std::string rising = terminal.marea({"run", kPond, "--set", "traffic[ducks].tools.dive.time={fixed: 30 min}"}).out;
  CHECK_MESSAGE(contains(rising, "the load was still rising"), rising);
  CHECK_FALSE(contains(rising, "within its memory"));
}

TEST_CASE("the page speaks of the sessions that were measured and cut, and of no others") {
  const Terminal terminal;
  const std::vector<std::string> cut{"run", kPond, "--set", "run.drain=1 s"};
  const std::string page = terminal.marea(cut).out;
  const Json shown = json_of(terminal.marea({"show", "last", "--format", "json"}));
  double sessions = 0;
  for (const Json& metric : shown.at("metrics"))
    if (metric.at("name") == "sessions_cut" && metric.at("label") == "") sessions = metric.at("value");
  REQUIRE(sessions > 0);
  const std::string words = "measured sessions had not ended";
  CHECK(contains(page, "! " + std::to_string(static_cast<int>(sessions)) + " of the "));
  CHECK(page.find(words) == page.rfind(words));
  CHECK(contains(page, "a longer run.drain"));
}

TEST_CASE("the resolved scenario gives the same fingerprint as the one it came from") {
  const Terminal terminal;
  const Ended check = terminal.marea({"check", kPond, "--set", "serving.sequences=8"});
  REQUIRE_MESSAGE(check.status == 0, check.err);
  CHECK(lines(check.err).back().starts_with("fits: llama-3.1-8b on 1 x h100-sxm; main holds "));
  terminal.write("resolved.yaml", check.out);
  const Json a = json_of(terminal.marea({"run", kPond, "--set", "serving.sequences=8", "--format", "json"}));
  const Json b = json_of(terminal.marea({"run", "resolved.yaml", "--format", "json"}));
  CHECK(fingerprint(a) == fingerprint(b));
  CHECK(a.at("run").at("key") == b.at("run").at("key"));
  CHECK(terminal.marea({"check", "resolved.yaml"}).out == check.out);
}

TEST_CASE("rows are exported as they are stored") {
  const Terminal terminal;
  const Json run = json_of(terminal.marea({"run", kPond, "--format", "json", "--detail", "steps"}));
  double calls = 0;
  for (const Json& metric : run.at("metrics"))
    if (metric.at("name") == "calls_started" && metric.at("label") == "") calls = metric.at("value");
  CHECK(calls > 0);
  const Json requests = json_of(terminal.marea({"export", "last", "--table", "request", "--format", "json"}));
  CHECK(requests.size() >= static_cast<std::size_t>(calls));
  for (const char* table : {"metric", "ledger", "series", "sketch", "account", "session", "request", "step"}) {
    const Ended csv = terminal.marea({"export", "last", "--table", table});
    CHECK(csv.status == 0);
    CHECK_MESSAGE(lines(csv.out).size() > 1, table);
    CHECK(csv.out.starts_with("run,"));
  }
  // Each call's time, cause by cause, is its life.
  for (const Json& request : requests) {
    std::int64_t sum = 0;
    for (const char* cause : {"front_end", "queue_slots", "queue_blocks", "queue_budget", "queue_boundary", "prefill_new", "prefill_lost",
                              "decode", "preempted"})
      sum += request.at(cause).get<std::int64_t>();
    CHECK(sum == request.at("ended").get<std::int64_t>() - request.at("issued").get<std::int64_t>());
  }
  CHECK(contains(terminal.marea({"run", kPond, "--detail", "requests"}).out, "same fingerprint"));
}

TEST_CASE("more detail replaces the stored rows, and export says what is missing") {
  const Terminal terminal;
  CHECK(terminal.marea({"run", kPond}).status == 0);
  const Ended none = terminal.marea({"export", "last", "--table", "session"});
  CHECK(none.status == 0);
  CHECK(contains(none.err, "marea rerun 1 --detail sessions"));
  CHECK(contains(terminal.marea({"rerun", "1", "--detail", "sessions"}).out, "replaced run 1"));
  CHECK(lines(terminal.marea({"export", "last", "--table", "session"}).out).size() > 1);
}

TEST_CASE("replications have intervals and do not depend on the threads") {
  const Terminal terminal;
  const Json one = json_of(terminal.marea({"run", kPond, "--replications", "4", "-j", "1", "--format", "json", "--db", ":memory:"}));
  const Json two = json_of(terminal.marea({"run", kPond, "--replications", "4", "-j", "2", "--format", "json"}));
  CHECK_FALSE(std::filesystem::exists(terminal.file(":memory:")));
  CHECK(one.at("metrics") == two.at("metrics"));
  REQUIRE(two.at("runs").size() == 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(two.at("runs")[i].at("run").at("replication") == i);
    CHECK(two.at("runs")[i].at("run").at("id") == i + 1);
    CHECK(fingerprint(one.at("runs")[i]) == fingerprint(two.at("runs")[i]));
  }
  CHECK(fingerprint(two.at("runs")[0]) != fingerprint(two.at("runs")[1]));
  bool interval = false;
  for (const Json& metric : two.at("metrics"))
    if (metric.at("name") == "session_completion_time_mean" && metric.at("label") == "")
      interval = metric.at("low") < metric.at("value") && metric.at("value") < metric.at("high");
  CHECK(interval);
  const Ended page = terminal.marea({"run", kPond, "--replications", "2"});
  for (const std::string& line : lines(page.out)) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("nothing is stored when nothing shall be") {
  const Terminal terminal;
  const Ended run = terminal.marea({"run", kPond, "--db", ":memory:", "--detail", "requests"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "not stored"));
  CHECK_FALSE(std::filesystem::exists(terminal.file("marea.sqlite")));
}

TEST_CASE("colour is a matter of asking") {
  const Terminal terminal;
  CHECK_FALSE(contains(terminal.marea({"run", kPond}).out, "\x1b["));
  CHECK(contains(terminal.marea({"run", kPond, "--color", "always"}, {"NO_COLOR=1"}).out, "\x1b["));
}

TEST_CASE("wrong scenarios, models that do not fit and foreign stores have their own status") {
  const Terminal terminal;
  const Ended wrong = terminal.marea({"run", kPond, "--set", "serving.sequencs=8"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "sequences"));
  const Ended large = terminal.marea({"run", kPond, "--set", "service.model=llama-3.1-405b"});
  CHECK(large.status == 3);
  CHECK(large.out.empty());
  CHECK(contains(large.err, "weights"));
  CHECK(lines(large.err).back().starts_with("marea: llama-3.1-405b does not fit: "));
  CHECK(terminal.marea({"check", kPond, "--set", "service.model=llama-3.1-405b"}).status == 3);
  terminal.write("notes.txt", "not a database\n");
  const Ended foreign = terminal.marea({"run", kPond, "--db", "notes.txt"});
  CHECK(foreign.status == 4);
  CHECK(contains(foreign.err, "is not a store of marea"));
  CHECK(terminal.marea({"run", kPond, "--db", "no/such/folder/s.sqlite"}).status == 4);
  CHECK(terminal.marea({"runs", "--db", "missing.sqlite"}).status == 4);
  const Ended full = terminal.shell("ulimit -f 16; $MAREA run " + kPond);
  CHECK(full.status == 4);
  CHECK(contains(full.err, "free some space"));
  CHECK_FALSE(std::filesystem::exists(terminal.file("marea.sqlite-journal")));
  CHECK_FALSE(std::filesystem::exists(terminal.file("marea.sqlite")));
  CHECK(terminal.marea({"rerun", "last", "--db", "missing.sqlite"}).status == 4);
  CHECK_FALSE(std::filesystem::exists(terminal.file("missing.sqlite")));
}

TEST_CASE("a result that cannot be stored is printed whole") {
  const Terminal terminal;
  REQUIRE(terminal.marea({"run", kPond}).status == 0);
  // The store is replaced under the run, so that its end finds another one.
  const Ended ended = terminal.shell("$MAREA run " + kPond +
                                     " --set 'run.duration=10000 h' --set 'traffic[ducks].arrivals.rate=2 /s' --quiet & "
                                     "until (( $(awk '{print $14 + $15}' /proc/$!/stat || echo 70) >= 70 )); do sleep 0.02; done; "
                                     "mv marea.sqlite away.sqlite; kill -TERM $!; wait $!; echo status $?");
  CHECK(contains(ended.out, "not stored"));
  CHECK(contains(ended.out, "Latency"));
  CHECK(contains(ended.out, "status 4"));
  CHECK(contains(ended.err, "was removed or replaced"));
}

TEST_CASE("a scenario may come through a pipe") {
  const Terminal terminal;
  const Ended plain = terminal.marea({"check", kPond});
  CHECK(terminal.shell("cat " + kPond + " | $MAREA check /dev/stdin").out == plain.out);
  CHECK(terminal.shell("mkfifo pipe; cat " + kPond + " > pipe & $MAREA check pipe").out == plain.out);
}

TEST_CASE("an interrupted run is kept as such, interrupted replications are kept as far as they are done") {
  const Terminal terminal;
  const std::vector<std::string> longer{"run", kPond, "--set", "run.duration=10000 h", "--set", "traffic[ducks].arrivals.rate=2 /s"};
  const Ended one = terminal.interrupted(longer, SIGINT, 700);
  CHECK(one.status == 130);
  CHECK(contains(one.out, "Interrupted"));
  CHECK(contains(one.out, " of 416"));  // not all of the 10000 h
  CHECK(contains(one.out, "had not ended when the run was interrupted"));
  CHECK_FALSE(contains(one.out, "longer run.drain"));
  CHECK(contains(terminal.marea({"runs"}).out, "pond (interrupted)"));
  std::vector<std::string> several{"run", kPond, "--replications", "100000", "--db", "many.sqlite", "--quiet"};
  const Ended many = terminal.interrupted(several, SIGINT, 1500);
  CHECK(many.status == 130);
  const Ended runs = terminal.marea({"runs", "--db", "many.sqlite", "--format", "csv"});
  CHECK(lines(runs.out).size() > 1);
  CHECK_FALSE(contains(runs.out, "interrupted"));
}

TEST_CASE("an interrupted run without a stated end says so, and its rerun that there is nothing to compare") {
  const Terminal terminal;
  std::ifstream pond(kPond);
  std::string endless{std::istreambuf_iterator<char>(pond), {}};
  const std::string stated = "duration: 5 min, warmup: 1 min, ", rate = "rate: 12 /min}";
  endless.erase(endless.find(stated), stated.size());
  endless.replace(endless.find(rate), rate.size(), "rate: 2 /s}\n    sessions: 1000000");
  terminal.write("endless.yaml", endless);
  const Ended one = terminal.interrupted({"run", "endless.yaml"}, SIGINT, 500);
  REQUIRE_MESSAGE(one.status == 130, one.err);
  CHECK_MESSAGE(contains(one.out, "until it was interrupted"), one.out);
  CHECK_FALSE(contains(one.out, "to the end of the traffic"));
  // A run that ends, made to look interrupted.
  terminal.marea({"run", kPond, "--db", "other.sqlite"});
  marea::run::Database(terminal.file("other.sqlite"), marea::run::Database::Access::write, std::chrono::seconds(1))
      .execute("UPDATE run SET status = 'interrupted', key = NULL");
  const Ended again = terminal.marea({"rerun", "1", "--db", "other.sqlite"});
  CHECK_MESSAGE(contains(again.out, "run 1 of other.sqlite: was interrupted, so there is nothing to compare; this one went to its end"),
                again.out);
  CHECK(contains(again.out, "stored as run 2"));
}
