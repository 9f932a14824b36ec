// A folder of its own for each test, and runs to put into a store.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/base/error.h"
#include "sim/run/store.h"

namespace marea::test {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "marea-test-XXXXXX").string();
    check(::mkdtemp(name.data()) != nullptr, "no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline run::RunRecord record(std::uint64_t seed = 1, run::Detail detail = run::Detail::summary,
                             const std::string& fingerprint = std::string(32, 'a')) {
  run::RunRecord run;
  run.name = "pond";
  run.status = "done";
  run.started = 1'700'000'000'000'000'000;
  run.wall = 1'500'000;
  run.version = "1.2.3";
  run.commit = "abc";
  run.seed = seed;
  run.settings = {"serving.sequences=8", "kv.blocks=\"12\",\n"};
  run.scenario = "name: pond\n";
  run.fingerprint = fingerprint;
  run.load_mode = "lanes";
  run.machine = "here";
  run.detail = detail;
  run.key = run::run_key(run);
  return run;
}

inline metrics::Results results(const std::string& fingerprint = std::string(32, 'a')) {
  metrics::Results results;
  results.fingerprint = fingerprint;
  results.load_mode = "lanes";
  results.window_start = Time(Duration(3));
  results.window_end = Time(Duration(11));
  results.metrics = {
      {"ttft_p50", "", 0.25, 0.2, 0.3, 40}, {"ttft_p50", "class=ducks", 0.125, {}, {}, 20}, {"session_goodput", "", 1.0 / 3, {}, {}, 7}};
  results.ledgers = {{"time", "ns", 30, {{"class=ducks", "decode", 10}, {"class=ducks", "tool", 20}}},
                     {"memory", "MiB s", 8, {{"pool=main", "free/nobody", 8}}}};
  results.series = {{"kv_demand_series", "", {{Time(Duration(5)), 0.5}, {Time(Duration(9)), 1.5}}}};
  results.sketches = {{"ttft", "", {{3, 4}, {300, 1}}, 5, 12.5, 1, 7}};
  results.notes = {{"waits missing, taken as 0", 61}};
  return results;
}

inline run::MemoryReport memory() { return {{{"main", "weights", 1'000'000'000, "datasheet"}, {"main", "KV pool", 500, "assumed"}}}; }

inline run::MetricText text(std::string_view name) { return {"s", "definition of " + std::string(name)}; }

// `count` calls of one class, with every kind of value a row can have.
inline void add_calls(run::RowSpool& rows, std::int64_t count, std::int64_t first = 0) {
  cluster::CallEnded call;
  call.traffic = ClassId(0);
  call.replica = ReplicaId(1);
  call.after = cluster::After::tool;
  for (std::int64_t i = first; i < first + count; ++i) {
    call.session_index = static_cast<std::uint64_t>(i / 3);
    call.index = static_cast<std::uint32_t>(i % 3);
    call.prompt = 1024 + i % 7;
    call.output = 256;
    call.generated = 256;
    call.hit = i % 1024;
    call.known = 900;
    call.issued = Time(Duration(1'000'000'007 * i));
    call.queued = call.issued + Duration(16'000'000);
    call.scheduled = call.queued + Duration(1'234'567);
    call.first_token = call.scheduled + Duration(45'678'901);
    call.last_token = call.first_token + Duration(2'345'678'901);
    call.at = call.last_token;
    call.booked[static_cast<std::size_t>(cluster::Cause::front_end)] = call.queued - call.issued;
    call.booked[static_cast<std::size_t>(cluster::Cause::queue_boundary)] = call.scheduled - call.queued;
    call.booked[static_cast<std::size_t>(cluster::Cause::prefill_new)] = call.first_token - call.scheduled;
    call.booked[static_cast<std::size_t>(cluster::Cause::decode)] = call.last_token - call.first_token;
    rows.call(call);
  }
}

}  // namespace marea::test
