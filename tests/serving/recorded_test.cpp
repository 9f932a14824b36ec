// The schedules that vLLM's own scheduler produced, reproduced on every field: by the block-by-block reference with physical ids, by the
// engine with content keys in their place, with skipping on and off.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/input.h"
#include "sim/kv/pool.h"
#include "tests/serving/compare.h"
#include "tests/serving/reference_engine.h"
#include "tests/serving/segment_subject.h"
#include "tests/support/shared.h"

namespace marea::test {
namespace {

struct Recording {
  Workload workload;
  std::vector<Line> lines;
  End end;
  std::int64_t steps = 0;
  bool stalled = false;
  std::vector<std::int64_t> unfinished;
};

Line read_line(const nlohmann::json& json) {
  Line line;
  line.step = json.contains("it") ? json.at("it") : json.at("s");
  const auto list = [&json](const char* key) {
    return json.contains(key) ? json.at(key).get<std::vector<std::int64_t>>() : std::vector<std::int64_t>{};
  };
  line.added = list("add");
  line.preempted = list("pre");
  line.evicted_ids = list("ev");
  line.finished = list("fin");
  line.schedules = json.contains("sch");
  if (line.schedules) {
    for (const nlohmann::json& entry : json.at("sch"))
      line.scheduled.push_back({entry.at(0), entry.at(1).get<std::string>().at(0), entry.at(2), entry.at(3), entry.at(4), entry.at(5),
                                entry.at(6).get<std::vector<std::int64_t>>()});
    line.free = json.at("free");
    line.running = json.at("run");
    line.waiting = json.at("wait");
  }
  if (json.contains("blk")) line.blocked = {json.at("blk").at(0).at(0), json.at("blk").at(0).at(1)};
  line.completes = !json.contains("it") || json.contains("upd");
  if (json.contains("free2")) line.free_after = json.at("free2");
  return line;
}

Recording read_recording(const std::filesystem::path& file) {
  Recording recording;
  LineReader reader(file.string());
  std::string_view text;
  REQUIRE(reader.next(text));
  const nlohmann::json header = nlohmann::json::parse(text);
  const bool async = header.at("scheduler").get<std::string>().find("AsyncScheduler") != std::string::npos;
  recording.workload = read_workload(header, async);
  while (reader.next(text)) {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (!json.contains("end")) {
      recording.lines.push_back(read_line(json));
      continue;
    }
    recording.steps = json.at("steps");
    recording.stalled = json.at("stalled");
    recording.unfinished = json.at("unfinished").get<std::vector<std::int64_t>>();
    recording.end.free_ids = json.at("free_queue").get<std::vector<std::int64_t>>();
    recording.end.cached_ids = json.at("cached").get<std::vector<std::int64_t>>();
    std::sort(recording.end.cached_ids.begin(), recording.end.cached_ids.end());
  }
  return recording;
}

// What the end line says beside the state of the pool.
std::string end_difference(const Recording& recording, const Run& run) {
  std::vector<std::int64_t> left(recording.workload.requests.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<std::int64_t>(i);
  std::int64_t schedules = 0;
  for (const Line& line : run.lines) {
    schedules += line.schedules;
    for (const std::int64_t request : line.finished) std::erase(left, request);
  }
  if (left != recording.unfinished) return "other requests are unfinished";
  const bool stalled = !left.empty() && run.lines.back().scheduled.empty() && run.lines.back().running == 0;
  if (stalled != recording.stalled) return "stalled";
  if (schedules != recording.steps) return "number of steps";
  return {};
}

std::vector<Time> boundaries(std::size_t count) {
  std::vector<Time> times;
  Time now = kStart;
  for (std::size_t i = 0; i < count + 3; ++i) {
    times.push_back(now);
    now += Duration{1'000'000 + static_cast<std::int64_t>(i * 7919 % 104729)};
  }
  return times;
}

// The first difference between the recording and both engines; nothing when they agree.
std::string check_recording(const Recording& recording, std::int64_t& skipped) {
  const Workload& workload = recording.workload;
  const auto most = static_cast<std::int64_t>(recording.lines.size());
  const std::vector<Time> times = boundaries(recording.lines.size());
  ReferenceEngine reference(workload);
  const Run expected = play(workload, reference, most, times);
  std::string found = first_difference(recording.lines, expected.lines, true);
  if (found.empty()) found = first_difference(recording.end, expected.end, true);
  if (found.empty()) found = end_difference(recording, expected);
  if (!found.empty()) return "reference: " + found;
  for (const bool skipping : {false, true}) {
    kv::Owners owners;
    std::vector<OwnerId> owner_of;
    for (std::size_t i = 0; i < workload.requests.size(); ++i) owner_of.push_back(owners.open(kStart));
    SegmentSubject engine(workload, owners, owner_of, skipping);
    const Run run = play(workload, engine, most, times);
    found = first_difference(expected.lines, run.lines, false);
    if (found.empty()) found = first_difference(expected.end, run.end, false);
    if (found.empty()) found = end_difference(recording, run);
    if (!found.empty()) return std::string(skipping ? "engine, skipping: " : "engine: ") + found;
    engine.engine().pool().flush(run.at);
    const kv::TokenTime whole = static_cast<kv::TokenTime>((workload.params.blocks - 1) * workload.params.block) *
                                static_cast<kv::TokenTime>(since_start(run.at).count());
    if (engine.engine().pool().account().total() != whole) return "the memory account does not sum";
    skipped += run.skipped;
  }
  return {};
}

}  // namespace

TEST_CASE("every recorded schedule is reproduced on every field") {
  const auto root = shared("data/vllm-schedules");
  if (!root) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*root))
    if (entry.path().string().ends_with(".jsonl.gz")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  struct Tally {
    std::int64_t logs = 0, right = 0, lines = 0, skipped = 0;
  };
  std::map<std::string, Tally> folders;
#ifdef __SANITIZE_ADDRESS__
  const std::size_t stride = 8;
#else
  const std::size_t stride = 1;
#endif
  for (std::size_t i = 0; i < files.size(); i += stride) {
    const Recording recording = read_recording(files[i]);
    Tally& tally = folders[files[i].parent_path().filename().string()];
    const std::string found = check_recording(recording, tally.skipped);
    CHECK_MESSAGE(found.empty(), files[i].string(), ": ", found);
    ++tally.logs;
    tally.right += found.empty();
    tally.lines += static_cast<std::int64_t>(recording.lines.size());
  }
  for (const auto& [folder, tally] : folders)
    std::printf(
        "%s: %lld of %lld logs reproduced, %lld lines compared three times (reference with ids, engine, engine skipping %lld lines)%s\n",
        folder.c_str(), static_cast<long long>(tally.right), static_cast<long long>(tally.logs), static_cast<long long>(tally.lines),
        static_cast<long long>(tally.skipped), stride > 1 ? ", one log in eight under the sanitizers" : "");
}

}  // namespace marea::test
