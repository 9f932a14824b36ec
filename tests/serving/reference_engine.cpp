// Follows docs of the real scheduler rule by rule, one block and one request at a time.
#include "tests/serving/reference_engine.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/kv/cursor.h"

namespace marea::test {

ReferenceEngine::ReferenceEngine(const Workload& workload, const kv::Owners* owners, std::vector<OwnerId> owner_of)
    : workload_(workload),
      params_(workload.params),
      owners_(owners),
      owner_of_(std::move(owner_of)),
      blocks_(static_cast<std::size_t>(workload.params.blocks)),
      states_(workload.requests.size()) {
  for (std::int64_t i = 1; i < params_.blocks; ++i) free_.push_back(i);
}

std::int64_t ReferenceEngine::blocks_for(std::int64_t tokens) const { return (tokens + params_.block - 1) / params_.block; }

ContentKey ReferenceEngine::key_of(std::int64_t request, std::int64_t block) const {
  const kv::Content& content = workload_.requests[static_cast<std::size_t>(request)].content;
  return kv::PieceCursor(content).hash((block + 1) * params_.block) | 1;
}

void ReferenceEngine::add(std::int64_t request, double arrival) {
  State& state = states_[static_cast<std::size_t>(request)];
  state.known = workload_.requests[static_cast<std::size_t>(request)].prompt;
  state.arrival = arrival;
  state.waiting = true;
  waiting_.push_back(request);
}

bool ReferenceEngine::has_work() const { return !running_.empty() || !waiting_.empty() || (params_.async && flush_); }

std::int64_t ReferenceEngine::head() const {
  if (!params_.keyed_order) return waiting_.front();
  return *std::min_element(waiting_.begin(), waiting_.end(), [this](std::int64_t a, std::int64_t b) {
    const auto key = [this](std::int64_t i) {
      const WorkloadRequest& request = workload_.requests[static_cast<std::size_t>(i)];
      return std::tuple(request.priority, states_[static_cast<std::size_t>(i)].arrival, request.id);
    };
    return key(a) < key(b);
  });
}

std::int64_t ReferenceEngine::victim() const {
  if (!params_.keyed_order) return running_.back();
  return *std::max_element(running_.begin(), running_.end(), [this](std::int64_t a, std::int64_t b) {  // the first of equals
    const auto key = [this](std::int64_t i) {
      return std::pair(workload_.requests[static_cast<std::size_t>(i)].priority, states_[static_cast<std::size_t>(i)].arrival);
    };
    return key(a) < key(b);
  });
}

std::vector<std::int64_t> ReferenceEngine::lookup(std::int64_t request) const {
  std::vector<std::int64_t> hits;
  if (!params_.prefix_caching) return hits;
  const std::int64_t most = (states_[static_cast<std::size_t>(request)].known - 1) / params_.block;
  for (std::int64_t block = 0; block < most; ++block) {
    const auto found = index_.find(key_of(request, block));
    if (found == index_.end()) break;
    hits.push_back(found->second.front());
  }
  return hits;
}

bool ReferenceEngine::allocate(std::int64_t request, std::int64_t tokens, const std::vector<std::int64_t>& hits, bool admission,
                               std::vector<std::int64_t>& fresh, Line& line) {
  State& state = states_[static_cast<std::size_t>(request)];
  const auto held = static_cast<std::int64_t>(state.table.size() + hits.size());
  const auto hit_tokens = static_cast<std::int64_t>(hits.size()) * params_.block;
  const std::int64_t idle =
      std::count_if(hits.begin(), hits.end(), [this](std::int64_t id) { return blocks_[static_cast<std::size_t>(id)].references == 0; });
  const auto free = static_cast<std::int64_t>(free_.size());
  const std::int64_t kept =
      admission && !running_.empty() ? static_cast<std::int64_t>(std::floor(params_.watermark * static_cast<double>(params_.blocks))) : 0;
  const auto missing = [&](std::int64_t count) {
    return std::max<std::int64_t>(0, blocks_for(std::min(count, params_.max_length)) - held);
  };
  if (admission && params_.reserve_full_prompt && missing(state.known) + idle + kept > free) return false;
  const std::int64_t need = missing(state.computed + hit_tokens + tokens);
  if (need + idle + kept > free) return false;

  const std::uint32_t session = workload_.requests[static_cast<std::size_t>(request)].session;
  for (const std::int64_t id : hits) {
    Block& block = blocks_[static_cast<std::size_t>(id)];
    if (block.references++ == 0) {
      free_.remove(id);
      settle(block, kv::KvState::cached_hit);
    }
    block.users.insert(session);
    state.table.push_back(id);
  }
  for (std::int64_t i = 0; i < need; ++i) {
    const std::int64_t id = free_.front();
    free_.pop_front();
    Block& block = blocks_[static_cast<std::size_t>(id)];
    if (block.key != 0) {
      settle(block, kv::KvState::cached_never);
      std::vector<std::int64_t>& same = index_.at(block.key);
      std::erase(same, id);
      if (same.empty()) index_.erase(block.key);
      line.evicted.push_back(block.key);
      line.evicted_ids.push_back(id);
    }
    block = Block{};
    block.references = 1;
    block.users.insert(session);
    state.table.push_back(id);
    fresh.push_back(id);
  }
  state.registered += static_cast<std::int64_t>(hits.size());
  state.computed += hit_tokens;
  register_blocks(request, std::min(state.computed + tokens, state.known));
  return true;
}

void ReferenceEngine::register_blocks(std::int64_t request, std::int64_t tokens) {
  if (!params_.prefix_caching) return;
  State& state = states_[static_cast<std::size_t>(request)];
  for (; (state.registered + 1) * params_.block <= tokens; ++state.registered) {
    const std::int64_t id = state.table[static_cast<std::size_t>(state.registered)];
    blocks_[static_cast<std::size_t>(id)].key = key_of(request, state.registered);
    index_[blocks_[static_cast<std::size_t>(id)].key].push_back(id);
  }
}

void ReferenceEngine::free_blocks(std::int64_t request) {
  State& state = states_[static_cast<std::size_t>(request)];
  std::vector<std::int64_t> plain;
  for (auto id = state.table.rbegin(); id != state.table.rend(); ++id) {
    Block& block = blocks_[static_cast<std::size_t>(*id)];
    if (--block.references > 0) continue;
    if (block.key == 0 && params_.free_order == serving::FreeOrder::unhashed_first)
      plain.push_back(*id);
    else
      free_.push_back(*id);
  }
  free_.insert(free_.begin(), plain.begin(), plain.end());
  state.table.clear();
  state.registered = 0;
}

void ReferenceEngine::preempt(std::int64_t request, Line& line) {
  State& state = states_[static_cast<std::size_t>(request)];
  free_blocks(request);
  state.computed = 0;
  state.preempted = true;
  state.running = false;
  state.waiting = true;
  state.decodes = state.complete = false;
  std::erase(running_, request);
  waiting_.push_front(request);
  line.preempted.push_back(request);
}

void ReferenceEngine::schedule(Line& line, Time now) {
  book(now);
  flush_ = false;
  std::int64_t budget = params_.batch_tokens;
  std::vector<ScheduledLine> scheduled;

  for (std::size_t i = 0; i < running_.size() && budget > 0;) {
    const std::int64_t request = running_[i];
    State& state = states_[static_cast<std::size_t>(request)];
    const WorkloadRequest& what = workload_.requests[static_cast<std::size_t>(request)];
    if (params_.async && state.on_its_way > 0 && state.computed + 2 - state.on_its_way >= what.prompt + what.output) {
      ++i;
      continue;
    }
    std::int64_t tokens = state.known + state.on_its_way - state.computed;
    if (params_.long_prefill_threshold > 0) tokens = std::min(tokens, params_.long_prefill_threshold);
    tokens = std::min({tokens, budget, params_.max_length - 1 - state.computed});
    if (tokens <= 0) {
      ++i;
      continue;
    }
    std::vector<std::int64_t> fresh;
    bool self = false;
    while (!allocate(request, tokens, {}, false, fresh, line)) {
      const std::int64_t out = victim();
      const auto entry = std::find_if(scheduled.begin(), scheduled.end(), [out](const ScheduledLine& s) { return s.request == out; });
      if (entry != scheduled.end()) {
        budget += entry->tokens;
        scheduled.erase(entry);
        --i;
      }
      preempt(out, line);
      self = out == request;
      if (self) break;
    }
    if (self) break;
    scheduled.push_back({request, 'C', state.computed, tokens, static_cast<std::int64_t>(fresh.size()), 0, fresh});
    budget -= tokens;
    ++i;
  }

  while (line.preempted.empty() && !waiting_.empty() && budget > 0 && static_cast<std::int64_t>(running_.size()) < params_.sequences) {
    const std::int64_t request = head();
    State& state = states_[static_cast<std::size_t>(request)];
    const std::vector<std::int64_t> hits = lookup(request);
    const auto hit = static_cast<std::int64_t>(hits.size()) * params_.block;
    std::int64_t tokens = state.known - hit;
    if (params_.long_prefill_threshold > 0) tokens = std::min(tokens, params_.long_prefill_threshold);
    std::vector<std::int64_t> fresh;
    const bool whole = params_.chunked_prefill || tokens <= budget;
    tokens = std::min(tokens, budget);
    if (!whole || !allocate(request, tokens, hits, true, fresh, line)) {
      line.blocked = {request, hit};
      break;
    }
    std::erase(waiting_, request);
    state.waiting = false;
    state.running = true;
    running_.push_back(request);
    scheduled.push_back({request, state.preempted ? 'R' : 'N', hit, tokens, static_cast<std::int64_t>(fresh.size()), hit, state.table});
    budget -= tokens;
  }

  std::vector<Entry> flight;
  for (ScheduledLine& entry : scheduled) {
    State& state = states_[static_cast<std::size_t>(entry.request)];
    entry.decode = state.complete;
    state.computed += entry.tokens;
    const bool yields = state.computed >= state.known + state.on_its_way;
    if (yields) ++state.on_its_way;
    state.complete |= yields;
    entry.yields = yields;
    flight.push_back({entry.request, entry.tokens, yields});
  }
  flights_.push_back(std::move(flight));
  line.scheduled = std::move(scheduled);
  line.free = static_cast<std::int64_t>(free_.size());
  line.running = static_cast<std::int64_t>(running_.size());
  line.waiting = static_cast<std::int64_t>(waiting_.size());
}

void ReferenceEngine::finish(std::int64_t request) {
  State& state = states_[static_cast<std::size_t>(request)];
  if (state.running) free_blocks(request);
  std::erase(running_, request);
  std::erase(waiting_, request);
  state.running = state.waiting = false;
  state.gone = true;
  flush_ = true;
}

void ReferenceEngine::complete(Line& line, Time now) {
  book(now);
  const std::vector<Entry> flight = std::move(flights_.front());
  flights_.pop_front();
  for (const Entry& entry : flight) {
    State& state = states_[static_cast<std::size_t>(entry.request)];
    if (!entry.yields || state.gone) continue;
    const WorkloadRequest& what = workload_.requests[static_cast<std::size_t>(entry.request)];
    ++state.known;
    --state.on_its_way;
    state.decodes = state.running;
    if (state.running && params_.async) register_blocks(entry.request, state.computed - state.on_its_way);
    if (state.known - what.prompt == what.output || state.known >= params_.max_length) {
      finish(entry.request);
      line.finished.push_back(entry.request);
    }
  }
  line.free_after = static_cast<std::int64_t>(free_.size());
}

void ReferenceEngine::abort(std::int64_t request, Time now) {
  book(now);
  finish(request);
}

End ReferenceEngine::end() {
  End end;
  for (const std::int64_t id : free_) {
    end.free_ids.push_back(id);
    end.free_queue.push_back(blocks_[static_cast<std::size_t>(id)].key);
  }
  for (std::size_t id = 0; id < blocks_.size(); ++id)
    if (blocks_[id].key != 0) {
      end.cached.push_back(blocks_[id].key);
      end.cached_ids.push_back(static_cast<std::int64_t>(id));
    }
  std::sort(end.cached.begin(), end.cached.end());
  return end;
}

void ReferenceEngine::settle(Block& block, kv::KvState fate) {
  for (int owner = 0; owner < kv::kKvOwners; ++owner)
    account_[static_cast<std::size_t>(fate)][static_cast<std::size_t>(owner)] += block.pending[static_cast<std::size_t>(owner)];
  block.pending = {};
}

// Every block, over the time since the last booking.
void ReferenceEngine::book(Time now) {
  if (!owners_ || now == now_) return;
  const auto passed = static_cast<kv::TokenTime>((now - now_).count());
  const auto at = [this](kv::KvState state, kv::KvOwner owner) -> kv::TokenTime& {
    return account_[static_cast<std::size_t>(state)][static_cast<std::size_t>(owner)];
  };
  std::set<std::int64_t> shared;
  for (const std::int64_t request : running_) {
    const State& state = states_[static_cast<std::size_t>(request)];
    const kv::KvOwner owner = state.decodes ? kv::KvOwner::decode : kv::KvOwner::prefill;
    for (std::size_t i = 0; i < state.table.size(); ++i) {
      const std::int64_t filled = std::clamp<std::int64_t>(state.computed - static_cast<std::int64_t>(i) * params_.block, 0, params_.block);
      if (blocks_[static_cast<std::size_t>(state.table[i])].references > 1) {
        if (shared.insert(state.table[i]).second)
          at(kv::KvState::referenced, kv::KvOwner::shared) += static_cast<kv::TokenTime>(params_.block) * passed;
        continue;
      }
      at(kv::KvState::referenced, owner) += static_cast<kv::TokenTime>(filled) * passed;
      at(kv::KvState::partial, owner) += static_cast<kv::TokenTime>(params_.block - filled) * passed;
    }
  }
  for (const std::int64_t id : free_) {
    Block& block = blocks_[static_cast<std::size_t>(id)];
    if (block.key == 0) {
      at(kv::KvState::free, kv::KvOwner::nobody) += static_cast<kv::TokenTime>(params_.block) * passed;
    } else if (block.users.size() > 1) {
      block.pending[static_cast<std::size_t>(kv::KvOwner::shared)] += static_cast<kv::TokenTime>(params_.block) * passed;
    } else {
      const OwnerId owner = owner_of_[*block.users.begin()];
      const kv::OwnerTimes from = owners_->times(owner, now_);
      const kv::OwnerTimes to = owners_->times(owner, now);
      for (int i = 0; i < kv::kOwnerStates; ++i)
        block.pending[static_cast<std::size_t>(i) + static_cast<std::size_t>(kv::KvOwner::active)] +=
            static_cast<kv::TokenTime>(params_.block) *
            static_cast<kv::TokenTime>(to[static_cast<std::size_t>(i)] - from[static_cast<std::size_t>(i)]);
    }
  }
  now_ = now;
}

void ReferenceEngine::flush(Time now) {
  book(now);
  for (const std::int64_t id : free_) settle(blocks_[static_cast<std::size_t>(id)], kv::KvState::cached_unknown);
}

}  // namespace marea::test
