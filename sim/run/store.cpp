// Opening a store and putting runs into it. Reading them back is in store_read.cpp.
#include "sim/run/store.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/base/error.h"
#include "sim/metrics/fingerprint.h"
#include "sim/run/schema.h"

namespace marea::run {

namespace {

constexpr std::string_view kAfter[] = {"start", "tool", "person", "agents", "call"};

// What the first bytes of a file say it is. Asked before SQLite opens it, because SQLite may tidy up a foreign database by opening it.
enum class Found { nothing, store, foreign };
Found look_at(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return Found::nothing;
  if (std::filesystem::is_directory(status)) throw StorageError(file + ": is a folder; name a file with --db");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw StorageError(fmt::format("{}: cannot be read: {}; name another file with --db", file, std::strerror(errno)));
  std::array<char, 100> header{};
  stream.read(header.data(), header.size());
  if (stream.gcount() == 0) return Found::nothing;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (static_cast<std::size_t>(stream.gcount()) < header.size() || std::string_view(header.data(), kMagic.size()) != kMagic)
    return Found::foreign;
  std::int64_t application = 0;
  for (int byte = 68; byte < 72; ++byte)
    application = application * 256 + static_cast<unsigned char>(header[static_cast<std::size_t>(byte)]);
  return application == kApplicationId ? Found::store : Found::foreign;
}

// Says why a store cannot be written, where the file system knows already.
void require_writable(const std::string& file) {
  constexpr std::string_view kAdvice = "name another file with --db, or store nothing with --db :memory:";
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const auto denied = [](const std::string& path, int mode) { return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) != 0; };
  if (denied(folder, F_OK)) throw StorageError(fmt::format("{}: its folder cannot be found: {}; {}", file, std::strerror(errno), kAdvice));
  if (std::filesystem::exists(file) && denied(file, W_OK))
    throw StorageError(fmt::format("{}: is read-only and cannot be written: {}; {}", file, std::strerror(errno), kAdvice));
  if (denied(folder, W_OK | X_OK))
    throw StorageError(fmt::format("{}: is in a read-only folder and cannot be written: {}; {}", file, std::strerror(errno), kAdvice));
}

Database open_to_read(const std::string& file, Duration patience, std::function<void()> waiting) {
  constexpr std::string_view kAnything = "SELECT count(*) FROM sqlite_master";
  Database database(file, Database::Access::read, patience, std::move(waiting));
  try {
    database.integer(kAnything);
    return database;
  } catch (const StorageError&) {
    // In a folder that may not be written, or on a full disk, SQLite cannot share a write-ahead log; without anything in the log the file
    // can be read as it lies.
    std::error_code none;
    const std::string log = file + "-wal";
    if (database.locked() || (std::filesystem::exists(log, none) && std::filesystem::file_size(log, none) > 0)) throw;
  }
  Database as_it_lies(file, Database::Access::read_immutable, patience);
  as_it_lies.integer(kAnything);
  return as_it_lies;
}

Database open_checked(const std::string& file, Store::Mode mode, Duration patience, std::function<void()> waiting) {
  const Found found = look_at(file);
  if (found == Found::foreign) throw StorageError(file + ": is not a store of marea and is left as it is; name another file with --db");
  if (mode == Store::Mode::write) {
    require_writable(file);
    return Database(file, Database::Access::write, patience, std::move(waiting));
  }
  if (found == Found::nothing)
    throw StorageError(file + ": there is no store here; \"marea run\" makes one, or name another file with --db");
  return open_to_read(file, patience, std::move(waiting));
}

// Brings the schema up to date. Another process may do the same at the same time, so the version is read again under the write lock.
void migrate(Database& database) {
  const auto& steps = schema_steps();
  const auto last = static_cast<std::int64_t>(steps.size());
  if (database.integer("PRAGMA user_version") < last) {
    Transaction transaction(database);
    const std::int64_t version = database.integer("PRAGMA user_version");
    for (std::int64_t next = version; next < last; ++next) database.execute(steps[static_cast<std::size_t>(next)]);
    if (version < last) database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, last));
    transaction.commit();
  }
}

// Turns the write-ahead log on. SQLite does not always wait for others that use the file while it changes to that.
void use_log(Database& database, Duration patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    try {
      database.execute("PRAGMA journal_mode = WAL");
      return;
    } catch (const StorageError&) {
      if (!database.locked() || std::chrono::steady_clock::now() >= until) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void bind_optional(Statement& statement, int index, const std::optional<double>& value) {
  value ? statement.bind(index, *value) : statement.bind_null(index);
}

void bind_time(Statement& statement, int index, std::int64_t value) {
  value == RowSpool::kNone ? statement.bind_null(index) : statement.bind(index, value);
}

std::string insert_into(std::string_view table, int columns) {
  std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
  for (int i = 1; i < columns; ++i) sql += ", ?";
  return sql + ")";
}

// Under the id of the record, or the next free one when that is 0.
std::int64_t insert_run(Database& database, const RunRecord& run, const metrics::Results& results) {
  Statement insert(database, insert_into("run", 22));
  run.id == 0 ? insert.bind_null(0) : insert.bind(0, run.id);
  run.key.empty() ? insert.bind_null(1) : insert.bind(1, std::string_view(run.key));
  const std::string_view texts[] = {run.name, run.status, name(run.detail)};
  for (int i = 0; i < 3; ++i) insert.bind(2 + i, texts[i]);
  insert.bind(5, run.started);
  insert.bind(6, run.wall);
  insert.bind(7, std::string_view(run.version));
  insert.bind(8, std::string_view(run.commit));
  insert.bind(9, static_cast<std::int64_t>(run.seed));
  insert.bind(10, std::int64_t{run.replication});
  const std::string* more[] = {&run.study,        &run.point,       &run.fingerprint, &run.load_mode,
                               &run.quality_mark, &run.calibration, &run.machine,     &run.scenario};
  for (int i = 0; i < 8; ++i) insert.bind(11 + i, std::string_view(*more[i]));
  insert.bind(19, since_start(results.window_start).count());
  insert.bind(20, since_start(results.window_end).count());
  const std::string settings = nlohmann::json(run.settings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  insert.bind(21, std::string_view(settings));
  insert.run();
  return database.last_row();
}

void insert_results(Database& database, std::int64_t run, const metrics::Results& results,
                    const std::function<MetricText(std::string_view)>& text) {
  Statement metric(database, insert_into("metric", 9));
  metric.bind(0, run);
  for (const metrics::MetricValue& value : results.metrics) {
    const MetricText about = text(value.name);
    metric.bind(1, std::string_view(value.name));
    metric.bind(2, std::string_view(value.label));
    metric.bind(3, std::string_view(about.unit));
    metric.bind(4, value.value);
    bind_optional(metric, 5, value.low);
    bind_optional(metric, 6, value.high);
    metric.bind(7, value.samples);
    metric.bind(8, std::string_view(about.definition));
    metric.run();
  }
  Statement ledger(database, insert_into("ledger", 6));
  ledger.bind(0, run);
  for (const metrics::Ledger& book : results.ledgers) {
    const auto add = [&](std::string_view owner, std::string_view cause, std::int64_t value) {
      ledger.bind(1, std::string_view(book.name));
      ledger.bind(2, std::string_view(book.unit));
      ledger.bind(3, owner);
      ledger.bind(4, cause);
      ledger.bind(5, value);
      ledger.run();
    };
    add("", "total", book.total);
    for (const metrics::LedgerRow& row : book.rows) add(row.owner, row.cause, row.value);
  }
  Statement series(database, insert_into("series", 5));
  series.bind(0, run);
  for (const metrics::Series& line : results.series) {
    series.bind(1, std::string_view(line.name));
    series.bind(2, std::string_view(line.label));
    for (const metrics::SeriesPoint& point : line.points) {
      series.bind(3, point.at.time_since_epoch().count());
      series.bind(4, point.value);
      series.run();
    }
  }
  Statement sketch(database, insert_into("sketch", 8));
  sketch.bind(0, run);
  for (const metrics::SketchData& data : results.sketches) {
    const std::string buckets = nlohmann::json(data.buckets).dump();
    sketch.bind(1, std::string_view(data.name));
    sketch.bind(2, std::string_view(data.label));
    sketch.bind(3, data.samples);
    sketch.bind(4, data.sum);
    sketch.bind(5, data.least);
    sketch.bind(6, data.most);
    sketch.bind(7, std::string_view(buckets));
    sketch.run();
  }
  Statement note(database, insert_into("note", 4));
  note.bind(0, run);
  for (std::size_t i = 0; i < results.notes.size(); ++i) {
    note.bind(1, static_cast<std::int64_t>(i));
    note.bind(2, std::string_view(results.notes[i].text));
    note.bind(3, results.notes[i].count);
    note.run();
  }
}

void insert_memory(Database& database, std::int64_t run, const MemoryReport& memory) {
  Statement account(database, insert_into("account", 6));
  account.bind(0, run);
  for (std::size_t i = 0; i < memory.rows.size(); ++i) {
    const MemoryRow& row = memory.rows[i];
    account.bind(1, static_cast<std::int64_t>(i));
    account.bind(2, std::string_view(row.pool));
    account.bind(3, std::string_view(row.item));
    account.bind(4, row.bytes);
    account.bind(5, std::string_view(row.status));
    account.run();
  }
}

// Copies the spooled rows. The columns of the spool are those of the tables, in their order, but for `run` before them.
void insert_rows(Database& database, std::int64_t run, RowSpool& rows) {
  Statement session(database, insert_into("session", 23));
  Statement request(database, insert_into("request", 36));
  Statement step(database, insert_into("step", 11));
  for (Statement* statement : {&session, &request, &step}) statement->bind(0, run);
  RowSpool::Row row{};
  std::array<std::int64_t, RowSpool::kMostColumns> columns;
  for (rows.rewind(); rows.next(row, columns);) {
    switch (row) {
      case RowSpool::Row::session:
        for (int i = 1; i < 22; ++i) session.bind(i + 1, columns[static_cast<std::size_t>(i)]);
        session.bind(1, std::string_view(rows.class_name(columns[0])));
        session.bind(3, cluster::name(static_cast<cluster::SessionEnd>(columns[2])));
        session.run();
        break;
      case RowSpool::Row::call:
        for (int i = 1; i < 35; ++i) bind_time(request, i + 1, columns[static_cast<std::size_t>(i)]);
        request.bind(1, std::string_view(rows.class_name(columns[0])));
        request.bind(5, cluster::name(static_cast<cluster::CallEnd>(columns[4])));
        request.bind(6, kAfter[columns[5]]);
        if (columns[6] != RowSpool::kNone) request.bind(7, std::string_view(rows.replica_name(columns[6])));
        request.run();
        break;
      case RowSpool::Row::step:
        for (int i = 1; i < 10; ++i) step.bind(i + 1, columns[static_cast<std::size_t>(i)]);
        step.bind(1, std::string_view(rows.replica_name(columns[0])));
        step.run();
        break;
    }
  }
}

}  // namespace

std::string_view name(Detail detail) {
  switch (detail) {
    case Detail::summary:
      return "summary";
    case Detail::sessions:
      return "sessions";
    case Detail::requests:
      return "requests";
    case Detail::steps:
      return "steps";
  }
  return "";
}

std::string run_key(const RunRecord& run) {
  // Lengths before texts, so that no two different lists of fields give the same bytes.
  std::string text;
  for (const std::string& field :
       {run.scenario, run.version, run.commit, std::to_string(run.seed), std::to_string(run.replication), run.calibration})
    text += fmt::format("{}:{}", field.size(), field);
  return metrics::combined_fingerprint({text});
}

Store::File::File(const std::string& path, Mode mode) : name(path) {
  std::error_code none;
  made = mode == Mode::write && !std::filesystem::exists(path, none);
}

Store::File::~File() {
  if (!made) return;
  Database::remove(name, [](Database& database) {
    return database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'run'") > 0 &&
           database.integer("SELECT count(*) FROM run") > 0;
  });
}

bool Store::File::replaced() const {
  struct stat now {};
  return ::stat(name.c_str(), &now) != 0 || now.st_dev != device || now.st_ino != inode;
}

Store::Store(const std::string& file, Mode mode, Duration patience, std::function<void()> waiting)
    : file_(file, mode), database_(open_checked(file, mode, patience, std::move(waiting))) {
  const auto last = static_cast<std::int64_t>(schema_steps().size());
  const std::int64_t version = database_.integer("PRAGMA user_version");
  if (version > last)
    throw StorageError(
        fmt::format("{}: was written by a newer marea (schema {}, this one knows {}); use that one, or name another file with --db", file,
                    version, last));
  if (mode == Mode::read) {
    if (version < last)
      throw StorageError(
          fmt::format("{}: has schema {} of an older marea; any \"marea run\" into it brings it to schema {}", file, version, last));
    return;
  }
  migrate(database_);
  use_log(database_, patience);
  // put() keeps the references whole by itself; SQLite would look the run up for each row of a million.
  database_.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = OFF");
  // Whether it can be written is asked now, not after an hour of simulating.
  Transaction trial(database_);
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return;  // removed already, as put() will find
  file_.device = status.st_dev;
  file_.inode = status.st_ino;
}

Store::Stored Store::put(const RunRecord& run, const metrics::Results& results, const MemoryReport& memory, RowSpool* rows,
                         const std::function<MetricText(std::string_view)>& text) {
  Transaction transaction(database_);
  if (file_.replaced())
    throw StorageError(
        fmt::format("{}: was removed or replaced while the run went on, and the run is not stored; leave the store in place "
                    "until marea is done, or name another file with --db",
                    file()));
  Stored stored;
  RunRecord row = run;
  row.id = 0;
  if (!run.key.empty()) {
    Statement find(database_, "SELECT id, fingerprint, detail, started, settings FROM run WHERE key = ?");
    find.bind(0, std::string_view(run.key));
    if (find.step()) {
      stored = {find.integer(0), Put::same};
      if (find.text(1) != run.fingerprint)
        throw InternalError(
            fmt::format("run {} of {} had fingerprint {}, the same run now gives {}: the same inputs must give the same result; if the "
                        "program was changed without "
                        "a new version, name another file with --db",
                        stored.id, file(), find.text(1), run.fingerprint));
      const std::string before = find.text(2);
      bool more = true;
      for (int level = static_cast<int>(run.detail); level <= static_cast<int>(Detail::steps); ++level)
        if (name(static_cast<Detail>(level)) == before) more = false;
      if (!more) return stored;
      stored.how = Put::replaced;
      row.id = stored.id;
      row.started = find.integer(3);
      row.settings = settings_of(find.text(4));
    }
  }
  if (stored.how == Put::replaced) {
    for (const std::string& table : tables()) database_.execute(fmt::format("DELETE FROM {} WHERE run = {}", table, stored.id));
    database_.execute(fmt::format("DELETE FROM run WHERE id = {}", stored.id));
  }
  stored.id = insert_run(database_, row, results);
  insert_results(database_, stored.id, results, text);
  insert_memory(database_, stored.id, memory);
  if (rows != nullptr) insert_rows(database_, stored.id, *rows);
  transaction.commit();
  file_.made = false;
  return stored;
}

}  // namespace marea::run
