// The obvious engine: an object for every block, ids, a list of free blocks and a dictionary of keys. Slow, and right by inspection; the
// engine of sim/serving must decide exactly as it does.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <map>
#include <set>

#include "sim/kv/memory_account.h"
#include "sim/kv/owners.h"
#include "tests/serving/subject.h"

namespace marea::test {

class ReferenceEngine : public Subject {
 public:
  // With `owners` it keeps a memory account block by block; owner_of[request] names the session.
  ReferenceEngine(const Workload& workload, const kv::Owners* owners = nullptr, std::vector<OwnerId> owner_of = {});

  void add(std::int64_t request, double arrival) override;
  void abort(std::int64_t request, Time now) override;
  bool has_work() const override;
  int in_flight() const override { return static_cast<int>(flights_.size()); }
  void schedule(Line& line, Time now) override;
  void complete(Line& line, Time now) override;
  End end() override;

  // Books all memory up to `now`; cached intervals end with an unknown fate.
  void flush(Time now);
  using Account = std::array<std::array<kv::TokenTime, kv::kKvOwners>, kv::kKvStates>;
  const Account& account() const { return account_; }

 private:
  struct Block {
    std::int64_t references = 0;
    ContentKey key = 0;
    std::set<std::uint32_t> users;                       // sessions that used it since it got its key
    std::array<kv::TokenTime, kv::kKvOwners> pending{};  // cached time whose fate is open
  };
  struct State {
    std::int64_t known = 0, computed = 0, registered = 0, on_its_way = 0;
    std::vector<std::int64_t> table;
    bool running = false, waiting = false, gone = false, preempted = false, decodes = false;
    bool complete = false;  // its prefill, with the schedules so far
    double arrival = 0;
  };
  struct Entry {
    std::int64_t request;
    std::int64_t tokens;
    bool yields;
  };

  std::int64_t blocks_for(std::int64_t tokens) const;
  bool allocate(std::int64_t request, std::int64_t tokens, const std::vector<std::int64_t>& hits, bool admission,
                std::vector<std::int64_t>& fresh, Line& line);
  void register_blocks(std::int64_t request, std::int64_t tokens);
  void free_blocks(std::int64_t request);
  std::vector<std::int64_t> lookup(std::int64_t request) const;
  std::int64_t head() const;
  std::int64_t victim() const;
  void preempt(std::int64_t request, Line& line);
  void finish(std::int64_t request);
  void book(Time now);
  void settle(Block& block, kv::KvState fate);
  ContentKey key_of(std::int64_t request, std::int64_t block) const;

  const Workload& workload_;
  const serving::VllmV1Params& params_;
  const kv::Owners* owners_;
  std::vector<OwnerId> owner_of_;
  std::vector<Block> blocks_;
  std::list<std::int64_t> free_;
  std::map<ContentKey, std::vector<std::int64_t>> index_;
  std::vector<State> states_;
  std::vector<std::int64_t> running_;
  std::deque<std::int64_t> waiting_;
  std::deque<std::vector<Entry>> flights_;
  bool flush_ = false;
  Time now_ = kStart;
  Account account_{};
};

}  // namespace marea::test
