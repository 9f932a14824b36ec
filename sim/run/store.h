// The store: every run in one SQLite file, whole or not at all. Several processes may write one file. docs/store.md shows the schema.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics/results.h"
#include "sim/run/simulate.h"
#include "sim/run/spool.h"
#include "sim/run/sqlite.h"

namespace marea::run {

// A row of the table `run`: all that is needed to repeat it, and what came out in one line.
struct RunRecord {
  std::int64_t id = 0;
  std::string key;  // run_key() below; empty for an interrupted run, which can be repeated but not compared
  std::string name;
  std::string status;        // "done" or "interrupted"
  std::int64_t started = 0;  // ns since 1970-01-01 UTC
  std::int64_t wall = 0;     // ns
  std::string version;
  std::string commit;
  std::uint64_t seed = 0;
  int replication = 0;
  std::string study;
  std::string point;
  std::vector<std::string> settings;  // path=value, as given with --set; the scenario holds them already
  std::string scenario;               // resolved, as YAML
  std::string fingerprint;
  std::string load_mode;
  std::string quality_mark;
  std::string calibration;
  std::string machine;
  Detail detail = Detail::summary;
};

// What makes two runs the same run: 32 hexadecimal digits of the resolved scenario, version, seed, replication and calibration.
std::string run_key(const RunRecord& run);

std::string_view name(Detail detail);

// What the column `settings` of a run holds; what is no list of texts counts as empty.
std::vector<std::string> settings_of(const std::string& column);

// The names of a metric's columns in the store that the metric itself does not carry.
struct MetricText {
  std::string unit;
  std::string definition;
};

class Store {
 public:
  enum class Mode { read, write };

  // Opens a store. `write` makes the file when it is missing and brings an older schema up to date; both refuse a file that is not
  // a store without touching it, and a store of a newer marea. `patience`: how long to wait for another process's lock; `waiting` is called
  // when that is long enough to wonder. Throws StorageError. A file that was made here and into which nobody put a run goes away again.
  Store(const std::string& file, Mode mode, Duration patience = std::chrono::seconds(30), std::function<void()> waiting = {});

  const std::string& file() const { return database_.file(); }

  enum class Put { added, same, replaced };
  struct Stored {
    std::int64_t id = 0;
    Put how = Put::added;
  };
  // Stores a run with its results and, where there are any, its rows, in one transaction. A run with the same key that is there
  // already is compared: another fingerprint is an InternalError; with no more detail than before the old rows stay, with more they are
  // replaced under the id, start and settings that they had. `text` gives unit and definition of a metric by its name.
  Stored put(const RunRecord& run, const metrics::Results& results, const MemoryReport& memory, RowSpool* rows,
             const std::function<MetricText(std::string_view)>& text);

  std::vector<RunRecord> runs();  // newest last; without the scenario's text
  // A run by id, by the first digits of its key or fingerprint, or by the name of its scenario (its newest run; "last": the newest of
  // all). Throws ConfigError when there is none or several.
  RunRecord find(std::string_view which);
  metrics::Results results(std::int64_t run);
  MemoryReport memory(std::int64_t run);

  // Rows of one of tables() for one run, as text cells; numbers as SQLite prints them. `row` is called with the column names first.
  static const std::vector<std::string>& tables();
  struct Cell {
    enum class Type { null, integer, real, text } type = Type::null;
    std::string text;
  };
  void rows(std::string_view table, std::int64_t run, const std::function<void(const std::vector<std::string>&)>& header,
            const std::function<void(const std::vector<Cell>&)>& row);

 private:
  // The file as this object found it. Stands before the database, so that it ends after the connection is closed.
  struct File {
    File(const std::string& name, Mode mode);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool replaced() const;  // another file or none has its name now
    std::string name;
    bool made = false;  // here, and nothing was put into it yet
    std::uint64_t device = 0, inode = 0;
  };

  File file_;
  Database database_;
};

}  // namespace marea::run
