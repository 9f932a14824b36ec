// The schedules and transfers that vLLM's own scheduler produced with its offloading connector, reproduced on every field, content keys in
// the place of block ids. The copy engine is the recordings' own: a transfer takes a fixed number of steps, first in, first out.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sim/base/input.h"
#include "sim/kv/pool.h"
#include "tests/serving/subject.h"
#include "tests/support/shared.h"

namespace marea::test {
namespace {

using Json = nlohmann::json;
using Keys = std::vector<ContentKey>;

struct Recording {
  Workload workload;
  std::int64_t store_steps = 0, load_steps = 0, lower_store_steps = 0, lower_load_steps = 0;
  std::vector<Json> lines;
  Json end;
};

Recording read_recording(const std::filesystem::path& file) {
  Recording recording;
  LineReader reader(file.string());
  std::string_view text;
  REQUIRE(reader.next(text));
  const Json header = Json::parse(text);
  const bool async = header.at("scheduler").get<std::string>().find("AsyncScheduler") != std::string::npos;
  recording.workload = read_workload(header, async);
  const Json& config = header.at("config");
  serving::OffloadParams& offload = recording.workload.params.offload;
  offload.blocks = config.at("num_cpu_blocks");
  offload.factor = config.at("block_size_factor");
  offload.replacement = config.at("eviction_policy") == "arc" ? kv::Replacement::arc : kv::Replacement::lru;
  offload.prompt_only = config.at("offload_prompt_only");
  offload.store_threshold = config.at("store_threshold");
  recording.store_steps = config.at("store_steps");
  recording.load_steps = config.at("load_steps");
  if (config.contains("tier_store_steps")) {
    offload.lower = {std::int64_t{1} << 40};  // unbounded
    recording.lower_store_steps = config.at("tier_store_steps");
    recording.lower_load_steps = config.at("tier_load_steps");
  }
  while (reader.next(text)) {
    Json json = Json::parse(text);
    (json.contains("end") ? recording.end : recording.lines.emplace_back()) = std::move(json);
  }
  return recording;
}

// Names of contents.
class Names {
 public:
  explicit Names(const Workload& workload) : workload_(workload), prefixes_(workload.requests.size()) {}

  ContentKey prefix(std::int64_t request, std::int64_t tokens) const {
    const kv::Content& content = workload_.requests[static_cast<std::size_t>(request)].content;
    kv::Content chain;
    for (const kv::Piece& piece : content) {
      const std::int64_t part = std::min(tokens, piece.length);
      kv::append(chain, {piece.span, piece.first, part});
      tokens -= part;
    }
    return content_key(chain);
  }
  std::int64_t offload_block() const { return workload_.params.block * workload_.params.offload.factor; }
  // Runs [request, block, count] of the recordings.
  Keys runs(const Json& json) const {
    Keys keys;
    for (const Json& run : json) {
      const std::int64_t count = run.at(2), step = count > 0 ? 1 : -1;
      for (std::int64_t i = 0; i < std::abs(count); ++i)
        keys.push_back(prefix(run.at(0), (run.at(1).get<std::int64_t>() + i * step + 1) * offload_block()));
    }
    return keys;
  }
  Keys ranges(std::int64_t request, const std::vector<kv::KeyRange>& ranges) const {
    Keys keys;
    for (const kv::KeyRange& range : ranges)
      for (std::int64_t key = range.from; key < range.to; ++key) keys.push_back(prefix(request, (key + 1) * offload_block()));
    return keys;
  }
  static Keys of(const std::vector<kv::Content>& contents) {
    Keys keys;
    for (const kv::Content& content : contents) keys.push_back(content_key(content));
    return keys;
  }

 private:
  const Workload& workload_;
  std::vector<Keys> prefixes_;
};

// What block ids of a recording hold, followed through its lines.
class RecordedBlocks {
 public:
  RecordedBlocks(const Recording& recording, const Names& names) : recording_(recording), names_(names) {}

  Keys evicted(const Json& line) const {
    Keys keys;
    if (line.contains("ev"))
      for (const std::int64_t id : line.at("ev")) keys.push_back(keys_.contains(id) ? keys_.at(id) : 0);
    return keys;
  }
  void follow(const Json& line) {
    if (line.contains("ld"))
      for (const Json& load : line.at("ld")) {
        std::vector<std::int64_t>& table = tables_[load.at(1)];
        table = load.at(4).get<std::vector<std::int64_t>>();
        name(load.at(1), table, load.at(2).get<std::int64_t>() + load.at(3).get<std::int64_t>());
      }
    if (!line.contains("sch")) return;
    for (const Json& entry : line.at("sch")) {
      std::vector<std::int64_t>& table = tables_[entry.at(0)];
      const auto ids = entry.at(6).get<std::vector<std::int64_t>>();
      if (entry.at(1) == "C")
        table.insert(table.end(), ids.begin(), ids.end());
      else
        table = ids;
      name(entry.at(0), table, entry.at(2).get<std::int64_t>() + entry.at(3).get<std::int64_t>());
    }
  }
  Keys of(const std::vector<std::int64_t>& ids, const std::set<std::int64_t>& cached) const {
    Keys keys;
    for (const std::int64_t id : ids) keys.push_back(cached.contains(id) ? keys_.at(id) : 0);
    return keys;
  }

 private:
  void name(std::int64_t request, const std::vector<std::int64_t>& table, std::int64_t tokens) {
    const std::int64_t block = recording_.workload.params.block;
    for (std::int64_t i = 0; (i + 1) * block <= tokens; ++i)
      keys_[table[static_cast<std::size_t>(i)]] = names_.prefix(request, (i + 1) * block);
  }

  const Recording& recording_;
  const Names& names_;
  std::map<std::int64_t, std::vector<std::int64_t>> tables_;
  std::map<std::int64_t, ContentKey> keys_;
};

// One direction of the recordings' copy engine.
class Direction {
 public:
  explicit Direction(std::int64_t steps) : steps_(steps) {}
  void submit(serving::TransferNumber number, std::int64_t step) { queue_.push_back({number, step + steps_}); }
  bool holds(serving::TransferNumber number) const {
    return std::any_of(queue_.begin(), queue_.end(), [number](const Entry& entry) { return entry.number == number; });
  }
  void flush(serving::TransferNumber number, std::int64_t step) {
    if (!holds(number)) return;
    for (Entry& entry : queue_) {
      entry.due = std::min(entry.due, step);
      if (entry.number == number) break;
    }
  }
  void collect(std::int64_t step, std::vector<serving::TransferNumber>& out) {
    for (; !queue_.empty() && queue_.front().due <= step; queue_.pop_front()) out.push_back(queue_.front().number);
  }

 private:
  struct Entry {
    serving::TransferNumber number;
    std::int64_t due;
  };
  std::deque<Entry> queue_;
  std::int64_t steps_;
};

// Plays a recording's workload and compares line by line; keeps the first difference.
class Player {
 public:
  explicit Player(const Recording& recording)
      : recording_(recording),
        workload_(recording.workload),
        names_(workload_),
        blocks_(recording, names_),
        engine_(workload_.params, owners_),
        stores_(recording.store_steps),
        loads_(recording.load_steps),
        lower_stores_(recording.lower_store_steps),
        lower_loads_(recording.lower_load_steps),
        due_(workload_.requests.size(), INT64_MAX),
        here_(workload_.requests.size(), false) {
    std::vector<std::size_t> order(workload_.requests.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return workload_.requests[a].id < workload_.requests[b].id; });
    rank_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
    for (std::size_t i = 0; i < due_.size(); ++i) {
      owner_of_.push_back(owners_.open(kStart));
      if (workload_.requests[i].arrive) due_[i] = *workload_.requests[i].arrive;
    }
    engine_.pool().watch_evictions(&evicted_);
    engine_.host_pool()->watch_evictions(&host_evicted_);
  }

  std::string play() {
    const int depth = workload_.params.async ? 2 : 1;
    std::size_t line = 0;
    for (std::int64_t step = 0; line < recording_.lines.size() && found_.empty(); ++step) {
      if (!has_work() && engine_.in_flight() == 0) {
        std::int64_t next = INT64_MAX;
        for (std::size_t i = 0; i < due_.size(); ++i)
          if (!here_[i]) next = std::min(next, due_[i]);
        if (next == INT64_MAX) break;
        step = std::max(step, next);
      }
      const Json& expected = recording_.lines[line++];
      where_ = "line " + std::to_string(line) + " step " + std::to_string(step);
      one(expected, step, depth);
    }
    if (found_.empty() && line < recording_.lines.size()) found_ = "ends after " + std::to_string(line) + " lines";
    if (found_.empty() && !recording_.end.at("stalled") && has_work()) found_ = "does not end";
    if (found_.empty()) end();
    return found_;
  }
  std::int64_t loads() const { return load_count_; }

 private:
  template <class T>
  void same(const char* field, const T& expected, const T& actual) {
    if (found_.empty() && expected != actual)
      found_ = where_ + ": " + field + " should be " + Json(expected).dump() + ", is " + Json(actual).dump();
  }
  static Json field(const Json& line, const char* key) { return line.contains(key) ? line.at(key) : Json::array(); }
  static std::int64_t number_of(CallSlot call) { return static_cast<std::int64_t>(call.value); }

  bool has_work() const {
    const serving::VllmV1::Load load = engine_.load();
    return load.running + load.waiting > 0 || engine_.transfers() > 0 || announce_ || (workload_.params.async && flush_);
  }

  void arrive(std::int64_t step, const Json& expected) {
    std::vector<std::int64_t> added;
    for (std::size_t i = 0; i < due_.size(); ++i) {
      if (here_[i] || due_[i] > step) continue;
      here_[i] = true;
      added.push_back(static_cast<std::int64_t>(i));
      const WorkloadRequest& what = workload_.requests[i];
      serving::Request r;
      r.call = CallSlot{static_cast<std::uint32_t>(i)};
      r.content = what.content;
      r.prompt = what.prompt;
      r.output = what.output;
      r.owner = owner_of_[i];
      r.key = {what.priority, std::bit_cast<std::int64_t>(static_cast<double>(step) + what.fraction), rank_[i]};
      engine_.add(r);
    }
    same("added", field(expected, "add"), Json(added));
  }

  void one(const Json& expected, std::int64_t step, int depth) {
    arrive(step, expected);
    bool empty = true;
    const bool schedules = has_work();
    same("schedules", expected.contains("sch"), schedules);
    ended_below(step);
    if (schedules) empty = schedule(expected, step);
    const bool wait = engine_.in_flight() < depth && schedules && (!empty || has_work());
    const bool completes = engine_.in_flight() > 0 && !wait;
    if (workload_.params.async) same("completes", expected.contains("upd"), completes);
    if (!completes) return;
    const std::vector<serving::TransferNumber> done = std::move(reports_.front());
    reports_.pop_front();
    std::vector<std::int64_t> finished;
    const serving::Outcome& outcome = engine_.complete(now_, done);
    same("cascades", field_of(expected, "casc"), lower(outcome.cascades));
    for (const serving::LowerTransfer& cascade : outcome.cascades) lower_stores_.submit(cascade.number, step);
    for (const CallSlot call : outcome.finished) {
      finished.push_back(number_of(call));
      for (std::size_t i = 0; i < due_.size(); ++i)
        if (!workload_.requests[i].arrive && workload_.requests[i].after == number_of(call)) due_[i] = step + workload_.requests[i].delay;
    }
    announce_ = !finished.empty();
    same("done", field(expected, "done"), Json(done));
    same("finished", field(expected, "fin"), Json(finished));
    if (expected.contains("free2")) same("free after", expected.at("free2").get<std::int64_t>(), engine_.load().free_blocks);
    if (expected.contains("cpu2") || expected.contains("cpu"))
      same("host pool after", expected.contains("cpu2") ? expected.at("cpu2") : expected.at("cpu"), host());
  }

  // Lower transfers as [number, request, keys], recorded and played.
  Json field_of(const Json& line, const char* key) const {
    Json transfers = Json::array();
    for (const Json& transfer : field(line, key)) transfers.push_back({transfer[0], transfer[1], names_.runs(transfer[2])});
    return transfers;
  }
  Json lower(const std::vector<serving::LowerTransfer>& transfers) const {
    Json all = Json::array();
    for (const serving::LowerTransfer& one : transfers)
      all.push_back({one.number, number_of(one.call), names_.ranges(number_of(one.call), one.keys)});
    return all;
  }
  void ended_below(std::int64_t step) {
    std::vector<serving::TransferNumber> ended;
    lower_stores_.collect(step, ended);
    lower_loads_.collect(step, ended);
    for (const serving::TransferNumber number : ended) engine_.ended_below(number);
  }

  Json host() const {
    const kv::OffloadPool::Blocks blocks = engine_.host_pool()->blocks();
    return {blocks.free, blocks.idle, blocks.busy};
  }

  // Returns whether nothing was scheduled.
  bool schedule(const Json& expected, std::int64_t step) {
    announce_ = false;
    now_ += Duration{1'000'000};
    std::vector<serving::VllmV1::Running> before, after;
    engine_.running(before);
    const serving::Batch& batch = engine_.schedule(now_);
    engine_.running(after);
    std::map<std::uint32_t, serving::VllmV1::Running> known;
    for (const serving::VllmV1::Running& r : before) known[r.call.value] = r;
    std::map<std::uint32_t, serving::Admission> admitted;
    for (const serving::Admission& a : batch.admitted) admitted[a.call.value] = a;
    Json scheduled = Json::array();
    for (const serving::VllmV1::Running& r : after) {
      const auto admission = admitted.find(r.call.value);
      if (admission != admitted.end()) {
        const serving::Admission& a = admission->second;
        const std::string kind = std::string(a.resumed ? "R" : "N") + (a.loaded > 0 ? "L" : "");
        const std::int64_t held = a.loaded > 0 ? held_[r.call.value] : a.hit / workload_.params.block;
        scheduled.push_back({number_of(r.call), kind, a.hit, r.computed - a.hit, r.blocks - held, a.loaded > 0 ? 0 : a.hit});
        continue;
      }
      const serving::VllmV1::Running& was = known.at(r.call.value);
      if (r.computed > was.computed)
        scheduled.push_back({number_of(r.call), "C", was.computed, r.computed - was.computed, r.blocks - was.blocks, 0});
    }
    Json recorded = Json::array();
    for (const Json& entry : expected.at("sch")) recorded.push_back({entry[0], entry[1], entry[2], entry[3], entry[4], entry[5]});
    same("scheduled", recorded, scheduled);
    decisions(expected, batch);
    same("evicted", blocks_.evicted(expected), Names::of(evicted_));
    evicted_.clear();
    blocks_.follow(expected);
    const serving::VllmV1::Load load = engine_.load();
    same("free", expected.at("free").get<std::int64_t>(), load.free_blocks);
    same("running", expected.at("run").get<std::int64_t>(), load.running);
    same("waiting", expected.at("wait").get<std::int64_t>(), load.waiting);
    same("waiting for loads", static_cast<std::int64_t>(field(expected, "rem").size()), load.loading);
    same("host pool", expected.at("cpu"), host());
    for (const serving::LowerTransfer& promotion : batch.offload->promotions) lower_loads_.submit(promotion.number, step);
    if (expected.contains("tier")) {
      same("blocks in the tier", expected.at("tier").get<std::int64_t>(), engine_.blocks_below(0));
      same("noticed", field(expected, "tdone"), Json(batch.offload->noticed));
      same("promotions", field_of(expected, "prom"), lower(batch.offload->promotions));
      same("no room", expected.value("full", std::int64_t{0}), batch.offload->no_room);
    }
    work(*batch.offload);
    if (expected.contains("rep")) same("reported", expected.at("rep"), Json(reports_.back()));
    return scheduled.empty();
  }

  void decisions(const Json& expected, const serving::Batch& batch) {
    const serving::OffloadDecisions& offload = *batch.offload;
    Json preempted = Json::array(), lookups = Json::array(), loads = Json::array(), stores = Json::array(), refused = Json::array();
    for (const CallSlot call : batch.preempted) preempted.push_back(number_of(call));
    for (const serving::ExternalLookup& look : offload.lookups) {
      Json entry{number_of(look.call), look.local, look.tokens};
      static const std::map<serving::ExternalLookup::Answer, std::string> words{{serving::ExternalLookup::Answer::own, "own"},
                                                                                {serving::ExternalLookup::Answer::storing, "storing"},
                                                                                {serving::ExternalLookup::Answer::loading, "loading"}};
      if (look.answer != serving::ExternalLookup::Answer::found) {
        entry[2] = nullptr;
        entry.push_back(words.at(look.answer));
      }
      lookups.push_back(entry);
    }
    const std::int64_t block = workload_.params.block;
    for (const serving::Transfer& load : offload.loads) {
      loads.push_back({load.number, number_of(load.call), load.blocks, names_.ranges(number_of(load.call), load.keys)});
      const auto look = std::find_if(offload.lookups.begin(), offload.lookups.end(),
                                     [&](const serving::ExternalLookup& one) { return one.call == load.call; });
      held_[load.call.value] = (look->local + look->tokens + block - 1) / block;
      ++load_count_;
    }
    for (const serving::Transfer& store : offload.stores)
      stores.push_back({store.number, number_of(store.call), store.blocks, names_.ranges(number_of(store.call), store.keys)});
    for (const serving::OffloadDecisions::Refusal& refusal : offload.refused)
      refused.push_back({number_of(refusal.call), names_.ranges(number_of(refusal.call), {refusal.keys})});
    same("preempted", field(expected, "pre"), preempted);
    same("lookups", field(expected, "lk"), lookups);
    Json recorded = Json::array();
    for (const Json& load : field(expected, "ld")) recorded.push_back({load[0], load[1], load[5].size(), names_.runs(load[6])});
    same("loads", recorded, loads);
    recorded = Json::array();
    for (const Json& store : field(expected, "st")) recorded.push_back({store[0], store[1], store[2], names_.runs(store[4])});
    same("stores", recorded, stores);
    recorded = Json::array();
    for (const Json& refusal : field(expected, "nost")) recorded.push_back({refusal[0], names_.runs(refusal[1])});
    same("refused", recorded, refused);
    same("flush", field(expected, "flush"), Json(offload.flush));
    same("evicted below", expected.contains("cev") ? names_.runs(expected.at("cev")) : Keys{}, Names::of(host_evicted_));
    host_evicted_.clear();
    if (expected.contains("arc")) {
      const kv::OffloadPool::Lists lists = engine_.host_pool()->lists();
      same("arc", expected.at("arc"),
           Json({lists.t1.size(), lists.t2.size(), lists.b1.size(), lists.b2.size(), std::round(lists.target * 1e6) / 1e6}));  // as written
    }
  }

  // The worker's part of a step.
  void work(const serving::OffloadDecisions& decisions) {
    for (const serving::TransferNumber number : planned_) stores_.submit(number, worked_);
    planned_.clear();
    for (const serving::TransferNumber number : decisions.flush) {
      stores_.flush(number, worked_);
      loads_.flush(number, worked_);
    }
    for (const serving::Transfer& load : decisions.loads) loads_.submit(load.number, worked_);
    for (const serving::Transfer& store : decisions.stores) planned_.push_back(store.number);
    stores_.collect(worked_, reports_.emplace_back());
    loads_.collect(worked_, reports_.back());
    ++worked_;
  }

  void end() {
    where_ = "end";
    const std::vector<std::int64_t> cached = recording_.end.at("cached");
    const std::set<std::int64_t> keyed(cached.begin(), cached.end());
    same("free queue", blocks_.of(recording_.end.at("free_queue"), keyed), Names::of(engine_.pool().free_contents()));
    Keys expected = blocks_.of(cached, keyed), actual = Names::of(engine_.pool().cached_contents());
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    same("cached", expected, actual);
    const Json& order = recording_.end.at("cpu_order");
    const kv::OffloadPool::Lists lists = engine_.host_pool()->lists();
    if (order.contains("evictable")) same("host order", names_.runs(order.at("evictable")), Names::of(lists.idle));
    if (order.contains("t1")) {
      same("t1", names_.runs(order.at("t1")), Names::of(lists.t1));
      same("t2", names_.runs(order.at("t2")), Names::of(lists.t2));
      same("b1", names_.runs(order.at("b1")), Names::of(lists.b1));
      same("b2", names_.runs(order.at("b2")), Names::of(lists.b2));
    }
  }

  const Recording& recording_;
  const Workload& workload_;
  Names names_;
  RecordedBlocks blocks_;
  kv::Owners owners_;
  std::vector<OwnerId> owner_of_;
  serving::VllmV1 engine_;
  Direction stores_, loads_, lower_stores_, lower_loads_;
  std::vector<std::int64_t> due_;
  std::vector<bool> here_;
  std::vector<std::uint64_t> rank_;
  std::vector<kv::Content> evicted_, host_evicted_;
  std::map<std::uint32_t, std::int64_t> held_;
  std::vector<serving::TransferNumber> planned_;
  std::deque<std::vector<serving::TransferNumber>> reports_;
  std::int64_t worked_ = 0, load_count_ = 0;
  bool announce_ = false, flush_ = false;
  Time now_ = kStart;
  std::string where_, found_;
};

}  // namespace

TEST_CASE("every recorded schedule with offloading is reproduced on every field") {
  const auto root = shared("data/vllm-offload-schedules");
  if (!root) return;
  for (const char* folder : {"sync", "async", "tier"}) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(*root / folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::int64_t right = 0, loads = 0;
    std::size_t lines = 0;
    for (const std::filesystem::path& file : files) {
      const Recording recording = read_recording(file);
      Player player(recording);
      const std::string found = player.play();
      CHECK_MESSAGE(found.empty(), file.filename().string(), ": ", found);
      right += found.empty();
      lines += recording.lines.size();
      loads += player.loads();
    }
    CHECK(!files.empty());
    CHECK(loads > 0);
    std::printf("%s: %lld of %zu logs reproduced, %zu lines, %lld loads\n", folder, static_cast<long long>(right), files.size(), lines,
                static_cast<long long>(loads));
  }
}

}  // namespace marea::test
