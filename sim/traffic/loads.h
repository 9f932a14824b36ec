// The three load modes over any source of sessions.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/traffic/arrivals.h"
#include "sim/traffic/load.h"
#include "sim/traffic/source.h"
#include "sim/traffic/stationary.h"

namespace marea::traffic {

// Sessions in the order of a source, starting at sessions that lie inside their life when the load is stationary.
class SourcedLoad : public Load {
 public:
  std::vector<Note> notes() const override;

 protected:
  // `most`: sessions to start in all; nothing: as many as the source has, without end if it repeats.
  SourcedLoad(std::unique_ptr<Source> source, std::optional<std::uint64_t> most, std::unique_ptr<Stationary> stationary)
      : source_(std::move(source)), most_(most), stationary_(std::move(stationary)) {}

  bool exhausted() const { return most_ && started_ >= *most_; }
  void fill(Session& session);         // the next session from its beginning
  void fill_inside(Session& session);  // the next one that is under way at the start

  std::unique_ptr<Source> source_;
  std::optional<std::uint64_t> most_;
  std::unique_ptr<Stationary> stationary_;
  std::uint64_t started_ = 0;
  std::uint64_t inside_ = 0;
};

// Sessions of a trace at their recorded times; their calls no earlier than recorded.
class RecordedLoad final : public SourcedLoad {
 public:
  RecordedLoad(std::unique_ptr<Source> source, std::uint64_t sessions);
  std::optional<Time> next_start() const override;
  void take(Session& session) override;
  void ended(Time) override {}
  std::string mode() const override { return "recorded"; }
};

// Sessions that arrive by a process, whatever becomes of the earlier ones.
class OpenLoad final : public SourcedLoad {
 public:
  // `inside`: sessions under way at the start.
  OpenLoad(std::unique_ptr<Source> source, std::optional<std::uint64_t> most, std::unique_ptr<Stationary> stationary, std::uint64_t inside,
           Arrivals arrivals, std::string process);
  std::optional<Time> next_start() const override;
  void take(Session& session) override;
  void ended(Time) override {}
  std::string mode() const override { return "open " + process_; }

 private:
  std::uint64_t inside_left_;
  Arrivals arrivals_;
  std::string process_;
  std::optional<Time> next_;
};

// A fixed number of sessions alive: a lane starts the next one when its session has ended.
class LanesLoad final : public SourcedLoad {
 public:
  // Lane i starts at i x ramp / lanes.
  LanesLoad(std::unique_ptr<Source> source, std::optional<std::uint64_t> most, std::unique_ptr<Stationary> stationary, std::uint64_t lanes,
            Duration ramp);
  std::optional<Time> next_start() const override;
  void take(Session& session) override;
  void ended(Time now) override;
  std::optional<Time> dry() const override { return dry_; }
  std::string mode() const override;

 private:
  Time ramp_start() const;
  bool ramp_is_next() const;

  std::uint64_t lanes_;
  Duration ramp_;
  std::uint64_t ramped_ = 0;  // lanes that have started their first session
  std::deque<Time> free_;     // since when lanes have been free
  std::optional<Time> dry_;
};

}  // namespace marea::traffic
