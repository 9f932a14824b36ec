// Load modes: who starts when.
#include "sim/traffic/loads.h"

#include <fmt/format.h>

#include "sim/base/quantity.h"

namespace marea::traffic {

void SourcedLoad::fill(Session& session) {
  source_->make(started_, started_, session);
  ++started_;
}

void SourcedLoad::fill_inside(Session& session) {
  stationary_->make(*source_, inside_, session);
  ++inside_;
}

std::vector<Load::Note> SourcedLoad::notes() const {
  std::vector<Note> notes = source_->notes();
  if (inside_ > 0) notes.push_back({stationary_->describe(), static_cast<std::int64_t>(inside_)});
  return notes;
}

RecordedLoad::RecordedLoad(std::unique_ptr<Source> source, std::uint64_t sessions) : SourcedLoad(std::move(source), sessions, nullptr) {}

std::optional<Time> RecordedLoad::next_start() const {
  if (exhausted()) return std::nullopt;
  return source_->recorded_start(started_);
}

void RecordedLoad::take(Session& session) { fill(session); }

OpenLoad::OpenLoad(std::unique_ptr<Source> source, std::optional<std::uint64_t> most, std::unique_ptr<Stationary> stationary,
                   std::uint64_t inside, Arrivals arrivals, std::string process)
    : SourcedLoad(std::move(source), most, std::move(stationary)),
      inside_left_(inside),
      arrivals_(std::move(arrivals)),
      process_(std::move(process)),
      next_(arrivals_.next()) {}

std::optional<Time> OpenLoad::next_start() const {
  if (inside_left_ > 0) return kStart;
  if (exhausted()) return std::nullopt;
  return next_;
}

void OpenLoad::take(Session& session) {
  if (inside_left_ > 0) {
    --inside_left_;
    fill_inside(session);
    return;
  }
  fill(session);
  next_ = arrivals_.next();
}

LanesLoad::LanesLoad(std::unique_ptr<Source> source, std::optional<std::uint64_t> most, std::unique_ptr<Stationary> stationary,
                     std::uint64_t lanes, Duration ramp)
    : SourcedLoad(std::move(source), most, std::move(stationary)), lanes_(lanes), ramp_(ramp) {}

Time LanesLoad::ramp_start() const {
  const auto share = static_cast<double>(ramped_) / static_cast<double>(lanes_);
  return kStart + Duration{static_cast<Duration::rep>(share * static_cast<double>(ramp_.count()))};
}

bool LanesLoad::ramp_is_next() const { return ramped_ < lanes_ && (free_.empty() || ramp_start() <= free_.front()); }

std::optional<Time> LanesLoad::next_start() const {
  if (ramp_is_next()) {
    if (exhausted() && !stationary_) return std::nullopt;
    return ramp_start();
  }
  if (free_.empty() || exhausted()) return std::nullopt;
  return free_.front();
}

void LanesLoad::take(Session& session) {
  if (ramp_is_next()) {
    ++ramped_;
    if (stationary_) {
      fill_inside(session);
    } else {
      fill(session);
      if (exhausted() && ramped_ < lanes_ && !dry_) dry_ = ramp_start();
    }
    return;
  }
  free_.pop_front();
  fill(session);
  if (exhausted() && !free_.empty() && !dry_) dry_ = free_.front();
}

void LanesLoad::ended(Time now) {
  if (exhausted()) {
    if (!dry_) dry_ = now;
    return;
  }
  free_.push_back(now);
}

std::string LanesLoad::mode() const { return fmt::format("{} lanes, started over {}", lanes_, show(ramp_)); }

}  // namespace marea::traffic
