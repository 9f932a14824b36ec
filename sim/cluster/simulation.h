// The clock: one event queue, the handlers of its event kinds, and the loop. Everything that happens leaves as facts.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/event_queue.h"
#include "sim/cluster/facts.h"
#include "sim/cluster/replica.h"
#include "sim/cluster/sessions.h"
#include "sim/cluster/setup.h"
#include "sim/cluster/tool_pool.h"

namespace marea::cluster {

// The kinds of event. At one instant they happen in this order, which is the whole tie rule; equals of a kind go first in, first out, and
// events of a replica by its id, so that the order does not depend on how far ahead a replica was planned.
enum class EventKind : std::uint8_t {
  window_edge,  // first: bookings up to an edge must not contain anything that happens at it
  step_end,     // frees memory and slots before anybody asks for them
  copy_end,     // a copy of KV between tiers
  tool_end,     // frees a worker before anybody asks for one
  wait_end,     // a person or a recorded time: the session goes on
  abandonment,  // after everything that still ended in time
  arrival,      // a new session
  routing,      // after all arrivals of the instant are known
  tool_dispatch,
  scheduling,  // last of the work: sees everything that happened at its instant
  sample,      // sees the outcome of the instant
  view,        // router snapshots, likewise
};

struct EventData {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

class Simulation final : private serving::Future {
 public:
  // Every fact goes to every observer, in this order.
  Simulation(Setup setup, std::vector<Observer*> observers);
  ~Simulation() override;

  // Runs to the end. `progress` is asked every few thousand events; when it returns false the run stops there and everything under way is
  // cut. Returns false if it was stopped.
  bool run(const std::function<bool(const Progress&)>& progress);

  const std::deque<Replica>& replicas() const { return replicas_; }

 private:
  std::int64_t output(CallSlot call) const override { return sessions_[call].fact.output; }

  struct Pool;
  struct ToolTry {
    SessionSlot session;
    std::uint32_t generation = 0;
    Vertex vertex = 0;
    std::uint32_t attempt = 0;
    ToolId tool;
    ClassId traffic;
    Time queued;
    Time began;
  };
  struct CopyUnderWay {
    serving::TransferNumber number = 0;
    bool lower = false;  // between the host pool and a tier below it
    CallSlot call;
    CopyEnded fact;
  };
  // What the cluster keeps beside each replica.
  struct Station {
    std::size_t pool = 0;
    std::size_t index = 0;         // in its pool
    std::optional<Copies> copies;  // where the engine offloads
    std::vector<CopyUnderWay> copying;
    std::vector<std::uint32_t> free_copying;
    Time held_until;  // copies that a batch has to wait for
    bool standing_still = false;
    std::uint32_t plan = 0;                      // tells the end of the current plan from ends that were cut off
    bool scheduled = false;                      // a scheduling event is under way
    std::vector<CallSlot> aborting;              // to be taken out of the engine at the next boundary
    std::vector<CallSlot> left_out;              // decode, but are not in the step on the device
    std::vector<CallSlot> returning;             // are in it again
    std::vector<CallSlot> leaving;               // preempted with a token on the device
    std::vector<std::pair<CallSlot, int>> dead;  // out of the engine, but still named by batches in flight for so many boundaries
  };
  using Event = EventQueue<EventData>::Event;

  template <class Fact>
  void emit(const Fact& fact) {
    for (Observer* observer : observers_) observer->on(fact);
  }

  // What an edge of the window means.
  static constexpr std::uint32_t kOpens = 0, kCloses = 1, kDrained = 2, kRanDry = 3;

  // simulation.cpp: the loop, the window, the end
  void dispatch(const Event& event);
  bool goes_on() const;
  bool over() const;
  void open_window(Time now);
  void close_window(Time now);
  void catch_up(Replica& replica, Time now);
  void book_all(Time now);
  void flush_memory(Time now);
  void sample(Time now);
  void cut_all(Time now);
  void push(Time at, EventKind kind, EventData data);
  void push(Time at, EventKind kind, const Replica& replica, std::uint32_t plan = 0);
  void push_own(Time at, EventKind kind, EventData data);
  bool inside(Time at) const { return at >= window_.start && at < window_.end; }

  // session_steps.cpp: sessions and the steps of their programs
  void start_due(ClassId traffic, std::uint32_t version, Time now);
  void arm(ClassId traffic, Time now);
  void begin_session(SessionSlot slot, ClassId traffic, Time now);
  void start_step(SessionSlot slot, Vertex vertex, Time now);
  void complete_step(SessionSlot slot, Vertex vertex, Time now);
  void end_session(SessionSlot slot, SessionEnd end, Time now);
  void end_thread(SessionSlot slot, std::uint32_t thread, bool last, Time now);
  void wait_ended(SessionSlot slot, Vertex vertex, Time now);
  void set_phase(SessionSlot slot, std::uint32_t thread, Phase phase, Time now);
  void book(SessionSlot slot, std::uint32_t thread, Time now);
  void book(SessionSlot slot, std::uint32_t thread, Cause cause, Duration duration, Time at);
  void dispatch_tool(const ToolTry& entry);
  void ask_for_worker(std::uint32_t index, Time now);
  void run_tool(std::uint32_t index, Time now);
  void hand_over_worker(std::uint32_t index, ToolId tool, Time now);
  void tool_ended(std::uint32_t index, Time now);

  // call_steps.cpp: model calls and the replicas that serve them
  void issue_call(SessionSlot slot, Vertex vertex, Time now);
  void route(CallSlot call, Time now);
  void wake(Replica& replica, Time now);
  void schedule(Replica& replica, Time now);
  void decided(Replica& replica, const serving::Batch& batch, Time now);
  LossCause loss_of(const CallRow& call, const Replica& replica) const;
  void start_on_device(Replica& replica, Time now);
  void leave_out(Replica& replica, Time now);
  void boundary(Replica& replica, Time now);
  void drop_empty(Replica& replica, Time now, int& dropped);

  // copy_steps.cpp: KV between a replica's device and the tiers below
  Time start_copies(Replica& replica, Time now);
  void decided_copies(Replica& replica, const serving::Batch& batch, Time now);
  void back_in_queue(const CopyUnderWay& load, const Replica& replica, Time now);
  void start_stores(Replica& replica, const Replica::Work& work, Time now);
  void cascade(Replica& replica, const serving::Outcome& outcome, Time now);
  void copy_ended(std::uint32_t station, std::uint32_t index, Time now);
  void await_copy(Replica& replica, Time end, const CopyUnderWay& copy);
  void watch_standstill(Replica& replica, Time now);
  void emitted_first(Replica& replica, CallSlot call, Time now);
  void finish_call(Replica& replica, CallSlot call, Time now);
  void end_call(CallSlot call, CallEnd end, Time now);
  void abort_call(CallSlot call, CallEnd end, Time now);
  void left_engine(const Station& station, CallSlot slot);
  void retire(Station& station, CallSlot slot);
  void bury(Station& station);
  std::size_t pool_named(const std::string& name) const;

  traffic::Step& step(SessionSlot slot, Vertex vertex);

  std::uint64_t seed_;
  std::vector<ClassSetup> classes_;
  Window window_;
  Duration sample_period_;
  bool skip_ahead_;
  std::vector<Observer*> observers_;
  EventQueue<EventData> queue_;
  kv::Owners owners_;
  std::vector<std::unique_ptr<Pool>> pools_;
  std::deque<Replica> replicas_;  // they do not move
  std::vector<Station> stations_;
  Sessions sessions_;
  std::vector<ToolPool<ToolTry>> tools_;
  std::vector<ToolTry> tries_;  // under way
  std::vector<std::uint32_t> free_tries_;
  struct NextStart {
    Time at = kNever;
    std::uint32_t version = 0;  // tells the start that is due from one that was brought forward
  };
  std::vector<NextStart> next_starts_;  // by class
  bool ran_dry_ = false;                // a finite trace in lanes is used up: the window closes
  std::vector<Vertex> roots_;
  std::uint64_t arrivals_ = 0;  // of calls at engines: the order of first come, first served
  std::uint64_t session_arrivals_ = 0;
  std::int64_t instant_ends_ = 0;   // sessions in a row that ended when they began
  std::int64_t measured_open_ = 0;  // sessions and calls that started inside the window and have not ended
  std::int64_t own_events_ = 0;     // samples and views in the queue: they do not keep a run alive
  bool window_open_ = false;
  bool window_closed_ = false;
  std::int64_t events_ = 0;
  std::int64_t preemptions_ = 0;
  Time now_;
};

}  // namespace marea::cluster
