// What happened, as plain structs: the one way out of the simulation. Observers get every fact in the order of the clock and give nothing
// back.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/base/ids.h"
#include "sim/base/int128.h"
#include "sim/base/time.h"
#include "sim/cost/step.h"
#include "sim/kv/content.h"
#include "sim/kv/memory_account.h"

namespace marea::cluster {

// Where a session's time goes. The parts of a session sum to its life exactly.
enum class Cause : std::uint8_t {
  front_end,       // tokenising, templating, routing: before the engine knows the call
  queue_slots,     // head of the queue blocked: running = sequences
  queue_blocks,    // no free KV blocks for the head of the queue
  queue_budget,    // the step's token budget is used up
  queue_boundary,  // waiting for the next schedule
  kv_load,         // its context comes up from a tier below the device
  prefill_new,     // computing tokens for the first time
  prefill_lost,    // computing again what this session had computed before
  decode,
  preempted,
  tool,
  tool_queue,  // no free worker of the tool
  backoff,     // between two tries of a tool
  person,
  agents,  // waiting for sub-agents
};
inline constexpr int kCauses = 15;
std::string_view name(Cause cause);

enum class SessionEnd : std::uint8_t { completed, failed, abandoned, cut };
std::string_view name(SessionEnd end);

enum class CallEnd : std::uint8_t { completed, refused, aborted, cut };
std::string_view name(CallEnd end);

// What a call or the start of a session follows.
enum class After : std::uint8_t { start, tool, person, agents, call };

// Why prompt tokens that the session had computed before had to be computed again.
// partial_block: the tail of the known tokens that fills no whole block, which no engine keeps.
enum class LossCause : std::uint8_t { eviction, other_replica, preemption, partial_block };
inline constexpr int kLossCauses = 4;
std::string_view name(LossCause cause);

struct RunStarted {
  std::int64_t classes = 0;
  std::int64_t replicas = 0;
};

// The measuring window opens: at its planned start, or at the end of a run that was stopped before it.
struct WindowOpened {
  Time at;
};

struct SessionStarted {
  SessionSlot session;
  ClassId traffic;
  std::uint64_t index = 0;
  Time at;
  Duration critical_path{};
};

// `booked` is the main thread's life by cause; it sums to at - started.
struct SessionEnded {
  SessionSlot session;
  ClassId traffic;
  std::uint64_t index = 0;
  SessionEnd end = SessionEnd::completed;
  Time started;
  Time at;
  Duration critical_path{};
  std::int64_t calls_planned = 0;
  std::array<Duration, kCauses> booked{};
};

// A thread (0: the main one) spent `duration` up to `at` under one cause. Bookings never straddle an edge of the measuring window: each
// lies wholly inside (`measured`) or outside.
struct TimeBooked {
  SessionSlot session;
  ClassId traffic;
  std::uint32_t thread = 0;
  Cause cause = Cause::front_end;
  Duration duration{};
  Time at;
  bool measured = false;
};

// A sub-agent thread has ended; `booked` sums to at - started. `last`: it is the one that its parent's join waited for.
struct ThreadEnded {
  SessionSlot session;
  ClassId traffic;
  std::uint32_t thread = 0;
  std::uint32_t parent = 0;
  Time started;
  Time at;
  bool last = false;
  std::array<Duration, kCauses> booked{};
};

// The context of a thread at the moment a call is issued, for counting what all live sessions hold. `content` is prompt and output.
struct ContextGrew {
  SessionSlot session;
  ClassId traffic;
  std::uint32_t thread = 0;
  kv::ContentView content;
  std::int64_t shareable = 0;
  Time at;
};

// One model call, complete. Times that were not reached are kNever. `booked` sums to at - issued.
struct CallEnded {
  CallSlot call;
  SessionSlot session;
  ClassId traffic;
  std::uint64_t session_index = 0;
  std::uint32_t thread = 0;
  std::uint32_t index = 0;  // of the call within its session, in order of issue
  CallEnd end = CallEnd::completed;
  After after = After::start;
  ReplicaId replica;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::int64_t generated = 0;  // tokens, of a completed call; 0 of any other
  std::int64_t hit = 0;        // prompt tokens taken from the prefix cache or from a tier at the first admission
  std::int64_t loaded = 0;     // of them, from a tier below the device
  std::int64_t known = 0;      // prompt tokens that the session had computed before
  std::array<std::int64_t, kLossCauses> lost{};
  std::int64_t preemptions = 0;
  Time issued;     // arrival at the front end
  Time queued;     // known to the engine
  Time scheduled;  // first admission
  Time first_token;
  Time last_token;
  Time at;
  bool compaction = false;
  std::array<Duration, kCauses> booked{};
};

// Consecutive steps of one replica with the same sequences (one step, or many when nothing but contexts grew). Step i runs from i == 0 ?
// start : ends[i - 1] to ends[i].
struct StepsRun {
  ReplicaId replica;
  Time start;
  std::span<const Time> ends;
  cost::StepSums sums;                          // of the first step; decode_context grows by decode_sequences a step
  std::span<const std::int64_t> gaps_by_class;  // per traffic class: sequences whose previous token came at `start` of the same step
};

// A gap between two tokens of one call that was longer than one step (preemption, or an idle or starved step in between).
struct LongGap {
  ClassId traffic;
  Duration gap{};
  Time at;
};

// A copy of KV between two neighbouring tiers. Tier 0 is the host pool, whose copies go to and from the device.
struct CopyEnded {
  ReplicaId replica;
  std::size_t tier = 0;
  bool load = false;        // upwards
  std::int64_t blocks = 0;  // of the engine
  Time submitted;           // its turn may come later
  Time at;
};

// A step had to wait for copies out of the blocks that it writes, or of calls that it preempted.
struct StepHeldUp {
  ReplicaId replica;
  Duration wait{};
  Time at;
};

// One schedule preempted several calls: with two batches in flight and a connector that loads, blocks of a victim come back too late for
// the call that wants them, so the next one has to go as well.
struct PreemptionAvalanche {
  ReplicaId replica;
  Time at;
  std::int64_t calls = 0;
};

// Nothing in this replica can go on until a call is taken out: calls hold blocks for KV that was loaded, behind one that needs more blocks
// than are free.
struct Standstill {
  ReplicaId replica;
  Time at;
  std::int64_t calls = 0;  // that wait
};

struct ToolEnded {
  ToolId tool;
  ClassId traffic;
  Duration queued{};
  Duration ran{};
  bool failed = false;
  Time at;
};

// State of one replica at a sampling instant.
struct ReplicaSampled {
  ReplicaId replica;
  Time at;
  std::int64_t waiting = 0;
  std::int64_t running = 0;
  std::int64_t pool_blocks = 0;  // usable
  std::int64_t referenced_blocks = 0;
  std::int64_t cached_blocks = 0;  // unreferenced but keyed
};

// Byte-time of one replica's KV pool in one state under one owner, over the measuring window. All bookings of a replica sum to pool
// bytes x window. Token-nanoseconds; the value may exceed 64 bits.
using kv::kKvOwners;
using kv::kKvStates;
using kv::KvOwner;
using kv::KvState;
std::string_view name(KvState state);
std::string_view name(KvOwner owner);

struct MemoryBooked {
  ReplicaId replica;
  KvState state = KvState::free;
  KvOwner owner = KvOwner::nobody;
  Uint128 token_nanoseconds = 0;
};

// The measuring window has closed: what starts from here on is not measured. Comes once, before RunEnded, and before anything that starts
// at or after it, because a finite trace in lanes closes the window at an instant that nobody knows in advance.
struct WindowClosed {
  Time at;
};

struct RunEnded {
  Time at;
  Time window_start;
  Time window_end;
  std::int64_t events = 0;
  std::int64_t steps = 0;          // engine steps of all replicas, skipped ones included
  std::int64_t changed_steps = 0;  // those that were scheduled one by one
  std::int64_t evicted_blocks = 0;
  std::int64_t preemptions = 0;
};

// Observers leave what they do not need. (The one interface where an empty method is the rule.)
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on(const RunStarted&) {}
  virtual void on(const WindowOpened&) {}
  virtual void on(const SessionStarted&) {}
  virtual void on(const SessionEnded&) {}
  virtual void on(const TimeBooked&) {}
  virtual void on(const ThreadEnded&) {}
  virtual void on(const ContextGrew&) {}
  virtual void on(const CallEnded&) {}
  virtual void on(const StepsRun&) {}
  virtual void on(const LongGap&) {}
  virtual void on(const CopyEnded&) {}
  virtual void on(const StepHeldUp&) {}
  virtual void on(const Standstill&) {}
  virtual void on(const PreemptionAvalanche&) {}
  virtual void on(const ToolEnded&) {}
  virtual void on(const ReplicaSampled&) {}
  virtual void on(const MemoryBooked&) {}
  virtual void on(const WindowClosed&) {}
  virtual void on(const RunEnded&) {}
};

}  // namespace marea::cluster
