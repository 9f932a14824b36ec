// SQLite as this room uses it: a connection and prepared statements that clean up after themselves and turn every error into a
// StorageError that says what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace marea::run {

class Database {
 public:
  enum class Access { read, read_immutable, write };

  // Opens `file` (which `write` creates when it is missing). Throws StorageError. `patience`: how long to wait for another process's lock;
  // `waiting` is called once when that takes more than two seconds.
  Database(const std::string& file, Access access, Duration patience, std::function<void()> waiting = {});
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;

  const std::string& file() const { return file_; }
  // Runs any number of statements and drops their rows.
  void execute(std::string_view sql);
  std::int64_t integer(std::string_view sql);  // first column of the first row
  std::int64_t last_row() const;
  bool locked() const;  // the last error was another process's lock
  [[noreturn]] void fail(std::string_view doing) const;

  // Removes a database with all that SQLite keeps beside it, unless another connection has it open or `in_use` says that it holds
  // something. Never throws: a file that cannot be removed stays.
  static void remove(const std::string& file, const std::function<bool(Database&)>& in_use) noexcept;

 private:
  friend class Statement;
  struct Wait;
  std::string file_;
  std::unique_ptr<Wait> wait_;  // where SQLite finds it while it waits for a lock
  sqlite3* handle_ = nullptr;
};

// A prepared statement; parameters and columns count from 0.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view value);  // must stay valid until the next step() or run()
  void bind_null(int index);

  bool step();  // true: a row is there
  void run();   // for statements without rows; ready to be bound again
  void reset();

  int columns() const;
  std::string column_name(int index) const;
  bool is_null(int index) const;
  bool is_integer(int index) const;
  bool is_text(int index) const;
  std::int64_t integer(int index) const;
  double number(int index) const;
  std::string text(int index) const;

 private:
  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
};

// All or nothing: rolled back unless commit() was reached. Takes the write lock at once, so two writers never meet half-way.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database* database_;
  bool open_ = true;
};

}  // namespace marea::run
