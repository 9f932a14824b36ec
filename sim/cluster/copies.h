// The copies of KV between a replica's device, its host pool and the tiers below: one queue a direction, first in, first out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/serving/offload.h"

namespace marea::cluster {

// How fast one direction moves blocks.
struct CopyRate {
  Seconds latency{};
  Seconds block{};  // a block of the engine (host pool) or an offload block (tiers below)
};

struct CopyRates {
  CopyRate store, load;  // device and host pool
  struct Lower {
    CopyRate write, read;
  };
  std::vector<Lower> lower;  // host pool and each tier below
};

class Copies {
 public:
  explicit Copies(const CopyRates& rates) : rates_(rates), lower_free_(rates.lower.size()) {}

  // Queues a copy behind the earlier ones of its direction; returns when it ends.
  Time submit(const serving::Transfer& transfer, Time now) {
    const CopyRate& rate = transfer.load ? rates_.load : rates_.store;
    const Time end = enqueue(free_[transfer.load], rate, transfer.blocks, now);
    under_way_.push_back({transfer.number, transfer.load, end});
    return end;
  }
  Time submit(const serving::LowerTransfer& transfer, Time now) {
    const CopyRates::Lower& rate = rates_.lower[transfer.tier];
    return enqueue(lower_free_[transfer.tier][transfer.load], transfer.load ? rate.read : rate.write, transfer.blocks, now);
  }

  // When a step may start that these copies hold up.
  Time last_end(const std::vector<serving::TransferNumber>& numbers, Time now) const {
    Time last = now;
    for (const serving::TransferNumber number : numbers)
      for (const Copy& copy : under_way_)
        if (copy.number == number) last = std::max(last, copy.end);
    return last;
  }

  // The copy has ended, but the engine has not been told.
  void ended(serving::TransferNumber number) {
    const auto copy = std::find_if(under_way_.begin(), under_way_.end(), [number](const Copy& one) { return one.number == number; });
    check(copy != under_way_.end(), "a copy that is not under way has ended");
    ended_[copy->load].push_back(number);
    under_way_.erase(copy);
  }
  bool any_ended() const { return !ended_[0].empty() || !ended_[1].empty(); }
  // Those copies, stores before loads; valid until the next call.
  const std::vector<serving::TransferNumber>& take_ended() {
    taken_.assign(ended_[0].begin(), ended_[0].end());
    taken_.insert(taken_.end(), ended_[1].begin(), ended_[1].end());
    ended_[0].clear();
    ended_[1].clear();
    return taken_;
  }

 private:
  struct Copy {
    serving::TransferNumber number;
    bool load;
    Time end;
  };
  static Time enqueue(Time& free, const CopyRate& rate, std::int64_t blocks, Time now) {
    free = std::max(free, now) + to_clock(rate.latency + rate.block * static_cast<double>(blocks));
    return free;
  }

  CopyRates rates_;
  std::array<Time, 2> free_{kStart, kStart};  // store, load
  std::vector<std::array<Time, 2>> lower_free_;
  std::vector<Copy> under_way_;
  std::array<std::vector<serving::TransferNumber>, 2> ended_;
  std::vector<serving::TransferNumber> taken_;
};

}  // namespace marea::cluster
