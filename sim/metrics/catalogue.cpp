#include "sim/metrics/catalogue.h"

#include <fmt/format.h>

#include <iterator>

namespace marea::metrics {

namespace {

constexpr std::string_view kClass = "class";
constexpr std::string_view kSessions = "sessions that start inside the window";
constexpr std::string_view kCompleted = "completed sessions that start inside the window";
constexpr std::string_view kCalls = "calls issued inside the window";
constexpr std::string_view kAdmitted = "calls issued inside the window and admitted by an engine";
constexpr std::string_view kWindow = "the window";
constexpr std::string_view kTries = "tries of tools that end inside the window";
constexpr auto kDistribution = Kind::distribution;
constexpr auto kSeries = Kind::series;

constexpr Metric kTable[] = {
    // Sessions first: they are the service.
    {"session_completion_time", "s", kClass, kCompleted, "Arrival of a session to the end of its last step.", kDistribution,
     Better::smaller},
    {"session_goodput", "/s", kClass, kSessions,
     "Completed sessions with at least `attainment` of their calls completed within every target, over the length of the window; a target "
     "that is "
     "not set is met.",
     Kind::value, Better::larger},
    {"session_attainment", "1", kClass, kSessions,
     "The sessions that session_goodput counts, over all sessions that start inside the window.", Kind::share, Better::larger},
    {"resume", "s", kClass, "calls issued inside the window that follow a tool, a person or sub-agents and emit a token",
     "End of the wait to the first token of the call that follows it, front end and queue included.", kDistribution, Better::smaller},
    {"tool_wait_share", "1", kClass, kCompleted,
     "Time of main threads on tools, their queue and back-off, over the time from arrival to end; sums, not a mean of shares.", Kind::share,
     Better::neither},
    {"critical_path", "s", kClass, kCompleted,
     "Longest chain of tool and human time through a session, summed over sessions: no GPU ends them sooner.", Kind::value, Better::neither,
     Across::sum},
    {"critical_path_share", "1", kClass, kCompleted, "critical_path over the summed time from arrival to end.", Kind::share,
     Better::larger},
    {"sessions_started", "1", kClass, kSessions, "Sessions.", Kind::value, Better::neither, Across::sum},
    {"sessions_completed", "1", kClass, kSessions, "Sessions all of whose calls were done.", Kind::value, Better::larger, Across::sum},
    {"sessions_failed", "1", kClass, kSessions, "Sessions ended by a refused call or a fatal tool.", Kind::value, Better::smaller,
     Across::sum},
    {"sessions_abandoned", "1", kClass, kSessions, "Sessions whose user left.", Kind::value, Better::smaller, Across::sum},
    {"sessions_cut", "1", kClass, kSessions, "Sessions that had not ended when the run ended; they are in no distribution.", Kind::value,
     Better::smaller, Across::sum},
    {"session_throughput", "/s", kClass, kCompleted, "Completed sessions over the length of the window.", Kind::value, Better::larger},

    // Calls.
    {"ttft_first", "s", kClass, "first calls of their session, issued inside the window, that emit a token", "As ttft.", kDistribution,
     Better::smaller},
    {"ttft", "s", kClass, "calls issued inside the window that emit a token",
     "Arrival at the front end to the end of the step that makes the first output token (vllm:time_to_first_token_seconds starts there "
     "too; vLLM's "
     "per-request timing starts at the first schedule; client tools add the network).",
     kDistribution, Better::smaller},
    {"turn_ttft_warm", "s", kClass, "calls of the population of ttft with known tokens, at least half of which came from the cache",
     "As ttft; known are the tokens that the session had computed before.", kDistribution, Better::smaller},
    {"turn_ttft_cold", "s", kClass, "calls of the population of ttft with known tokens, less than half of which came from the cache",
     "As ttft; known are the tokens that the session had computed before.", kDistribution, Better::smaller},
    {"tpot", "s", kClass, "completed calls issued inside the window with at least two output tokens",
     "(last - first token) / (output - 1), per call (AIPerf calls this inter token latency; some tools divide the whole latency by the "
     "output).",
     kDistribution, Better::smaller},
    {"itl", "s", kClass, "gaps between two tokens of one call that end inside the window",
     "Every gap, pooled over calls, preemptions included (vllm:inter_token_latency_seconds; AIPerf: inter chunk latency).", kDistribution,
     Better::smaller},
    {"e2e", "s", kClass, "completed calls issued inside the window",
     "Arrival at the front end to the last token leaving the engine (vllm:e2e_request_latency_seconds).", kDistribution, Better::smaller},
    {"queue_time", "s", kClass, kAdmitted,
     "Known to the engine to first scheduled (vllm:request_queue_time_seconds; re-scheduling after a preemption does not count).",
     kDistribution, Better::smaller},
    {"prefill_time", "s", kClass, "calls issued inside the window that emit a token",
     "First scheduled to first token (vllm:request_prefill_time_seconds); a preemption before the first token counts here.", kDistribution,
     Better::smaller},
    {"decode_time", "s", kClass, "completed calls issued inside the window",
     "First to last token (vllm:request_decode_time_seconds); a preemption after the first token counts here.", kDistribution,
     Better::smaller},
    {"call_goodput", "/s", kClass, kCalls,
     "Calls completed within every target, over the length of the window (slo_goodput_rps; vLLM bench: goodput).", Kind::value,
     Better::larger},
    {"call_attainment", "1", kClass, kCalls,
     "Calls completed within every target, over all calls issued inside the window, refused and cut ones included.", Kind::share,
     Better::larger},
    {"request_throughput", "/s", kClass, kCalls,
     "Completed calls over the length of the window (AIPerf divides by first request to last response).", Kind::value, Better::larger},
    {"output_token_throughput", "tok/s", kClass, "tokens emitted inside the window",
     "Output tokens over the length of the window, of all replicas together.", Kind::value, Better::larger},
    {"prompt_token_throughput", "tok/s", kClass, "calls whose first token falls inside the window",
     "Prompt tokens, taken from the cache or computed, over the length of the window.", Kind::value, Better::larger},
    {"calls_started", "1", kClass, kCalls, "Calls.", Kind::value, Better::neither, Across::sum},
    {"calls_completed", "1", kClass, kCalls, "Calls that emitted all their tokens.", Kind::value, Better::larger, Across::sum},
    {"calls_refused", "1", kClass, kCalls, "Calls longer than the model or the memory allows, refused at the front end.", Kind::value,
     Better::smaller, Across::sum},
    {"calls_aborted", "1", kClass, kCalls, "Calls taken out because their session had ended.", Kind::value, Better::smaller, Across::sum},
    {"calls_cut", "1", kClass, kCalls, "Calls that had not ended when the run ended.", Kind::value, Better::smaller, Across::sum},
    {"call_preemptions", "1", kClass, kCalls,
     "Times that a running call lost its KV blocks and went back to the queue (vllm:num_preemptions).", Kind::value, Better::smaller,
     Across::sum},

    // The prefix cache.
    {"prefix_hit_rate", "1", kClass, kAdmitted,
     "Prompt tokens taken from the cache at the first admission over prompt tokens (vllm:prefix_cache_hits / vllm:prefix_cache_queries; "
     "lookups after "
     "a preemption do not count).",
     Kind::share, Better::larger},
    {"hit_rate_ceiling", "1", kClass, kAdmitted,
     "Prompt tokens that the session had computed before over prompt tokens: the most its own history could give; prefixes shared with "
     "other sessions "
     "come on top.",
     Kind::share, Better::neither},
    {"recompute_tokens", "tok", "cause", kAdmitted,
     "Prompt tokens that the session had computed before and that were computed again; cause: eviction (without prefix caching: all), "
     "other_replica, preemption, partial_block (the tail that fills no whole block, which no engine keeps).",
     Kind::value, Better::smaller, Across::sum},
    {"lost_token_share", "1", kClass, kAdmitted, "recompute_tokens over prompt tokens.", Kind::value, Better::smaller},

    // Memory.
    {"kv_demand", "1", "", kWindow,
     "Unique tokens of the contexts of all live sessions over the tokens that all KV pools hold, mean over time: above 1 the cluster is "
     "past its memory.",
     Kind::value, Better::smaller},
    {"kv_demand_peak", "1", "", kWindow, "The largest value of the same.", Kind::value, Better::smaller},
    {"kv_demand_trend", "1", "", kWindow,
     "kv_demand over the last fifth of the window, over that of its middle fifth: about 1 in a steady state, well above 1 while the load "
     "is "
     "still rising. Only where the window ended as planned."},
    {"kv_usage", "1", "pool", kWindow,
     "Share of KV byte-time in blocks that running calls hold, mean over time (vllm:kv_cache_usage_perc: cached but unreferenced blocks "
     "count as free).",
     Kind::share, Better::neither},
    {"kv_cached_share", "1", "pool", kWindow, "Share of KV byte-time in unreferenced blocks that hold cached content.", Kind::share,
     Better::neither},
    {"kv_wasted_share", "1", "pool", kWindow, "Share of KV byte-time in cached blocks that nobody hit before they were evicted.",
     Kind::share, Better::smaller},
    {"idle_kv_share", "1", "pool", kWindow,
     "Of the KV byte-time that holds content, the share whose owner waits for a tool, a person or sub-agents.", Kind::share,
     Better::neither},
    {"evicted_blocks", "blocks", "", "the whole run", "Blocks whose cached content was given up for other content.", Kind::value,
     Better::smaller, Across::sum},

    // Engines.
    {"engine_steps", "1", "", "steps that end inside the window", "Forward passes of all replicas.", Kind::value, Better::neither,
     Across::sum},
    {"step_time", "s", "", "steps that end inside the window", "Mean duration of a step.", Kind::value, Better::smaller},
    {"batch_size", "seq", "", "steps that end inside the window", "Sequences per step, mean over steps.", Kind::value, Better::neither},
    {"step_tokens", "tok", "", "steps that end inside the window", "New tokens per step, prefill and decode, mean over steps.", Kind::value,
     Better::neither},
    {"prefill_token_throughput", "tok/s", "", "steps that end inside the window",
     "Tokens computed by prefill, recomputed ones included, over the window.", Kind::value, Better::neither},
    {"step_time_share", "1", "component, status", "every 64th step of each replica that ends inside the window",
     "Share of the steps' time that a part of the step takes (dense layers, experts, attention, collectives, host, ...), and share that "
     "rests on "
     "coefficients of one status (measured, fitted, datasheet, assumed).",
     Kind::share, Better::neither},
    {"steps_beyond_fit_share", "1", "reason", "every 64th step of each replica that ends inside the window",
     "Share of the steps that lie outside what their coefficients were fitted on: more or fewer new tokens, more decoding sequences, "
     "longer "
     "contexts, prompts after a cached prefix, a number of tensor or expert ranks, or a shape of the model's matrices, heads or experts "
     "that no measured kernel had.",
     Kind::share, Better::neither},
    {"tier_hit_rate", "1", "", kAdmitted,
     "Prompt tokens that came from a tier below the device at the first admission over prompt tokens; part of prefix_hit_rate.",
     Kind::share, Better::larger},
    {"tier_written_bytes", "B", "tier", "copies that end inside the window", "Bytes of KV copied down into a tier.", Kind::value,
     Better::neither, Across::sum},
    {"tier_read_bytes", "B", "tier", "copies that end inside the window", "Bytes of KV copied up out of a tier.", Kind::value,
     Better::neither, Across::sum},
    {"copy_stall_share", "1", "", kWindow,
     "Time for which steps waited for copies out of blocks that they were about to write, or of calls that they preempted, over the "
     "window; mean over "
     "replicas.",
     Kind::share, Better::smaller},
    {"standstills", "1", "", "the whole run", "Times that a replica had calls waiting and nothing under way that could let them in.",
     Kind::value, Better::smaller, Across::sum},
    {"preemption_avalanches", "1", "", "the whole run",
     "Schedules of replicas with tiers and two batches in flight that preempted more than one call.", Kind::value, Better::smaller,
     Across::sum},
    {"busy_share", "1", "replica", kWindow, "Share of the window in which a step is on the device, mean over replicas.", Kind::share,
     Better::neither},

    // Tools.
    {"tool_queue_time", "s", "tool", kTries, "Wait of a try for a free worker.", kDistribution, Better::smaller},
    {"tool_run_time", "s", "tool", kTries, "Time a try ran.", kDistribution, Better::smaller},
    {"tool_tries", "1", "tool", kTries, "Tries.", Kind::value, Better::neither, Across::sum},
    {"tool_failure_rate", "1", "tool", kTries, "Failed tries, time-outs included, over tries.", Kind::share, Better::smaller},
    {"tool_utilisation", "1", "tool", kWindow,
     "Time that workers were busy, clipped to the window, over workers x window; only of tools with limited workers.", Kind::share,
     Better::neither},

    // Series.
    {"running", "1", "pool", "samples", "Calls in running batches (vllm:num_requests_running).", kSeries},
    {"waiting", "1", "pool", "samples", "Calls in engine queues (vllm:num_requests_waiting).", kSeries},
    {"kv_usage_series", "1", "pool", "samples", "Referenced blocks over usable blocks (vllm:kv_cache_usage_perc).", kSeries},
    {"kv_cached_share_series", "1", "pool", "samples", "Unreferenced blocks with cached content over usable blocks.", kSeries},
    {"kv_demand_series", "1", "", "samples", "Unique tokens of all live contexts over the tokens of all KV pools.", kSeries},
    {"output_token_throughput_series", "tok/s", "", "sampling periods",
     "Output tokens in the period that ends at the point, over its length.", kSeries},
    {"request_throughput_series", "/s", "", "sampling periods", "Calls completed in the period that ends at the point, over its length.",
     kSeries},
};

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::value:
      return "value";
    case Kind::share:
      return "share";
    case Kind::distribution:
      return "mean, std, p50, p90, p95, p99";
    case Kind::series:
      return "series";
  }
  return "";
}

std::string_view describe(Better better) {
  switch (better) {
    case Better::smaller:
      return "smaller";
    case Better::larger:
      return "larger";
    case Better::neither:
      return "";
  }
  return "";
}

const Metric* row(std::string_view name) {
  for (const Metric& metric : kTable)
    if (metric.name == name) return &metric;
  return nullptr;
}

}  // namespace

std::span<const Metric> catalogue() { return kTable; }

Found find(std::string_view emitted) {
  const Metric* whole = row(emitted);
  if (whole != nullptr && whole->kind != Kind::distribution) return {whole, nullptr};
  const std::size_t cut = emitted.rfind('_');
  if (cut == std::string_view::npos) return {};
  const Metric* metric = row(emitted.substr(0, cut));
  if (metric == nullptr || metric->kind != Kind::distribution) return {};
  for (const Statistic& statistic : kStatistics)
    if (statistic.suffix == emitted.substr(cut + 1)) return {metric, &statistic};
  return {};
}

std::string catalogue_markdown() {
  std::string text = "| name | unit | by | form | better | population | definition |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Metric& metric : kTable)
    fmt::format_to(std::back_inserter(text), "| `{}` | {} | {} | {} | {} | {} | {} |\n", metric.name, metric.unit, metric.labels,
                   describe(metric.kind), describe(metric.better), metric.population, metric.definition);
  return text;
}

}  // namespace marea::metrics
