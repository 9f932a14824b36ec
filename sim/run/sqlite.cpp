// The SQLite calls behind Database and Statement, and what to tell the user for each kind of failure.
#include "sim/run/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "sim/base/error.h"

namespace marea::run {

namespace {

// What a user can do about an SQLite error.
std::string advice(int code, int system_error, Duration patience) {
  if (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG || (code & 0xff) == SQLITE_FULL)
    return "there is no room to write it; free some space or name another file with --db";
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("another process holds its lock for more than {} s; try again when it is done, or name another file with --db",
                         std::chrono::duration_cast<std::chrono::seconds>(patience).count());
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "it or its folder may not be written; name another file with --db, or store nothing with --db :memory:";
    case SQLITE_CANTOPEN:
      return "it cannot be opened (does its folder exist, and may it be written?); name another file with --db";
    case SQLITE_NOTADB:
      return "it is not an SQLite database and is left as it is; name another file with --db";
    case SQLITE_CORRUPT:
      return "it is damaged; save what can be read with \"sqlite3 FILE .recover | sqlite3 NEW\" and name another file with --db";
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE)
        return "the disk refused to write it; free some space or name another file with --db";
      return "the disk refused to read or write it; name another file with --db";
    default:
      return "name another file with --db";
  }
}

}  // namespace

// How a lock is waited for.
struct Database::Wait {
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLong = std::chrono::seconds(2);  // after this somebody may wonder

  Duration patience;
  std::function<void()> waiting;
  Clock::time_point begun{};
  bool told = false;

  // SQLite calls this as long as it gives 1; `times` counts from 0 for each lock.
  static int again(void* self, int times) {
    Wait& wait = *static_cast<Wait*>(self);
    const auto now = Clock::now();
    if (times == 0) wait.begun = now;
    if (now - wait.begun >= wait.patience) return 0;
    if (now - wait.begun >= kLong && !wait.told && wait.waiting) {
      wait.told = true;
      wait.waiting();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(1 + times, 50)));
    return 1;
  }
};

Database::Database(const std::string& file, Access access, Duration patience, std::function<void()> waiting)
    : file_(file), wait_(std::make_unique<Wait>(Wait{patience, std::move(waiting)})) {
  int flags = access == Access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  std::string target = file;
  if (access == Access::read_immutable) {
    flags |= SQLITE_OPEN_URI;
    target = "file:";
    for (const char c : file)
      target += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
    target += "?immutable=1";
  } else if (!file.empty() && file.front() == ':') {
    target = "./" + file;  // a file name, never one of SQLite's own words
  }
  if (sqlite3_open_v2(target.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    try {
      fail("open");
    } catch (...) {
      sqlite3_close_v2(handle_);
      throw;
    }
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_handler(handle_, &Wait::again, wait_.get());
}

Database::~Database() { sqlite3_close_v2(handle_); }

Database::Database(Database&& other) noexcept
    : file_(std::move(other.file_)), wait_(std::move(other.wait_)), handle_(std::exchange(other.handle_, nullptr)) {}

bool Database::locked() const {
  const int code = sqlite3_errcode(handle_) & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

void Database::remove(const std::string& file, const std::function<bool(Database&)>& in_use) noexcept {
  std::error_code ignored;
  try {
    if (!std::filesystem::exists(file)) return;
    Database database(file, Access::write, Duration{});
    // In this mode a database with a write-ahead log is opened by one connection alone, and without shared memory.
    database.execute("PRAGMA locking_mode = EXCLUSIVE");
    // An empty file would be begun now, and a full disk has no room for the journal of that.
    if (std::filesystem::file_size(file) == 0) database.execute("PRAGMA journal_mode = MEMORY");
    database.execute("BEGIN EXCLUSIVE");
    if (in_use(database)) return;
    int keep_log = 1;  // closing would remove a log by its name, which may be that of a new file's log by then
    sqlite3_file_control(database.handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &keep_log);
    for (const char* suffix : {"-wal", "-shm", "-journal", ""}) std::filesystem::remove(file + suffix, ignored);
  } catch (const std::exception&) {
  }
}

void Database::fail(std::string_view doing) const {
  const int code = handle_ != nullptr ? sqlite3_extended_errcode(handle_) : SQLITE_NOMEM;
  const int system_error = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
  const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
  throw StorageError(
      fmt::format("{}: cannot {} the store: {}{}; {}", file_, doing, reason,
                  (code & 0xff) == SQLITE_IOERR && system_error != 0 ? fmt::format(" ({})", std::strerror(system_error)) : "",
                  advice(code, (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_FULL ? system_error : 0, wait_->patience)));
}

void Database::execute(std::string_view sql) {
  if (sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("write");
}

std::int64_t Database::integer(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  if (sqlite3_prepare_v3(database.handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &handle_, nullptr) !=
      SQLITE_OK)
    database.fail("read");
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::bind(int index, std::int64_t value) { sqlite3_bind_int64(handle_, index + 1, value); }
void Statement::bind(int index, double value) { sqlite3_bind_double(handle_, index + 1, value); }
void Statement::bind(int index, std::string_view value) {
  sqlite3_bind_text(handle_, index + 1, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
}
void Statement::bind_null(int index) { sqlite3_bind_null(handle_, index + 1); }

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_->fail(sqlite3_stmt_readonly(handle_) != 0 ? "read" : "write");
}

void Statement::run() {
  step();
  sqlite3_reset(handle_);
}

void Statement::reset() { sqlite3_reset(handle_); }

int Statement::columns() const { return sqlite3_column_count(handle_); }
std::string Statement::column_name(int index) const { return sqlite3_column_name(handle_, index); }
bool Statement::is_null(int index) const { return sqlite3_column_type(handle_, index) == SQLITE_NULL; }
bool Statement::is_integer(int index) const { return sqlite3_column_type(handle_, index) == SQLITE_INTEGER; }
bool Statement::is_text(int index) const { return sqlite3_column_type(handle_, index) == SQLITE_TEXT; }
std::int64_t Statement::integer(int index) const { return sqlite3_column_int64(handle_, index); }
double Statement::number(int index) const { return sqlite3_column_double(handle_, index); }
std::string Statement::text(int index) const {
  const unsigned char* text = sqlite3_column_text(handle_, index);
  return text != nullptr ? std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(handle_, index)))
                         : std::string();
}

Transaction::Transaction(Database& database) : database_(&database) { database.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_->execute("ROLLBACK");
  } catch (const StorageError&) {
    // SQLite has rolled back by itself; the error that brought us here says why.
  }
}

void Transaction::commit() {
  database_->execute("COMMIT");
  open_ = false;
}

}  // namespace marea::run
