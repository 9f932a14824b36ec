#include "sim/metrics/kv_demand.h"

#include <algorithm>

namespace marea::metrics {

namespace {

// Length of `grown`, given a content that it may continue: one that continues it keeps its pieces, so only the last of them and the new
// ones are looked at. Private spans occur once, which makes the test of one piece enough.
std::int64_t length_after(kv::ContentView before, std::int64_t tokens, kv::ContentView grown) {
  if (before.empty() || grown.size() < before.size()) return kv::length(grown);
  const kv::Piece& old = before.back();
  const kv::Piece& same = grown[before.size() - 1];
  if (old.span != same.span || old.first != same.first || same.length < old.length) return kv::length(grown);
  return tokens - old.length + kv::length(grown.subspan(before.size() - 1));
}

}  // namespace

KvDemand::KvDemand(std::int64_t pool_tokens, const Window& planned) : pool_tokens_(pool_tokens), planned_(planned) {
  if (planned.end == kNever) {
    middle_ = last_ = {planned.start, planned.start};
    return;
  }
  const Duration fifth = planned.length() / 5;
  middle_ = {planned.start + 2 * fifth, planned.start + 3 * fifth};
  last_ = {planned.end - fifth, planned.end};
}

void KvDemand::pass(Time at, const Window& window) {
  if (at <= since_) return;
  const Duration inside = window.overlap(since_, at);
  if (inside > Duration{}) {
    const std::int64_t unique = unique_tokens();
    area_ += static_cast<Int128>(unique) * inside.count();
    middle_area_ += static_cast<Int128>(unique) * middle_.overlap(since_, at).count();
    last_area_ += static_cast<Int128>(unique) * last_.overlap(since_, at).count();
    peak_ = std::max(peak_, unique);
  }
  since_ = at;
}

std::int64_t KvDemand::inherited_from_others(const std::vector<Context>& threads, std::uint32_t thread, const cluster::ContextGrew& grown,
                                             std::int64_t shared) const {
  std::int64_t common = shared;
  for (std::uint32_t other = 0; other < threads.size(); ++other)
    if (other != thread && threads[other].tokens > 0) common = std::max(common, kv::common_prefix(threads[other].content, grown.content));
  return common - shared;
}

void KvDemand::on(const cluster::ContextGrew& context, const Window& window) {
  pass(context.at, window);
  if (context.session.value >= live_.size()) live_.resize(context.session.value + 1);
  std::vector<Context>& threads = live_[context.session.value];
  if (context.thread >= threads.size()) threads.resize(context.thread + 1);
  Context& row = threads[context.thread];
  private_ -= row.own();
  const std::int64_t tokens = length_after(row.content, row.tokens, context.content);
  const std::int64_t shared = std::min(tokens, context.shareable);
  const bool grew = row.tokens > 0 && tokens >= row.tokens;
  if (!(grew && shared == row.shared && shared < tokens)) {
    const ContextTree::Handle held = shared_.hold(context.content, shared);
    shared_.release(row.held);
    row.held = held;
  }
  // Only the appearance of a thread can be a fork; a context that shrank was compacted and has left what it had in common.
  if (!grew) row.inherited = row.tokens > 0 || context.thread == 0 ? 0 : inherited_from_others(threads, context.thread, context, shared);
  row.content = context.content;
  row.tokens = tokens;
  row.shared = shared;
  private_ += row.own();
}

void KvDemand::drop(Context& context) {
  private_ -= context.own();
  shared_.release(context.held);
  context = Context{};
}

void KvDemand::on(const cluster::ThreadEnded& thread, const Window& window) {
  pass(thread.at, window);
  if (thread.session.value >= live_.size()) return;
  std::vector<Context>& threads = live_[thread.session.value];
  if (thread.thread < threads.size()) drop(threads[thread.thread]);
}

void KvDemand::on(const cluster::SessionEnded& session, const Window& window) {
  pass(session.at, window);
  if (session.session.value >= live_.size()) return;
  std::vector<Context>& threads = live_[session.session.value];
  for (Context& context : threads) drop(context);
  threads.clear();
}

void KvDemand::report(Report& report, const Window& window) {
  pass(window.end, window);
  if (pool_tokens_ == 0 || window.length() == Duration{}) return;
  report.value("kv_demand", "",
               static_cast<double>(area_) / static_cast<double>(window.length().count()) / static_cast<double>(pool_tokens_), 1);
  report.value("kv_demand_peak", "", ratio(peak_), 1);
  const bool as_planned = window.start == planned_.start && window.end == planned_.end;
  if (as_planned && planned_.end != kNever)
    report.ratio("kv_demand_trend", "", static_cast<double>(last_area_), static_cast<double>(middle_area_), 1);
}

}  // namespace marea::metrics
