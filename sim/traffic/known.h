// Which leading tokens of each call's prompt the session has computed before, from contents alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/content.h"

namespace marea::traffic {

// One call of a session, in an order in which every step comes after those it waits for.
struct KnownCall {
  kv::ContentView content;  // prompt and output
  std::int64_t prompt = 0;
  std::int64_t computed = 0;  // leading tokens whose KV exists once it has ended: prompt + output - 1
  std::uint32_t step = 0;     // number of its step in the session
  std::int64_t longest = 0;   // the most that it or a call before it in the list leaves computed
};

// The most steps of a session with sub-agents: the order of steps is kept as one bit for each pair.
inline constexpr std::size_t kMostSteps = 20'000;

// Which steps come before which: of a single thread all earlier ones; else rows of bits over the steps, from the edges.
class Precedence {
 public:
  void reset(std::size_t steps, bool single_thread);
  // Edges must be added in an order in which all edges into `from` come before those out of it.
  void add(std::size_t from, std::size_t to);
  bool before(std::size_t a, std::size_t b) const { return words_ == 0 ? a < b : (bits_[b * words_ + a / 64] >> (a % 64)) & 1; }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

// Appends a call with its `longest`.
void append_known(std::vector<KnownCall>& calls, KnownCall call);

// The most tokens that calls before `call` leave computed of its prompt, at most prompt - 1: the last token is always computed anew.
std::int64_t known_tokens(std::span<const KnownCall> earlier, const KnownCall& call, const Precedence& precedence);

}  // namespace marea::traffic
