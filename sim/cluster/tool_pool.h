// The workers of one tool: a limited number serve tries first in, first out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace marea::cluster {

template <class Try>
class ToolPool {
 public:
  explicit ToolPool(std::int64_t workers) : workers_(workers) {}  // 0: unlimited

  // Takes a worker if one is free.
  bool acquire() {
    if (workers_ > 0 && busy_ >= workers_) return false;
    ++busy_;
    return true;
  }
  void wait(const Try& entry) { queue_.push_back(entry); }
  // A worker is done; the next try in line is returned for a call of acquire() by whoever runs it.
  void release() { --busy_; }
  std::optional<Try> next() {
    if (queue_.empty()) return std::nullopt;
    Try entry = queue_.front();
    queue_.pop_front();
    return entry;
  }

 private:
  std::int64_t workers_;
  std::int64_t busy_ = 0;
  std::deque<Try> queue_;
};

}  // namespace marea::cluster
