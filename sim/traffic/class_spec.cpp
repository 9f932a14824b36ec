// Reading of a traffic class and assembly of its load.
#include "sim/traffic/class_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/traffic/loads.h"
#include "sim/traffic/program_source.h"
#include "sim/traffic/stationary.h"
#include "sim/traffic/trace_source.h"

namespace marea::traffic {
namespace {

std::vector<ToolSpec> read_tools(Section& section) {
  std::vector<ToolSpec> tools;
  const auto given = section.optional("tools");
  if (!given) return tools;
  Section inner(*given);
  for (const auto& [name, value] : inner.rest()) tools.push_back(read_tool(name, value));
  return tools;
}

Replay read_replay(const Value& value, const ClassContext& context, bool recorded) {
  Section section(value);
  Replay replay;
  std::vector<std::string> names;
  for (const TraceFormat& format : context.formats) names.emplace_back(format.name);
  replay.format = section.required("format").one_of(names, "trace format");
  const auto format =
      std::find_if(context.formats.begin(), context.formats.end(), [&](const auto& row) { return row.name == replay.format; });
  const Value file = section.required("file");
  TraceOptions options;
  if (const auto limit = section.optional("limit")) options.limit = static_cast<std::uint64_t>(limit->integer(1, 1'000'000'000'000));
  if (const auto bad = section.optional("bad_rows"))
    options.skip_bad_rows = bad->one_of({"error", "skip"}, "treatment of bad rows") == "skip";
  const auto scale = section.optional("time_scale");
  if (scale) {
    replay.time_scale = scale->number(1e-6, 1e6);
    if (!recorded) scale->fail("recorded times are scaled, and this class does not use them; add `arrivals: recorded`");
  }
  if (const auto repeat = section.optional("repeat")) {
    replay.repeat = repeat->boolean();
    if (replay.repeat && recorded) repeat->fail("recorded times happen once; use lanes or an arrival process to repeat a trace");
  }
  if (const auto cap = section.optional("wait_cap")) replay.wait_cap = cap->duration();
  if (const auto pools = section.optional("pools")) {
    Section inner(*pools);
    for (const auto& [model, pool] : inner.rest()) replay.pools[model] = pool.text();
  }
  const TraceFormat::Read read = format->configure(section);
  section.close();
  replay.file = context.find_file(file);
  Trace trace = read(replay.file, options);
  if (trace.size() == 0) file.fail(fmt::format("`{}` holds no sessions", replay.file));
  if (replay.wait_cap) cap_waits(trace, *replay.wait_cap);
  if (recorded && !trace.sessions.front().start) {
    file.fail(fmt::format("`{}` records no times at which its sessions start; use lanes or an arrival process", replay.file));
  }
  for (const Trace::Call& call : trace.calls) {
    if (call.recorded && to_seconds(*call.recorded).count() * replay.time_scale > 3e9) scale->fail("scaled times reach beyond 95 years");
  }
  for (const auto& [model, pool] : replay.pools) {
    if (std::find(trace.models.begin(), trace.models.end(), model) != trace.models.end()) continue;
    const std::string near = nearest(model, trace.models);
    section.fail(
        fmt::format("pools: the trace names no model `{}`{}", model, near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
  }
  replay.trace = std::make_shared<const Trace>(std::move(trace));
  return replay;
}

void read_load(Section& section, ClassSpec& spec) {
  const auto arrivals = section.optional("arrivals");
  const auto lanes = section.optional("lanes");
  if (arrivals.has_value() == lanes.has_value()) section.fail("exactly one of `arrivals` and `lanes` is expected");
  if (lanes) {
    Lanes made;
    made.ramp = std::chrono::minutes(1);
    if (lanes->is_map()) {
      Section inner(*lanes);
      made.count = inner.required("count").integer(1, 10'000'000);
      if (const auto ramp = inner.optional("ramp")) made.ramp = ramp->duration();
      inner.close();
    } else {
      made.count = lanes->integer(1, 10'000'000);
    }
    spec.load = made;
  } else if (arrivals->is_scalar()) {
    arrivals->one_of({"recorded"}, "arrivals");
    spec.load = Recorded{};
  } else {
    spec.load = ArrivalSpec::read(*arrivals);
  }
}

std::unique_ptr<Source> make_source(const ClassSpec& spec, const LoadOptions& options) {
  if (const auto* programs = std::get_if<Programs>(&spec.sessions)) {
    return std::make_unique<ProgramSource>(programs->programs, spec.tools, spec.sharing, spec.priority, options.seed, options.traffic,
                                           options.first_tool);
  }
  const auto& replay = std::get<Replay>(spec.sessions);
  TraceSource::Options made;
  made.sharing = spec.sharing;
  made.priority = spec.priority;
  made.seed = options.seed;
  made.traffic = options.traffic;
  made.tool = ToolId{options.first_tool};
  made.recorded = std::holds_alternative<Recorded>(spec.load);
  made.time_scale = replay.time_scale;
  made.pools = replay.pools;
  return std::make_unique<TraceSource>(replay.trace, std::move(made));
}

}  // namespace

ClassSpec read_class(Section& section, const ClassContext& context) {
  ClassSpec spec;
  spec.name = section.required("name").text();
  spec.sharing = read_sharing(section, spec.name);
  if (const auto priority = section.optional("priority")) spec.priority = priority->integer(-1'000'000, 1'000'000);
  if (const auto pool = section.optional("pool")) spec.pool = pool->text();
  if (const auto limit = section.optional("sessions")) spec.limit = limit->integer(1, 1'000'000'000'000);
  read_load(section, spec);
  const auto program = section.optional("program");
  const auto trace = section.optional("trace");
  if (program.has_value() == trace.has_value()) section.fail("exactly one of `program` and `trace` is expected");
  const bool recorded = std::holds_alternative<Recorded>(spec.load);
  if (program) {
    if (recorded) section.fail("`arrivals: recorded` needs a `trace`; a program has no recorded times");
    spec.tools = read_tools(section);
    static const NamedPrograms none;
    spec.sessions = Programs{read_programs(*program, context.programs ? *context.programs : none, &spec.tools)};
  } else {
    ToolSpec tool;
    tool.name = "recorded";
    spec.tools.push_back(tool);
    if (const auto workers = section.optional("tool_workers")) spec.tools[0].workers = workers->integer(1, 1'000'000'000);
    spec.sessions = read_replay(*trace, context, recorded);
  }
  section.close();
  return spec;
}

std::unique_ptr<Load> make_load(const ClassSpec& spec, const LoadOptions& options) {
  std::unique_ptr<Source> source = make_source(spec, options);
  const auto* replay = std::get_if<Replay>(&spec.sessions);
  std::optional<std::uint64_t> most;
  if (source->size() && !replay->repeat) most = source->size();
  if (spec.limit) most = std::min(most.value_or(UINT64_MAX), static_cast<std::uint64_t>(*spec.limit));

  if (std::holds_alternative<Recorded>(spec.load)) {
    if (options.stationary) {
      throw ConfigError({}, "run.start", fmt::format("`stationary` does not fit traffic `{}`, whose times are recorded", spec.name));
    }
    return std::make_unique<RecordedLoad>(std::move(source), *most);
  }
  std::unique_ptr<Stationary> stationary;
  if (options.stationary) stationary = std::make_unique<Stationary>(*source, options.seed, options.traffic);
  if (const auto* lanes = std::get_if<Lanes>(&spec.load)) {
    return std::make_unique<LanesLoad>(std::move(source), most, std::move(stationary), static_cast<std::uint64_t>(lanes->count),
                                       lanes->ramp);
  }
  const auto& arrivals = std::get<ArrivalSpec>(spec.load);
  const std::uint64_t inside = stationary ? stationary->alive(arrivals.rate_at_start()) : 0;
  return std::make_unique<OpenLoad>(std::move(source), most, std::move(stationary), inside,
                                    Arrivals(arrivals, options.seed, options.traffic), arrivals.describe());
}

}  // namespace marea::traffic
