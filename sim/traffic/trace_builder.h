// Puts a trace together, session by session, and works out what each call finds computed before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input.h"
#include "sim/traffic/trace.h"

namespace marea::traffic {

class TraceBuilder {
 public:
  // `file` names the trace: ids of two files are different ids.
  TraceBuilder(const std::string& file, const TraceOptions& options);

  // Nothing more is wanted: the limit is reached.
  bool full() const { return options_.limit && trace_.size() >= *options_.limit; }

  // A session has been begun and neither closed nor dropped: a bad row may drop it behind its reader's back.
  bool in_session() const { return open_; }

  // A session with its main thread, thread 0.
  void begin(std::optional<Duration> start);
  // Its steps; each returns its number within the session. Edges run from earlier to later steps.
  std::uint32_t call(std::uint32_t thread, std::int64_t prompt, std::int64_t output, kv::ContentView content,
                     std::optional<Duration> recorded = std::nullopt);
  std::uint32_t wait(StepKind kind, std::uint32_t thread, Duration time, bool between = false);  // tool or human
  std::uint32_t fork(std::uint32_t thread) { return step({StepKind::fork, thread}); }
  std::uint32_t join(std::uint32_t thread) { return step({StepKind::join, thread}); }
  void edge(std::uint32_t from, std::uint32_t to) { trace_.edges.push_back({from, to}); }
  std::uint32_t thread(std::uint32_t parent);
  void model(std::uint32_t thread, std::string_view name);
  // Closes the session. `shareable` as in Session.
  void end(std::int64_t shareable);
  // Forgets the session begun last, if it has not been closed.
  void drop();

  // Spans: of ids global in this trace, of a group prefix, and of something that is the open session's own.
  std::uint64_t ids() const { return trace_span::ids(file_key_); }
  std::uint64_t own(std::uint64_t key) const;

  void note(std::string_view text, std::int64_t count = 1);
  // Throws ConfigError when rows were skipped and no session is left.
  Trace finish();

  // Runs `row` on a line or row; with `skip_bad_rows` a ConfigError drops the open session and is counted.
  template <class Row>
  void guard(const Row& row) {
    if (!options_.skip_bad_rows) {
      row();
      return;
    }
    try {
      row();
    } catch (const ConfigError& error) {
      skip(error);
    }
  }
  // All lines of a file but blank ones.
  template <class Row>
  void each_line(LineReader& lines, const Row& row) {
    std::string_view line;
    while (!full() && lines.next(line)) {
      if (line.find_first_not_of(" \t") != std::string_view::npos) guard([&] { row(line); });
    }
  }
  // All rows of a table. A row that cannot even be split is a bad row too; a file that cannot be read on is an error.
  template <class Row>
  void each_row(CsvReader& table, const Row& row) {
    if (!options_.skip_bad_rows) {
      while (!full() && table.next()) row();
      return;
    }
    while (!full()) {
      const int line = table.mark(0).line;
      try {
        if (!table.next()) break;
      } catch (const ConfigError& error) {
        if (table.mark(0).line == line) throw;
        skip(error);
        continue;
      }
      guard(row);
    }
  }

 private:
  void skip(const ConfigError& error);
  std::uint32_t step(Trace::Step step);
  void find_known();
  [[noreturn]] void fail(std::string_view message) const;

  std::string file_;
  TraceOptions options_;
  std::uint64_t file_key_;
  Trace trace_;
  bool open_ = false;
  std::uint64_t piece_mark_ = 0, call_mark_ = 0;
  Duration waited_{};  // by the open session
  std::int64_t skipped_ = 0;
  std::string first_skipped_;  // what was wrong with it
};

}  // namespace marea::traffic
