// marea-bench: runs each benchmark scenario in a process of its own and prints what it cost, beside the floors below which no
// event-driven simulator that stores its rows can go. CPU seconds, one thread, reading of traces included.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/event_queue.h"
#include "sim/base/random.h"
#include "sim/base/tree.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"
#include "sim/run/spool.h"
#include "sim/run/store.h"
#include "tools/shipped.h"
#include "tools/words.h"

namespace marea::cli {

namespace {

struct Case {
  const char* scenario;
  run::Detail detail;
  bool skip_ahead;
  const char* words;
  double goal;          // CPU seconds; 0: none
  bool against_sqlite;  // the goal is 3 x the time that SQLite needs for the rows
};
constexpr Case kCases[] = {
    {"million", run::Detail::summary, true, "million requests", 2.5, false},
    {"azure-hour", run::Detail::summary, true, "Azure hour", 0.2, false},
    {"million", run::Detail::requests, true, "million, rows stored", 0, true},
    {"mooncake-hour", run::Detail::summary, true, "Mooncake hour", 0.3, false},
    {"weka-lanes", run::Detail::summary, true, "WEKA lanes", 1.5, false},
    {"long-answers", run::Detail::summary, true, "long answers, skipping", 0, false},
    {"long-answers", run::Detail::summary, false, "long answers, stepping", 0, false},
};

// What a child tells its parent.
struct Measured {
  run::Work work;
  double requests = 0;
  double refused = 0;
  double demand = 0;
  double resident = 0;  // MB at the peak
  double cpu = 0;       // seconds of the process, by the parent
  bool done = false;
  bool skipped = false;
  char fingerprint[33] = {};
  char error[400] = {};
};

double cpu_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double value(const metrics::Results& results, std::string_view name) {
  for (const metrics::MetricValue& metric : results.metrics)
    if (metric.name == name && metric.label.empty()) return metric.value;
  return 0;
}

std::string temporary_file() {
  return (std::filesystem::temp_directory_path() / fmt::format("marea-bench-{}.sqlite", ::getpid())).string();
}

void remove_store(const std::string& file) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
}

// The trace that a benchmark scenario names and that cannot be found; empty: none.
std::string missing_trace(const std::filesystem::path& file, const run::SearchPath& path) {
  const Tree scenario = read_yaml(file.string());
  const Tree* traffic = scenario.find("traffic");
  if (traffic == nullptr) return {};
  for (const Tree& item : traffic->items) {
    const Tree* trace = item.find("trace");
    const Tree* name = trace == nullptr ? nullptr : trace->find("file");
    if (name != nullptr && !path.find_file(name->text, file.parent_path())) return name->text;
  }
  return {};
}

void work_on(const Case& one, Measured& measured) {
  const run::SearchPath path = search_path();
  const auto file = path.find(run::Kind::scenario, std::string("bench/") + one.scenario, ".");
  check(file.has_value(), "a shipped benchmark is missing");
  if (const std::string trace = missing_trace(*file, path); !trace.empty()) {
    measured.skipped = true;
    std::snprintf(measured.error, sizeof measured.error, "its trace %s is not in MAREA_PATH", trace.c_str());
    return;
  }
  const run::Scenario scenario = run::Scenario::load({file->string(), {}, std::nullopt}, path);
  const std::string store_file = temporary_file();
  std::optional<run::RowSpool> rows;
  run::RunOptions options;
  options.detail = one.detail;
  options.skip_ahead = one.skip_ahead;
  if (one.detail != run::Detail::summary)
    options.rows = &rows.emplace(std::filesystem::temp_directory_path().string(), one.detail, scenario.classes(), scenario.replicas());
  const run::RunOutput output = run::simulate(scenario, options);
  if (rows) {
    run::RunRecord record;
    record.name = scenario.name();
    record.status = "done";
    record.scenario = scenario.resolved();
    record.fingerprint = output.results.fingerprint;
    record.detail = one.detail;
    run::Store(store_file, run::Store::Mode::write).put(record, output.results, output.memory, &*rows, metric_text);
    remove_store(store_file);
  }
  measured.work = output.work;
  measured.requests = value(output.results, "calls_started");
  measured.refused = value(output.results, "calls_refused");
  measured.demand = value(output.results, "kv_demand");
  std::snprintf(measured.fingerprint, sizeof measured.fingerprint, "%s", output.results.fingerprint.c_str());
  measured.done = true;
}

// Runs a case in a child, so that its CPU time and its peak of memory are its own.
Measured measure(const Case& one) {
  int pipe_ends[2];
  check(::pipe(pipe_ends) == 0, "no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  check(child >= 0, "no process");
  if (child == 0) {
    Measured measured;
    try {
      work_on(one, measured);
    } catch (const std::exception& error) {
      std::snprintf(measured.error, sizeof measured.error, "%s", error.what());
    }
    const ssize_t written = ::write(pipe_ends[1], &measured, sizeof measured);
    ::_exit(written == sizeof measured ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  Measured measured;
  const ssize_t got = ::read(pipe_ends[0], &measured, sizeof measured);
  ::close(pipe_ends[0]);
  rusage usage{};
  ::wait4(child, nullptr, 0, &usage);
  if (got != sizeof measured) std::snprintf(measured.error, sizeof measured.error, "the process ended early");
  measured.resident = static_cast<double>(usage.ru_maxrss) / 1000;
  measured.cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  return measured;
}

// The least of three times, in ns for each of `count` things.
template <class Work>
double floor_of(std::int64_t count, Work work) {
  double least = 1e300;
  for (int i = 0; i < 3; ++i) {
    const double before = cpu_now();
    work();
    least = std::min(least, cpu_now() - before);
  }
  return least * 1e9 / static_cast<double>(count);
}

double event_floor() {
  constexpr std::int64_t kEvents = 2'000'000;
  constexpr int kHeld = 256;  // four a replica of the million: what its queue holds
  std::uint64_t sum = 0;
  const double time = floor_of(kEvents, [&] {
    EventQueue<> queue;
    std::uint64_t mix = 1;
    for (int i = 0; i < kHeld; ++i) queue.push(Time(Duration(i)), 0, {});
    for (std::int64_t i = 0; i < kEvents; ++i) {
      const auto event = queue.pop();
      mix = mix * 6364136223846793005U + 1442695040888963407U;
      queue.push(event.time + Duration(static_cast<std::int64_t>(mix >> 40)), 0, {});
      sum += event.payload.first;
    }
  });
  check(sum == 0, "the queue changed what it holds");
  return time;
}

double draw_floor() {
  constexpr std::int64_t kDraws = 4'000'000;
  double sum = 0;
  const double time = floor_of(kDraws, [&] {
    RandomStream stream(1, "bench");
    for (std::int64_t i = 0; i < kDraws; ++i) sum += stream.uniform();
  });
  check(sum > 0, "draws are positive");
  return time;
}

// A row as SQLite alone would store it: the same table, one prepared statement, one transaction, the values at hand.
double insert_floor() {
  constexpr std::int64_t kRows = 1'000'000;
  const std::string file = temporary_file();
  std::int64_t id = 0;
  { id = run::Store(file, run::Store::Mode::write).put({.name = "floor", .status = "done"}, {}, {}, nullptr, metric_text).id; }
  const double before = cpu_now();
  {
    run::Database database(file, run::Database::Access::write, std::chrono::seconds(5));
    run::Transaction transaction(database);
    std::string sql = "INSERT INTO request VALUES (?";
    for (int i = 1; i < 34; ++i) sql += ", ?";
    run::Statement insert(database, sql + ")");
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::int64_t at = 892'857 * row;  // 1,120 a second
      insert.bind(0, id);
      insert.bind(1, std::string_view("requests"));
      insert.bind(2, row);
      for (const int zero : {3, 4, 11, 12, 13, 14, 15, 16, 17, 26, 27, 28, 31, 33}) insert.bind(zero, std::int64_t{0});
      insert.bind(5, std::string_view("completed"));
      insert.bind(6, std::string_view("start"));
      insert.bind(7, std::string_view("main/12"));
      insert.bind(8, std::int64_t{1024});
      insert.bind(9, std::int64_t{256});
      insert.bind(10, std::int64_t{256});
      for (int i = 0; i < 7; ++i) insert.bind(18 + i, at + i * 100'000'000);
      insert.bind(25, std::int64_t{16'000'000});
      insert.bind(29, std::int64_t{3'000'000} + row % 4096);
      insert.bind(30, std::int64_t{30'000'000} + row % 65536);
      insert.bind(32, std::int64_t{2'500'000'000} + row % 1048576);
      insert.run();
    }
    transaction.commit();
  }
  const double time = cpu_now() - before;
  remove_store(file);
  return time * 1e9 / static_cast<double>(kRows);
}

void report(const Case& one, const Measured& measured, double insert) {
  if (!measured.done) {
    fmt::print("{:<24}{}: {}\n", one.words, measured.skipped ? "skipped" : "FAILED", measured.error);
    return;
  }
  const auto steps = static_cast<double>(measured.work.steps);
  const double goal = one.against_sqlite ? 3 * insert * 1e-9 * measured.requests : one.goal;
  fmt::print("{:<24}{:>10}{:>13}{:>8.1f}{:>8.3f}{:>8.0f}{:>8.1f}{:>7.0f}  {}\n", one.words, count(measured.requests),
             count(measured.work.steps), 100 * (1 - static_cast<double>(measured.work.changed_steps) / steps), measured.cpu,
             measured.cpu * 1e9 / measured.requests, measured.cpu * 1e9 / steps, measured.resident,
             goal > 0 ? fmt::format("<= {:.3g} s: {}", goal, measured.cpu <= goal ? "met" : "NOT met") : "");
  if (measured.refused > 0) fmt::print("    {} calls refused\n", count(measured.refused));
  if (measured.demand > 0)
    fmt::print("    KV demand {:.2f}, {} events, fingerprint {}\n", measured.demand, count(measured.work.events), measured.fingerprint);
}

// Status 1 when a case failed. One whose trace is not there is skipped and said to be; a goal that is not met is for the reader to judge.
int bench(const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    if (std::none_of(std::begin(kCases), std::end(kCases), [&](const Case& one) { return name == one.scenario; }))
      throw ConfigError({}, {}, fmt::format("there is no benchmark {}; see scenarios/bench", name));
  }
  const double insert = insert_floor();
  fmt::print("floors    event push and pop {:.0f} ns   random draw {:.1f} ns   SQLite row insert {:.0f} ns\n\n", event_floor(),
             draw_floor(), insert);
  fmt::print("{:<24}{:>10}{:>13}{:>8}{:>8}{:>8}{:>8}{:>7}  {}\n", "case", "requests", "steps", "skip %", "CPU s", "ns/req", "ns/step", "MB",
             "goal");
  bool failed = false;
  int skipped = 0;
  for (const Case& one : kCases) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), one.scenario) == wanted.end()) continue;
    const Measured measured = measure(one);
    failed = failed || (!measured.done && !measured.skipped);
    skipped += measured.skipped ? 1 : 0;
    report(one, measured, insert);
    std::fflush(stdout);
  }
  if (skipped > 0) fmt::print("{} skipped for want of their traces\n", plural(skipped, "case", "cases"));
  return failed ? 1 : 0;
}

}  // namespace

}  // namespace marea::cli

int main(int argc, char** argv) {
  try {
    return marea::cli::bench({argv + 1, argv + argc});
  } catch (const marea::ConfigError& error) {
    fmt::print(stderr, "marea-bench: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "marea-bench: {}\n", error.what());
    return 1;
  }
}
