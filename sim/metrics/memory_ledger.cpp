#include "sim/metrics/memory_ledger.h"

#include <algorithm>
#include <numeric>

namespace marea::metrics {

using cluster::KvOwner;
using cluster::KvState;

namespace {

constexpr Uint128 kMebibyteSecond = (static_cast<Uint128>(1) << 20) * 1'000'000'000U;

constexpr std::size_t at(KvState state) { return static_cast<std::size_t>(state); }

}  // namespace

std::vector<std::int64_t> round_to_sum(const std::vector<Uint128>& parts, Uint128 unit) {
  Uint128 sum = 0;
  std::int64_t floors = 0;
  std::vector<std::int64_t> rounded(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += parts[i];
    rounded[i] = static_cast<std::int64_t>(parts[i] / unit);
    floors += rounded[i];
  }
  const auto missing = static_cast<std::size_t>(static_cast<std::int64_t>((sum + unit / 2) / unit) - floors);
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return parts[a] % unit > parts[b] % unit; });
  for (std::size_t i = 0; i < missing; ++i) ++rounded[order[i]];
  return rounded;
}

MemoryLedger::MemoryLedger(std::vector<std::string> pools, std::vector<ObservedReplica> replicas, std::vector<StaticMemory> static_memory)
    : pools_(std::move(pools)), replicas_(std::move(replicas)), static_(std::move(static_memory)), sums_(pools_.size()) {}

void MemoryLedger::on(const cluster::MemoryBooked& booked) {
  const ObservedReplica& replica = replicas_[booked.replica.value];
  sums_[replica.pool][at(booked.state)][static_cast<std::size_t>(booked.owner)] +=
      booked.token_nanoseconds * static_cast<std::uint64_t>(replica.bytes_per_token);
}

void MemoryLedger::report_shares(Report& report, const std::string& label, const Sums& sums) {
  std::array<double, cluster::kKvStates> states{};
  double all = 0, idle = 0;
  for (std::size_t state = 0; state < sums.size(); ++state) {
    for (std::size_t owner = 0; owner < sums[state].size(); ++owner) states[state] += static_cast<double>(sums[state][owner]);
    all += states[state];
    if (state == at(KvState::free)) continue;
    for (const KvOwner owner : {KvOwner::tool, KvOwner::person, KvOwner::agents})
      idle += static_cast<double>(sums[state][static_cast<std::size_t>(owner)]);
  }
  const double cached = states[at(KvState::cached_hit)] + states[at(KvState::cached_never)] + states[at(KvState::cached_unknown)];
  report.ratio("kv_usage", label, states[at(KvState::referenced)] + states[at(KvState::partial)], all, 1);
  report.ratio("kv_cached_share", label, cached, all, 1);
  report.ratio("kv_wasted_share", label, states[at(KvState::cached_never)], all, 1);
  report.ratio("idle_kv_share", label, idle, all - states[at(KvState::free)], 1);
}

void MemoryLedger::report(Report& report, Duration window) const {
  Ledger ledger{"memory", "MiB s", 0, {}};
  std::vector<Uint128> parts;
  const auto add = [&](std::size_t pool, std::string cause, Uint128 part) {
    if (part == 0) return;
    ledger.rows.push_back({"pool=" + pools_[pool], std::move(cause), 0});
    parts.push_back(part);
  };
  Sums total{};
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const auto replicas =
        std::count_if(replicas_.begin(), replicas_.end(), [&](const ObservedReplica& replica) { return replica.pool == pool; });
    for (const StaticMemory& memory : static_)
      if (memory.pool == pool)
        add(pool, memory.state,
            static_cast<Uint128>(memory.per_replica.value) * static_cast<std::uint64_t>(replicas) *
                static_cast<std::uint64_t>(window.count()));
    for (std::size_t state = 0; state < total.size(); ++state)
      for (std::size_t owner = 0; owner < total[state].size(); ++owner) {
        const Uint128 part = sums_[pool][state][owner];
        total[state][owner] += part;
        add(pool, std::string(cluster::name(static_cast<KvState>(state))) + "/" + std::string(cluster::name(static_cast<KvOwner>(owner))),
            part);
      }
  }
  const std::vector<std::int64_t> rounded = round_to_sum(parts, kMebibyteSecond);
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    ledger.rows[i].value = rounded[i];
    ledger.total += rounded[i];
  }
  report.ledger(std::move(ledger));
  report_shares(report, "", total);
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) report_shares(report, "pool=" + pools_[pool], sums_[pool]);
}

}  // namespace marea::metrics
