// The store when things go wrong around it: killed writers, several writers, locks, full disks, folders that may not be written, damage.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "sim/run/store.h"
#include "tests/run/support.h"

using namespace marea;
using namespace marea::run;
using namespace marea::test;

namespace {

std::int64_t number(const std::string& file, std::string_view sql) {
  Database database(file, Database::Access::write, std::chrono::seconds(10));
  return database.integer(sql);
}

std::string text_of(Database& database, std::string_view sql) {
  Statement statement(database, sql);
  return statement.step() ? statement.text(0) : "";
}

void put_with_calls(const std::string& file, const std::string& folder, std::uint64_t seed, std::int64_t calls) {
  Store store(file, Store::Mode::write);
  RowSpool rows(folder, Detail::requests, {"ducks"}, {"main/0", "main/1"});
  add_calls(rows, calls);
  store.put(record(seed, Detail::requests), results(), memory(), &rows, text);
}

// Runs `work` in a process of its own, which ends without any cleaning up; its status: 0 done, 4 StorageError, else something else.
template <class Work>
pid_t in_child(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 0;
  try {
    work();
  } catch (const StorageError& error) {
    status = std::string_view(error.what()).find("--db") != std::string_view::npos ? 4 : 5;
  } catch (...) {
    status = 6;
  }
  ::_exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Every run in the file has all of its rows, and the file is sound.
void check_whole(const std::string& file, std::int64_t calls) {
  Database database(file, Database::Access::write, std::chrono::seconds(10));
  CHECK(text_of(database, "PRAGMA integrity_check") == "ok");
  CHECK(database.integer("SELECT count(*) FROM run") * calls == database.integer("SELECT count(*) FROM request"));
  CHECK(database.integer("SELECT count(*) FROM run WHERE id NOT IN (SELECT run FROM metric)") == 0);
}

}  // namespace

TEST_CASE("a writer that is killed leaves whole runs only") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  constexpr std::int64_t kCalls = 3000;
  put_with_calls(file, folder.path(), 0, kCalls);
  for (int delay = 1; delay <= 12; ++delay) {
    const pid_t child = in_child([&] {
      for (std::uint64_t seed = 1;; ++seed) put_with_calls(file, folder.path(), static_cast<std::uint64_t>(delay) * 1000 + seed, kCalls);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * delay));
    ::kill(child, SIGKILL);
    CHECK(status_of(child) == 1000 + SIGKILL);
    check_whole(file, kCalls);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    CHECK(entry.path().filename().string().find("s.sqlite") == 0);  // no spool was left behind
}

TEST_CASE("several processes write one file, and make it") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  std::vector<pid_t> children;
  for (std::uint64_t writer = 0; writer < 4; ++writer)
    children.push_back(in_child([&, writer] {
      for (std::uint64_t i = 0; i < 5; ++i) put_with_calls(file, folder.path(), writer * 100 + i, 200);
    }));
  for (const pid_t child : children) CHECK(status_of(child) == 0);
  CHECK(number(file, "SELECT count(*) FROM run") == 20);
  check_whole(file, 200);
}

TEST_CASE("a lock held by somebody else is waited for, then reported") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  { Store store(file, Store::Mode::write); }
  Database other(file, Database::Access::write, std::chrono::seconds(1));
  other.execute("BEGIN IMMEDIATE");
  CHECK_THROWS_WITH_AS(Store(file, Store::Mode::write, std::chrono::milliseconds(60)), doctest::Contains("another process holds its lock"),
                       StorageError);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2300));
    other.execute("ROLLBACK");
  });
  int told = 0;
  CHECK_NOTHROW(Store(file, Store::Mode::write, std::chrono::seconds(20), [&] { ++told; }));
  release.join();
  CHECK(told == 1);
}

TEST_CASE("a disk without room is reported and the file stays whole") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  constexpr std::int64_t kCalls = 5000;
  put_with_calls(file, folder.path(), 1, kCalls);
  const pid_t child = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlim_t most = std::filesystem::file_size(file) + 64 * 1024;
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    put_with_calls(file, folder.path(), 2, 20 * kCalls);
  });
  CHECK(status_of(child) == 4);
  CHECK(number(file, "SELECT count(*) FROM run") == 1);
  check_whole(file, kCalls);
}

TEST_CASE("a file that may not grow is reported while rows are spooled") {
  const pid_t child = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Folder folder;
    RowSpool rows(folder.path(), Detail::requests, {"ducks"}, {"main/0", "main/1"});
    add_calls(rows, 100000);
  });
  CHECK(status_of(child) == 4);
}

TEST_CASE("a folder that may not be written is reported; a store in it can still be read") {
  using std::filesystem::perms;
  const Folder folder;
  const std::string shut = folder.file("shut");
  std::filesystem::create_directory(shut);
  const std::string file = shut + "/s.sqlite";
  put_with_calls(file, folder.path(), 1, 10);
  const perms all_read = perms::owner_read | perms::group_read | perms::others_read;
  const perms all_enter = all_read | perms::owner_exec | perms::group_exec | perms::others_exec;
  std::filesystem::permissions(file, all_read);
  std::filesystem::permissions(shut, all_enter);
  std::filesystem::permissions(folder.path(), all_enter);
  const pid_t child = in_child([&] {
    // Root may write anywhere, so it becomes somebody else for this.
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(0);
    bool refused = false;
    try {
      Store store(file, Store::Mode::write);
    } catch (const StorageError& error) {
      refused = std::string_view(error.what()).find("is read-only and cannot be written") != std::string_view::npos;
    }
    Store store(file, Store::Mode::read);
    ::_exit(refused && store.runs().size() == 1 ? 0 : 7);
  });
  CHECK(status_of(child) == 0);
  std::filesystem::permissions(shut, perms::owner_all);
}

TEST_CASE("a store is read where SQLite cannot share its log") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  put_with_calls(file, folder.path(), 1, 10);
  std::filesystem::create_directory(file + "-shm");  // in the way of its shared memory, as a full disk is
  Store store(file, Store::Mode::read);
  CHECK(store.runs().size() == 1);
}

TEST_CASE("a damaged page is reported with the way to save the rest") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  put_with_calls(file, folder.path(), 1, 2000);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    for (std::int64_t page = 8; page < static_cast<std::int64_t>(std::filesystem::file_size(file)) / 4096; ++page) {
      stream.seekp(page * 4096);
      stream << std::string(512, '\x7f');
    }
  }
  const auto read_all = [&] {
    Store store(file, Store::Mode::read);
    for (const std::string& table : Store::tables())
      store.rows(
          table, 1, [](const auto&) {}, [](const auto&) {});
  };
  CHECK_THROWS_WITH_AS(read_all(), doctest::Contains(".recover"), StorageError);
}
