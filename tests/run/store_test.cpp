// The store keeps what it is given, compares what it has, and refuses what it should not touch.
#include "sim/run/store.h"

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <iterator>

#include "sim/run/schema.h"
#include "tests/run/support.h"

using namespace marea;
using namespace marea::run;
using namespace marea::test;

namespace {

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::int64_t number(const std::string& file, std::string_view sql) {
  Database database(file, Database::Access::read, std::chrono::seconds(1));
  return database.integer(sql);
}

// The message of the StorageError that opening for writing gives.
std::string refusal(const std::string& file) {
  try {
    Store store(file, Store::Mode::write, std::chrono::milliseconds(50));
  } catch (const StorageError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a run comes back as it was put") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  const RunRecord run = record(UINT64_MAX);
  {
    Store store(file, Store::Mode::write);
    const auto stored = store.put(run, results(), memory(), nullptr, text);
    CHECK(stored.id == 1);
    CHECK(stored.how == Store::Put::added);
  }
  Store store(file, Store::Mode::read);
  const RunRecord back = store.find("last");
  CHECK(back.id == 1);
  CHECK(back.key == run.key);
  CHECK(back.seed == UINT64_MAX);
  CHECK(back.scenario == run.scenario);
  CHECK(back.started == run.started);
  CHECK(back.settings == run.settings);
  const metrics::Results got = store.results(1);
  const metrics::Results put = results();
  REQUIRE(got.metrics.size() == put.metrics.size());
  for (const metrics::MetricValue& value : put.metrics) {
    bool found = false;
    for (const metrics::MetricValue& other : got.metrics)
      if (other.name == value.name && other.label == value.label) {
        found = true;
        CHECK(other.value == value.value);
        CHECK(other.low == value.low);
        CHECK(other.samples == value.samples);
      }
    CHECK(found);
  }
  REQUIRE(got.ledgers.size() == 2);
  CHECK(got.ledgers[0].name == "time");
  CHECK(got.ledgers[0].total == 30);
  CHECK(got.ledgers[0].rows.size() == 2);
  REQUIRE(got.series.size() == 1);
  CHECK(got.series[0].points[1].value == 1.5);
  REQUIRE(got.sketches.size() == 1);
  CHECK(got.sketches[0].buckets == put.sketches[0].buckets);
  CHECK(got.notes[0].count == 61);
  CHECK(got.window_start == put.window_start);
  CHECK(got.window_end == put.window_end);
  CHECK(store.memory(1).rows[1].bytes == 500);
}

TEST_CASE("every part of a run's identity changes its key, and nothing else does") {
  const RunRecord run = record();
  const auto differs = [&](auto change) {
    RunRecord other = run;
    change(other);
    return run_key(other) != run.key;
  };
  CHECK(differs([](RunRecord& r) { r.scenario += "# "; }));
  CHECK(differs([](RunRecord& r) { r.version = "1.2.4"; }));
  CHECK(differs([](RunRecord& r) { r.seed = 2; }));
  CHECK(differs([](RunRecord& r) { r.replication = 1; }));
  CHECK(differs([](RunRecord& r) { r.calibration = "h100-a"; }));
  CHECK_FALSE(differs([](RunRecord& r) { r.fingerprint = "other"; }));
  CHECK_FALSE(differs([](RunRecord& r) { r.wall = 9; }));
  CHECK_FALSE(differs([](RunRecord& r) { r.detail = Detail::steps; }));
}

TEST_CASE("the same run again keeps the row, another fingerprint is an internal error") {
  const Folder folder;
  Store store(folder.file("s.sqlite"), Store::Mode::write);
  store.put(record(), results(), memory(), nullptr, text);
  const auto again = store.put(record(), results(), memory(), nullptr, text);
  CHECK(again.how == Store::Put::same);
  CHECK(again.id == 1);
  CHECK_THROWS_AS(store.put(record(1, Detail::summary, std::string(32, 'b')), results(), memory(), nullptr, text), InternalError);
  CHECK(store.runs().size() == 1);
  CHECK(store.put(record(2), results(), memory(), nullptr, text).id == 2);
}

TEST_CASE("more detail replaces a run under its id, less detail keeps the rows") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  Store store(file, Store::Mode::write);
  store.put(record(), results(), memory(), nullptr, text);
  store.put(record(2), results(), memory(), nullptr, text);
  RowSpool rows(folder.path(), Detail::requests, {"ducks"}, {"main/0", "main/1"});
  add_calls(rows, 10);
  RunRecord later = record(1, Detail::requests);
  later.started += 1'000'000'000;
  later.settings.clear();  // as a resolved scenario has none
  const auto stored = store.put(later, results(), memory(), &rows, text);
  CHECK(stored.how == Store::Put::replaced);
  CHECK(store.find("1").started == record().started);
  CHECK(store.find("1").settings == record().settings);
  CHECK(stored.id == 1);
  CHECK(number(file, "SELECT count(*) FROM request WHERE run = 1") == 10);
  CHECK(number(file, "SELECT count(*) FROM metric WHERE run = 1") == 3);
  CHECK(store.put(record(), results(), memory(), nullptr, text).how == Store::Put::same);
  CHECK(number(file, "SELECT count(*) FROM request WHERE run = 1") == 10);
}

TEST_CASE("rows of sessions, calls and steps arrive with every column where it belongs") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  RowSpool rows(folder.path(), Detail::steps, {"ducks", "geese"}, {"main/0", "main/1"});
  cluster::SessionEnded session;
  session.traffic = ClassId(1);
  session.index = 77;
  session.end = cluster::SessionEnd::abandoned;
  session.started = Time(Duration(5));
  session.at = Time(Duration(1005));
  session.critical_path = Duration(600);
  session.calls_planned = 5;
  session.booked[static_cast<std::size_t>(cluster::Cause::front_end)] = Duration(1);
  session.booked[static_cast<std::size_t>(cluster::Cause::agents)] = Duration(999);
  rows.session(session);
  cluster::CallEnded refused;  // never reached a replica
  refused.traffic = ClassId(0);
  refused.end = cluster::CallEnd::refused;
  refused.prompt = 9;
  refused.lost = {1, 2, 3};
  refused.issued = Time(Duration(4));
  refused.queued = refused.scheduled = refused.first_token = refused.last_token = kNever;
  refused.at = Time(Duration(6));
  refused.booked[static_cast<std::size_t>(cluster::Cause::preempted)] = Duration(2);
  rows.call(refused);
  const std::array<Time, 2> ends{Time(Duration(20)), Time(Duration(30))};
  cluster::StepsRun steps;
  steps.replica = ReplicaId(1);
  steps.start = Time(Duration(10));
  steps.ends = ends;
  steps.sums.tokens = 12;
  steps.sums.decode_sequences = 4;
  rows.step(steps);
  {
    Store store(file, Store::Mode::write);
    store.put(record(1, Detail::steps), results(), memory(), &rows, text);
  }
  CHECK(number(file,
               "SELECT count(*) FROM session WHERE class = 'geese' AND session = 77 AND end = 'abandoned' AND calls = 5 AND started = 5 "
               "AND ended = 1005 AND critical_path = 600 AND front_end = 1 AND agents = 999 AND decode = 0") == 1);
  CHECK(number(
            file,
            "SELECT count(*) FROM request WHERE class = 'ducks' AND end = 'refused' AND after = 'start' AND replica IS NULL AND prompt = 9 "
            "AND lost_eviction = 1 AND lost_other_replica = 2 AND lost_preemption = 3 AND issued = 4 AND queued IS NULL AND last_token IS "
            "NULL "
            "AND ended = 6 AND preempted = 2") == 1);
  CHECK(number(file,
               "SELECT count(*) FROM step WHERE replica = 'main/1' AND started = 10 AND ended = 30 AND steps = 2 AND tokens = 12 AND "
               "decodes = 4") == 1);
  CHECK(number(file, "SELECT waiting_for_the_engine * 1000000000 + agents * 1000000000 FROM session_time") == 1000);
}

TEST_CASE("a spool larger than its buffer gives back every row in order") {
  const Folder folder;
  RowSpool rows(folder.path(), Detail::requests, {"ducks"}, {"main/0", "main/1"});
  constexpr std::int64_t kCalls = 20000;
  add_calls(rows, kCalls);
  CHECK(std::filesystem::is_empty(folder.path()));
  rows.rewind();
  RowSpool::Row row{};
  std::array<std::int64_t, RowSpool::kMostColumns> columns{};
  std::int64_t seen = 0;
  bool right = true;
  for (; rows.next(row, columns); ++seen)
    right = right && row == RowSpool::Row::call && columns[1] == seen / 3 && columns[3] == seen % 3 && columns[18] == 1'000'000'007 * seen;
  CHECK(seen == kCalls);
  CHECK(right);
}

TEST_CASE("deleting a run takes all its rows with it") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  Store store(file, Store::Mode::write);
  RowSpool rows(folder.path(), Detail::requests, {"ducks"}, {"main/0", "main/1"});
  add_calls(rows, 5);
  store.put(record(1, Detail::requests), results(), memory(), &rows, text);
  Database database(file, Database::Access::write, std::chrono::seconds(1));
  database.execute("PRAGMA foreign_keys = ON; DELETE FROM run");
  for (const std::string& table : Store::tables()) CHECK_MESSAGE(database.integer("SELECT count(*) FROM " + table) == 0, table);
}

TEST_CASE("runs are found by id, key, fingerprint, name and last; a slip names the nearest") {
  const Folder folder;
  Store store(folder.file("s.sqlite"), Store::Mode::write);
  CHECK_THROWS_WITH_AS(store.find("last"), doctest::Contains("holds no runs yet"), ConfigError);
  store.put(record(1), results(), memory(), nullptr, text);
  store.put(record(2, Detail::summary, std::string(32, 'c')), results(), memory(), nullptr, text);
  CHECK(store.find("1").id == 1);
  CHECK(store.find("pond").id == 2);
  CHECK(store.find("last").id == 2);
  CHECK(store.find("cccc").id == 2);
  CHECK(store.find(record(1).key.substr(0, 10)).id == 1);
  CHECK_THROWS_WITH_AS(store.find("pnod"), doctest::Contains("did you mean \"pond\"?"), ConfigError);
  store.put(record(3, Detail::summary, std::string(32, 'c')), results(), memory(), nullptr, text);
  CHECK_THROWS_WITH_AS(store.find("cccc"), doctest::Contains("2 runs"), ConfigError);
}

TEST_CASE("files that are not stores are refused and left as they are") {
  const Folder folder;
  const std::string text_file = folder.file("notes.txt");
  std::ofstream(text_file)
      << "just some notes, long enough to be read as a header of a database if anybody tried to do so, which nobody should\n";
  const std::string foreign = folder.file("foreign.sqlite");
  {
    Database database(foreign, Database::Access::write, std::chrono::seconds(1));
    database.execute("PRAGMA journal_mode = WAL; CREATE TABLE run (id); INSERT INTO run VALUES (1)");
  }
  for (const std::string& file : {text_file, foreign}) {
    const std::string before = bytes_of(file);
    CHECK(contains(refusal(file), "is not a store of marea and is left as it is"));
    CHECK(bytes_of(file) == before);
    CHECK_THROWS_AS(Store(file, Store::Mode::read), StorageError);
  }
  CHECK(contains(refusal(folder.path()), "is a folder"));
  CHECK(contains(refusal(folder.file("no/such/folder/s.sqlite")), "its folder cannot be found"));
  CHECK_THROWS_WITH_AS(Store(folder.file("missing.sqlite"), Store::Mode::read), doctest::Contains("there is no store here"), StorageError);
  CHECK_FALSE(std::filesystem::exists(folder.file("missing.sqlite")));
}

TEST_CASE("a file made for a run that was not stored goes away, a file that was there stays") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  CHECK(refusal(file) == "accepted");
  CHECK(std::filesystem::is_empty(folder.path()));
  {
    Store maker(file, Store::Mode::write);
    CHECK(std::filesystem::exists(file));
    Store other(file, Store::Mode::write);
    other.put(record(), results(), memory(), nullptr, text);
  }
  CHECK(number(file, "SELECT count(*) FROM run") == 1);
  const std::string second = folder.file("t.sqlite");
  std::optional<Store> user;
  {
    Store maker(second, Store::Mode::write);
    user.emplace(second, Store::Mode::write);
  }
  CHECK(std::filesystem::exists(second));  // it is in use
  user->put(record(), results(), memory(), nullptr, text);
  CHECK(number(second, "SELECT count(*) FROM run") == 1);
}

TEST_CASE("a run is not put into a store that was removed meanwhile") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  Store store(file, Store::Mode::write);
  store.put(record(1), results(), memory(), nullptr, text);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
  CHECK_THROWS_WITH_AS(store.put(record(2), results(), memory(), nullptr, text), doctest::Contains("was removed or replaced"),
                       StorageError);
}

TEST_CASE("an empty file becomes a store") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  std::ofstream{file};
  CHECK(refusal(file) == "accepted");
  CHECK(number(file, "PRAGMA user_version") == static_cast<std::int64_t>(schema_steps().size()));
}

TEST_CASE("an older schema is brought up to date with its runs, a newer one is refused") {
  const Folder folder;
  const auto last = static_cast<std::int64_t>(schema_steps().size());
  for (std::int64_t version = 1; version < last; ++version) {
    const std::string file = folder.file("old" + std::to_string(version) + ".sqlite");
    {
      Database database(file, Database::Access::write, std::chrono::seconds(1));
      for (std::int64_t step = 0; step < version; ++step) database.execute(schema_steps()[static_cast<std::size_t>(step)]);
      database.execute("PRAGMA application_id = " + std::to_string(kApplicationId) + "; PRAGMA user_version = " + std::to_string(version));
      database.execute(
          "INSERT INTO run VALUES (7, 'k', 'old', 'done', 'summary', 1, 2, 'v', 'c', 3, 0, '', '', 'f', 'lanes', '', '', 'm', 'name: "
          "old', 0, 9" +
          std::string(version > 2 ? ", '[]')" : ")"));
    }
    CHECK_THROWS_WITH_AS(Store(file, Store::Mode::read), doctest::Contains("older marea"), StorageError);
    CHECK(refusal(file) == "accepted");
    Store store(file, Store::Mode::read);
    CHECK(store.find("last").name == "old");
    CHECK(number(file, "SELECT count(*) FROM runs") == 1);
  }
  const std::string newer = folder.file("new.sqlite");
  Store(newer, Store::Mode::write).put(record(), results(), memory(), nullptr, text);
  {
    Database database(newer, Database::Access::write, std::chrono::seconds(1));
    database.execute("PRAGMA user_version = 99");
  }
  CHECK(contains(refusal(newer), "was written by a newer marea (schema 99"));
}
