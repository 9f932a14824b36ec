// Field by field, so that a failing test names the step and the field.
#include "tests/serving/compare.h"

namespace marea::test {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }
std::string text(std::uint64_t value) { return std::to_string(value); }

template <class T>
std::string text(const std::vector<T>& values) {
  std::string all(1, '[');
  for (std::size_t i = 0; i < values.size() && i < 40; ++i) all.append(text(values[i])).push_back(' ');
  all.push_back(']');
  return all;
}

class Difference {
 public:
  template <class T>
  void field(const std::string& where, const char* name, const T& expected, const T& actual) {
    if (found_.empty() && expected != actual)
      found_.append(where).append(": ").append(name).append(" should be ").append(text(expected)).append(", is ").append(text(actual));
  }
  const std::string& found() const { return found_; }

 private:
  std::string found_;
};

void compare(Difference& difference, const std::string& where, const ScheduledLine& a, const ScheduledLine& b, bool ids) {
  difference.field(where, "request", a.request, b.request);
  std::string entry = where;
  entry.append(" request ").append(text(a.request));
  difference.field(entry, "kind", std::int64_t{a.kind}, std::int64_t{b.kind});
  difference.field(entry, "computed", a.computed, b.computed);
  difference.field(entry, "tokens", a.tokens, b.tokens);
  difference.field(entry, "new blocks", a.new_blocks, b.new_blocks);
  difference.field(entry, "hit", a.hit, b.hit);
  if (ids) difference.field(entry, "ids", a.ids, b.ids);
}

}  // namespace

std::string first_difference(const std::vector<Line>& expected, const std::vector<Line>& actual, bool ids) {
  Difference difference;
  std::vector<ContentKey> evicted_expected;
  std::vector<ContentKey> evicted_actual;
  for (std::size_t i = 0; i < expected.size() && i < actual.size() && difference.found().empty(); ++i) {
    const Line& a = expected[i];
    const Line& b = actual[i];
    std::string where("line ");
    where.append(text(static_cast<std::int64_t>(i))).append(" step ").append(text(a.step));
    difference.field(where, "step", a.step, b.step);
    difference.field(where, "added", a.added, b.added);
    difference.field(where, "preempted", a.preempted, b.preempted);
    difference.field(where, "schedules", std::int64_t{a.schedules}, std::int64_t{b.schedules});
    difference.field(where, "number scheduled", static_cast<std::int64_t>(a.scheduled.size()),
                     static_cast<std::int64_t>(b.scheduled.size()));
    for (std::size_t k = 0; k < a.scheduled.size() && k < b.scheduled.size(); ++k)
      compare(difference, where, a.scheduled[k], b.scheduled[k], ids);
    if (ids) {
      difference.field(where, "evicted ids", a.evicted_ids, b.evicted_ids);
    } else {
      evicted_expected.insert(evicted_expected.end(), a.evicted.begin(), a.evicted.end());
      evicted_actual.insert(evicted_actual.end(), b.evicted.begin(), b.evicted.end());
      if (i + 1 == actual.size() || !actual[i + 1].skipped) {
        difference.field(where, "evicted", evicted_expected, evicted_actual);
        evicted_expected.clear();
        evicted_actual.clear();
      }
    }
    const auto none = std::pair<std::int64_t, std::int64_t>(-1, -1);
    difference.field(where, "blocked", a.blocked.value_or(none).first, b.blocked.value_or(none).first);
    if (!b.blocked || b.blocked->second >= 0)
      difference.field(where, "blocked hit", a.blocked.value_or(none).second, b.blocked.value_or(none).second);
    difference.field(where, "free", a.free, b.free);
    difference.field(where, "running", a.running, b.running);
    difference.field(where, "waiting", a.waiting, b.waiting);
    difference.field(where, "completes", std::int64_t{a.completes}, std::int64_t{b.completes});
    difference.field(where, "finished", a.finished, b.finished);
    if (!a.finished.empty()) difference.field(where, "free after", a.free_after, b.free_after);
  }
  difference.field("end", "number of lines", static_cast<std::int64_t>(expected.size()), static_cast<std::int64_t>(actual.size()));
  return difference.found();
}

std::string first_difference(const End& expected, const End& actual, bool ids) {
  Difference difference;
  if (ids) {
    difference.field("end", "free ids", expected.free_ids, actual.free_ids);
    difference.field("end", "cached ids", expected.cached_ids, actual.cached_ids);
  } else {
    difference.field("end", "free queue", expected.free_queue, actual.free_queue);
    difference.field("end", "cached", expected.cached, actual.cached);
  }
  return difference.found();
}

}  // namespace marea::test
