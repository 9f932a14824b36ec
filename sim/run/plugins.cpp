// Every policy and trace format there is, one row each.
#include "sim/run/plugins.h"

#include <array>
#include <memory>

#include "sim/cluster/routers/least_requests.h"
#include "sim/cluster/routers/least_tokens.h"
#include "sim/cluster/routers/power_of_two.h"
#include "sim/cluster/routers/prefix_affinity.h"
#include "sim/cluster/routers/prefix_index.h"
#include "sim/cluster/routers/round_robin.h"
#include "sim/cluster/routers/session_affinity.h"
#include "sim/serving/schedulers/fcfs.h"
#include "sim/serving/schedulers/priority.h"
#include "sim/serving/schedulers/session_first_arrival.h"
#include "sim/serving/schedulers/shortest_job.h"
#include "sim/traffic/traces/azure_2023.h"
#include "sim/traffic/traces/csv.h"
#include "sim/traffic/traces/llmservingsim.h"
#include "sim/traffic/traces/mooncake.h"
#include "sim/traffic/traces/tracelab.h"
#include "sim/traffic/traces/weka.h"

namespace marea::run {

namespace {

template <class Policy>
PluginRow<cluster::RouterRecipe> router() {
  return {Policy::name, Policy::summary, [](Section& section) -> cluster::RouterRecipe {
            return
                [params = Policy::Params::read(section)](cluster::PrefixIndex& index) { return std::make_unique<Policy>(params, index); };
          }};
}

template <class Policy>
PluginRow<serving::SchedulerRecipe> scheduler() {
  return {Policy::name, Policy::summary, [](Section& section) -> serving::SchedulerRecipe {
            return [params = Policy::Params::read(section)](const serving::Future& future) {
              return std::make_unique<Policy>(params, future);
            };
          }};
}

}  // namespace

std::span<const PluginRow<serving::SchedulerRecipe>> schedulers() {
  using namespace serving::schedulers;
  static const std::array rows = {scheduler<Fcfs>(), scheduler<Priority>(), scheduler<ShortestJob>(), scheduler<SessionFirstArrival>()};
  return rows;
}

std::span<const PluginRow<cluster::RouterRecipe>> routers() {
  using namespace cluster::routers;
  static const std::array rows = {router<RoundRobin>(),      router<LeastRequests>(),  router<LeastTokens>(),        router<PowerOfTwo>(),
                                  router<SessionAffinity>(), router<PrefixAffinity>(), router<PrefixIndexAffinity>()};
  return rows;
}

std::span<const traffic::TraceFormat> trace_formats() {
  using namespace traffic::traces;
  static const std::array rows = {traffic::trace_format<Mooncake>(), traffic::trace_format<Azure2023>(),     traffic::trace_format<Weka>(),
                                  traffic::trace_format<TraceLab>(), traffic::trace_format<LlmServingSim>(), traffic::trace_format<Csv>()};
  return rows;
}

}  // namespace marea::run
