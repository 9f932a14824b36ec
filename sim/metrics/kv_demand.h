// How much KV the live sessions would need if nothing were ever dropped: unique tokens of their contexts over what the pools hold. Above 1
// the cluster is past its memory, whatever the policy.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/int128.h"
#include "sim/cluster/facts.h"
#include "sim/metrics/context_tree.h"
#include "sim/metrics/report.h"
#include "sim/metrics/window.h"

namespace marea::metrics {

// Tokens before a context's `shareable` mark are counted once over all sessions (ContextTree); the private rest costs counters only.
// Threads of one session share what a new thread has in common with a live one when it appears (a fork); what siblings have in common
// beyond that counts twice. Contents must stay valid until their session's SessionEnded.
class KvDemand {
 public:
  // `pool_tokens`: of all replicas. `planned`: the window as it is meant to be, for the trend; without an end there is none.
  explicit KvDemand(std::int64_t pool_tokens, const Window& planned = {});

  void on(const cluster::ContextGrew& context, const Window& window);
  void on(const cluster::ThreadEnded& thread, const Window& window);
  void on(const cluster::SessionEnded& session, const Window& window);

  double now() const { return ratio(unique_tokens()); }
  std::int64_t unique_tokens() const { return private_ + shared_.unique_tokens(); }

  // Requires a window with an end; nothing when the pools hold nothing.
  void report(Report& report, const Window& window);

 private:
  struct Context {
    kv::ContentView content;
    std::int64_t tokens = 0;
    std::int64_t shared = 0;     // leading tokens that `held` stands for
    std::int64_t inherited = 0;  // private tokens that another thread of the session counts
    ContextTree::Handle held = ContextTree::kNone;

    std::int64_t own() const { return tokens - shared - inherited; }
  };

  void pass(Time at, const Window& window);  // integrates up to `at`
  void drop(Context& context);
  std::int64_t inherited_from_others(const std::vector<Context>& threads, std::uint32_t thread, const cluster::ContextGrew& grown,
                                     std::int64_t shared) const;
  double ratio(std::int64_t tokens) const { return static_cast<double>(tokens) / static_cast<double>(pool_tokens_); }

  std::int64_t pool_tokens_;
  Window planned_;
  Window middle_, last_;                    // fifths of it; empty when its end is not known
  std::vector<std::vector<Context>> live_;  // by session slot and thread
  ContextTree shared_;
  std::int64_t private_ = 0;
  std::int64_t peak_ = 0;
  Int128 area_ = 0;  // token-ns inside the window
  Int128 middle_area_ = 0, last_area_ = 0;
  Time since_ = kStart;
};

}  // namespace marea::metrics
