// The engine of sim/serving, seen as the recordings see one.
#pragma once

#include <memory>

#include "sim/serving/vllm_v1.h"
#include "tests/serving/subject.h"

namespace marea::test {

class SegmentSubject : public Subject {
 public:
  // `skipping`: passes over steps wherever the engine offers it. owner_of[request] names the session.
  SegmentSubject(const Workload& workload, kv::Owners& owners, std::vector<OwnerId> owner_of, bool skipping);

  void add(std::int64_t request, double arrival) override;
  void abort(std::int64_t request, Time now) override;
  bool has_work() const override;
  int in_flight() const override { return engine_.in_flight(); }
  void schedule(Line& line, Time now) override;
  void complete(Line& line, Time now) override;
  std::vector<Line> skip(std::span<const Time> boundaries) override;
  End end() override;

  serving::VllmV1& engine() { return engine_; }
  // Of each schedule, with those passed over: what the step was priced from.
  const std::vector<cost::StepSums>& sums() const { return sums_; }

 private:
  void state(Line& line) const;
  std::vector<ContentKey> take_evictions();
  std::int64_t request_of(CallSlot call) const { return call.value; }

  const Workload& workload_;
  kv::Owners& owners_;
  std::vector<OwnerId> owner_of_;
  bool skipping_;
  std::vector<std::uint64_t> rank_;  // of the request's id among all
  std::vector<kv::Content> evicted_;
  std::vector<cost::StepSums> sums_;
  serving::VllmV1 engine_;
};

}  // namespace marea::test
