// Queueing theory: where the simulator is set up as a queue whose waiting time is known, it must find that time.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cluster/support.h"

using namespace marea;

namespace {

// Mean and standard error of autocorrelated samples, by 50 batches.
struct Estimate {
  double mean = 0;
  double error = 0;
};
Estimate batch_means(const std::vector<double>& samples) {
  constexpr std::size_t kBatches = 50;
  const std::size_t size = samples.size() / kBatches;
  std::vector<double> means(kBatches, 0);
  for (std::size_t i = 0; i < kBatches * size; ++i) means[i / size] += samples[i] / static_cast<double>(size);
  Estimate estimate;
  for (const double mean : means) estimate.mean += mean / kBatches;
  double square = 0;
  for (const double mean : means) square += (mean - estimate.mean) * (mean - estimate.mean);
  estimate.error = std::sqrt(square / (kBatches - 1) / kBatches);
  return estimate;
}

std::vector<double> waits(cluster::Setup setup) {
  test::Collected seen;
  cluster::Simulation(std::move(setup), {&seen}).run({});
  std::vector<double> result;
  for (std::size_t i = seen.calls.size() / 10; i < seen.calls.size(); ++i) {
    result.push_back(to_seconds(seen.calls[i].scheduled - seen.calls[i].queued).count());
  }
  return result;
}

// Erlang's C formula: probability that an arrival waits, k servers, offered load a = rate x mean service time.
double erlang_c(int servers, double load) {
  double term = 1, sum = 1;
  for (int k = 1; k < servers; ++k) sum += term *= load / k;
  term *= load / servers;
  const double waiting = term * servers / (servers - load);
  return waiting / (sum + waiting);
}

}  // namespace

TEST_CASE("one sequence at a time with constant steps waits as an M/D/1 queue") {
  constexpr double kStep = 0.010;
  for (const double utilisation : {0.3, 0.6, 0.8}) {
    const double rate = utilisation / kStep;
    double at = 0;
    auto load = std::make_unique<test::ListedLoad>([=](std::uint64_t index, traffic::Session& session) mutable -> std::optional<Time> {
      if (index == 200'000) return std::nullopt;
      RandomStream stream(7, "theory arrivals", index);
      at += -std::log(stream.uniform()) / rate;
      test::single_call(session, 1, 1);
      return kStart + to_clock(Seconds{at});
    });
    const Estimate wait = batch_means(waits(test::small_cluster(test::engine(1), Seconds{kStep}, std::move(load))));
    const double expected = utilisation * kStep / (2 * (1 - utilisation));  // Pollaczek-Khinchine with constant service
    CAPTURE(utilisation);
    CAPTURE(wait.mean);
    CHECK(std::abs(wait.mean - expected) < 4 * wait.error);
    CHECK(wait.error < 0.05 * expected);  // the test can tell a wrong answer from a right one
  }
}

TEST_CASE("k sequences with geometric outputs wait as an M/M/k queue, up to the bias of step boundaries") {
  constexpr double kStep = 0.001;
  constexpr double kMean = 200;  // output tokens; each costs one step
  constexpr int kServers = 4;
  for (const double utilisation : {0.6, 0.85}) {
    const double rate = utilisation * kServers / (kMean * kStep);
    double at = 0;
    auto load = std::make_unique<test::ListedLoad>([=](std::uint64_t index, traffic::Session& session) mutable -> std::optional<Time> {
      if (index == 150'000) return std::nullopt;
      RandomStream stream(11, "theory arrivals", index);
      at += -std::log(stream.uniform()) / rate;
      const double output = 1 + std::floor(std::log(stream.uniform()) / std::log(1 - 1 / kMean));
      test::single_call(session, 1, static_cast<std::int64_t>(output));
      return kStart + to_clock(Seconds{at});
    });
    const Estimate wait = batch_means(waits(test::small_cluster(test::engine(kServers), Seconds{kStep}, std::move(load))));
    const double offered = rate * kMean * kStep;
    const double expected = erlang_c(kServers, offered) / (kServers / (kMean * kStep) - rate);
    // An arrival at a replica that is running waits for the step's end even when a slot is free: half a step on average, and at most one
    // step in all (a slot freed at a boundary is taken at that boundary).
    CAPTURE(utilisation);
    CAPTURE(wait.mean);
    CAPTURE(expected);
    CHECK(wait.mean - expected > -4 * wait.error);
    CHECK(wait.mean - expected < kStep + 4 * wait.error);
    CHECK(wait.error < 0.1 * expected);
  }
}
