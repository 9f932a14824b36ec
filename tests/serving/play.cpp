// The loops that the recordings were made with: one step after another, or two batches in flight.
#include <algorithm>

#include "sim/kv/cursor.h"
#include "tests/serving/subject.h"

namespace marea::test {

ContentKey content_key(kv::ContentView chain) {
  if (chain.empty()) return 0;
  return kv::PieceCursor(chain).hash(kv::length(chain)) | 1;
}

namespace {

class Arrivals {
 public:
  explicit Arrivals(const Workload& workload) : due_(workload.requests.size(), INT64_MAX), here_(workload.requests.size(), false) {
    for (std::size_t i = 0; i < due_.size(); ++i) {
      if (workload.requests[i].arrive) due_[i] = *workload.requests[i].arrive;
      if (workload.requests[i].abort_at >= 0) aborts_.push_back(workload.requests[i].abort_at);
    }
  }
  std::int64_t next(std::int64_t step) const {
    std::int64_t first = INT64_MAX;
    for (std::size_t i = 0; i < due_.size(); ++i)
      if (!here_[i]) first = std::min(first, due_[i]);
    for (const std::int64_t abort : aborts_)
      if (abort > step) first = std::min(first, abort);
    return first;
  }
  std::int64_t next_arrival() const {
    std::int64_t first = INT64_MAX;
    for (std::size_t i = 0; i < due_.size(); ++i)
      if (!here_[i]) first = std::min(first, due_[i]);
    return first;
  }
  std::vector<std::int64_t> take(std::int64_t step) {
    std::vector<std::int64_t> arrived;
    for (std::size_t i = 0; i < due_.size(); ++i)
      if (!here_[i] && due_[i] <= step) {
        here_[i] = true;
        arrived.push_back(static_cast<std::int64_t>(i));
      }
    return arrived;
  }
  void finished(const Workload& workload, std::int64_t request, std::int64_t step) {
    for (std::size_t i = 0; i < due_.size(); ++i)
      if (!workload.requests[i].arrive && workload.requests[i].after == request) due_[i] = step + workload.requests[i].delay;
  }

 private:
  std::vector<std::int64_t> due_;
  std::vector<bool> here_;
  std::vector<std::int64_t> aborts_;
};

}  // namespace

Run play(const Workload& workload, Subject& subject, std::int64_t most, const std::vector<Time>& boundaries) {
  Run run;
  Arrivals arrivals(workload);
  std::vector<char> alive(workload.requests.size(), 0);
  const int depth = workload.params.async ? 2 : 1;
  std::int64_t step = 0;
  std::size_t boundary = 0;
  for (; static_cast<std::int64_t>(run.lines.size()) < most; ++step) {
    if (!subject.has_work() && subject.in_flight() == 0) {
      const std::int64_t next = arrivals.next_arrival();
      if (next == INT64_MAX) break;
      step = std::max(step, next);
    }
    Line line;
    line.step = step;
    const Time now = boundaries[boundary++];
    for (std::size_t i = 0; i < alive.size(); ++i)
      if (alive[i] && workload.requests[i].abort_at == step) {
        subject.abort(static_cast<std::int64_t>(i), now);
        alive[i] = 0;
        arrivals.finished(workload, static_cast<std::int64_t>(i), step);
      }
    line.added = arrivals.take(step);
    for (const std::int64_t request : line.added) {
      subject.add(request, static_cast<double>(step) + workload.requests[static_cast<std::size_t>(request)].fraction);
      alive[static_cast<std::size_t>(request)] = 1;
    }
    bool empty = true;
    if (subject.has_work()) {
      line.schedules = true;
      subject.schedule(line, now);
      empty = line.scheduled.empty();
    }
    if (subject.in_flight() == depth) {
      const std::int64_t quiet = arrivals.next(step);
      const std::int64_t room = static_cast<std::int64_t>(boundaries.size() - boundary) - 2;
      const std::int64_t limit =
          std::min({quiet == INT64_MAX ? room : quiet - step - 1, room, most - static_cast<std::int64_t>(run.lines.size()) - 1});
      if (limit > 0) {
        for (Line& next : subject.skip(std::span(boundaries).subspan(boundary, static_cast<std::size_t>(limit)))) {
          line.completes = true;
          run.lines.push_back(std::move(line));
          line = std::move(next);
          line.step = ++step;
          ++run.skipped;
          ++boundary;
        }
      }
    }
    const bool wait = subject.in_flight() < depth && line.schedules && (!empty || subject.has_work());
    if (subject.in_flight() > 0 && !wait) {
      line.completes = true;
      subject.complete(line, boundaries[boundary]);
      for (const std::int64_t request : line.finished) {
        arrivals.finished(workload, request, step);
        alive[static_cast<std::size_t>(request)] = 0;
      }
    }
    run.lines.push_back(std::move(line));
  }
  run.at = boundaries[boundary];
  run.end = subject.end();
  return run;
}

}  // namespace marea::test
