// The loop over the cases, on a device of paper.
#include "kernels/campaign.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/kernels/support.h"

using namespace marea::probe;
using marea::probe::test::contents;
using marea::probe::test::Folder;
using marea::probe::test::lines_of;

namespace {

// What happened to the kernels, in order.
struct Log {
  std::vector<std::string> calls;
  double time = 0;
};

class PaperKernel final : public Kernel {
 public:
  PaperKernel(Log& log, double error, bool throttled, double seconds)
      : log_(log), error_(error), throttled_(throttled), seconds_(seconds) {}
  void poison() override { log_.calls.push_back("poison"); }
  void run() override { log_.calls.push_back("run"); }
  double error() override {
    log_.calls.push_back("error");
    return error_;
  }
  double tolerance() const override { return 0.01; }
  Sample sample() override {
    log_.time += seconds_;
    return {seconds_, throttled_};
  }

 private:
  Log& log_;
  double error_;
  bool throttled_;
  double seconds_;
};

// A case with m = 1 is right, 2 wrong, 3 leaves NaN, 4 is unsupported, 5 throttled; above, it takes m seconds.
class PaperBackend final : public Backend {
 public:
  explicit PaperBackend(Log& log) : log_(log) {}
  std::string device() const override { return "paper"; }
  std::string source(const Case&) const override { return "test"; }
  std::map<std::string, std::string> facts() const override { return {}; }
  std::vector<Case> cases(bool) const override { return {}; }
  std::vector<Case> check_cases() const override { return {}; }
  std::unique_ptr<Kernel> prepare(const Case& one, std::uint64_t) override {
    const std::int64_t m = one.m.value();
    if (m == 4) throw Unsupported("not on paper");
    const double error = m == 2 ? 0.02 : m == 3 ? std::nan("") : 0.01;
    return std::make_unique<PaperKernel>(log_, error, m == 5, m > 5 ? static_cast<double>(m) : 1e-4);
  }

 private:
  Log& log_;
};

Plan plan_of(const std::vector<std::int64_t>& sizes) {
  Plan plan;
  for (const std::int64_t m : sizes) {
    Case one{.operation = Operation::gemm, .format = "fp32"};
    one.m = m;
    plan.cases.push_back(one);
  }
  plan.device = "paper";
  return plan;
}

Outcome perform_on_paper(Log& log, const Plan& plan, Table* table) {
  PaperBackend backend(log);
  return perform(
      backend, plan, table, [&] { return log.time; }, [](const std::string&) {});
}

}  // namespace

TEST_CASE("only kernels whose result is right are measured, and what is not measured is told apart") {
  const Folder folder("campaign");
  Log log;
  Table table(folder.file("t.csv"), false);
  const Outcome outcome = perform_on_paper(log, plan_of({1, 2, 3, 4, 5}), &table);
  REQUIRE(outcome.measured.size() == 1);
  CHECK(outcome.measured[0].m == 1);
  REQUIRE(outcome.wrong.size() == 2);
  CHECK(outcome.wrong[0].one.m == 2);
  CHECK(outcome.wrong[1].one.m == 3);  // NaN is never within a tolerance
  REQUIRE(outcome.unsupported.size() == 1);
  CHECK(outcome.unsupported[0].why == "not on paper");
  REQUIRE(outcome.throttled.size() == 1);
  CHECK(outcome.throttled[0].one.m == 5);
  CHECK(lines_of(contents(folder.file("t.csv"))).size() == 2);
}

TEST_CASE("outputs are poisoned before the run that is checked") {
  Log log;
  perform_on_paper(log, plan_of({1}), nullptr);
  CHECK(log.calls == std::vector<std::string>{"poison", "run", "error"});
  CHECK(log.time == 0);  // without a table nothing is timed
}

TEST_CASE("cases in the table are not measured again") {
  const Folder folder("again");
  Log log;
  Table table(folder.file("t.csv"), false);
  perform_on_paper(log, plan_of({1}), &table);
  const Outcome outcome = perform_on_paper(log, plan_of({1, 6}), &table);
  CHECK(outcome.held == 1);
  REQUIRE(outcome.measured.size() == 1);
  CHECK(outcome.measured[0].m == 6);
}

TEST_CASE("when the time is up the rest is left, and the table has what was measured") {
  const Folder folder("budget");
  Log log;
  Table table(folder.file("t.csv"), false);
  Plan plan = plan_of({10, 11, 12, 13});
  plan.budget = 25;
  const Outcome outcome = perform_on_paper(log, plan, &table);
  // A warm-up and one sample of 10 s, then of 11 s: 42 s have passed.
  CHECK(outcome.measured.size() == 2);
  CHECK(outcome.unreached == 2);
  CHECK(lines_of(contents(folder.file("t.csv"))).size() == 3);
}
