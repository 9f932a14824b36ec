// Reader of tables whose columns the scenario names.
#include "sim/traffic/traces/csv.h"

#include <unordered_map>

#include "sim/traffic/spans.h"
#include "sim/traffic/timestamp.h"
#include "sim/traffic/traces/growing_context.h"

namespace marea::traffic::traces {
namespace {

Csv::Params::Timed read_timed(const Value& value, bool dates) {
  Section section(value);
  Csv::Params::Timed timed;
  timed.column = section.required("name").text();
  std::vector<std::string> units{"ns", "us", "ms", "s"};
  if (dates) units.push_back("date");
  const std::string unit = section.required("unit").one_of(units, "unit");
  timed.unit = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
  section.close();
  return timed;
}

struct Row {
  std::int64_t prompt = 0, output = 0;
  std::optional<Duration> time;
  Duration wait{};
};

// Rows of one session; `prefix` is 0 or the key of the shared prefix that its first row names.
struct Rows {
  std::vector<Row> rows;
  std::uint64_t prefix = 0;
};

class TableReader {
 public:
  TableReader(const std::string& file, const Csv::Params& params, const TraceOptions& options)
      : params_(params), options_(options), trace_(file, options), table_(file) {}

  Trace read() {
    prompt_ = table_.column(params_.prompt);
    output_ = table_.column(params_.output);
    if (params_.time) time_ = table_.column(params_.time->column);
    if (params_.wait) wait_ = table_.column(params_.wait->column);
    if (params_.session) session_ = table_.column(*params_.session);
    if (params_.prefix) prefix_ = table_.column(*params_.prefix);
    trace_.each_row(table_, [&] { read_row(); });
    for (Rows& session : sessions_) emit(session);
    return trace_.finish();
  }

 private:
  void read_row() {
    Row row;
    row.prompt = table_.integer(prompt_, 1, kMostTokens);
    row.output = table_.integer(output_, 1, kMostTokens);
    if (params_.time) row.time = read_time();
    if (params_.wait)
      row.wait = to_clock(Seconds{table_.number(wait_, 0, kMostSeconds * 1e9 / params_.wait->unit) * params_.wait->unit * 1e-9});
    const std::uint64_t prefix = params_.prefix && !table_.field(prefix_).empty() ? hash_name(table_.field(prefix_)) | 1 : 0;
    if (!params_.session) {
      in_order(row, latest_start_);
      Rows single{{row}, prefix};
      emit(single);
      return;
    }
    const auto [found, fresh] = numbers_.try_emplace(std::string(table_.field(session_)), sessions_.size());
    if (fresh) {
      if (options_.limit && sessions_.size() >= *options_.limit) {
        numbers_.erase(found);
        return;  // rows of further sessions
      }
      in_order(row, latest_start_);
      sessions_.push_back({{}, prefix});
    } else {
      std::optional<Duration> before = sessions_[found->second].rows.back().time;
      in_order(row, before);
    }
    sessions_[found->second].rows.push_back(row);
  }

  Duration read_time() {
    if (params_.time->unit > 0)
      return to_clock(Seconds{table_.number(time_, 0, kMostSeconds * 1e9 / params_.time->unit) * params_.time->unit * 1e-9});
    const auto date = parse_timestamp(table_.field(time_));
    if (!date) throw ConfigError(table_.mark(time_), params_.time->column, "not a time of the form 2023-11-16 18:15:46.6805900");
    if (!first_date_) first_date_ = *date;
    if (*date < *first_date_ || to_seconds(*date - *first_date_).count() > kMostSeconds) {
      throw ConfigError(table_.mark(time_), params_.time->column, "before the first row, or more than 31 years after it");
    }
    return *date - *first_date_;
  }

  void in_order(const Row& row, std::optional<Duration>& latest) {
    if (!row.time) return;
    if (latest && *row.time < *latest) {
      throw ConfigError(table_.mark(time_), params_.time->column,
                        params_.session ? "earlier than the row before: sessions, and the rows of each, must be in order of time"
                                        : "earlier than the row before; rows must be in order of time");
    }
    latest = row.time;
  }

  void emit(const Rows& session) {
    trace_.begin(session.rows.front().time);
    const std::int64_t prefix = session.prefix ? std::min(params_.prefix_tokens, session.rows.front().prompt) : 0;
    const std::uint64_t span = trace_.ids() ^ (session.prefix >> 2);
    GrowingContext context;
    context.start(span, prefix);
    std::optional<std::uint32_t> last;
    Duration latest{};
    for (std::size_t i = 0; i < session.rows.size(); ++i) {
      const Row& row = session.rows[i];
      Duration wait = row.wait;
      if (i > 0 && !params_.wait && row.time) {
        wait = *row.time - latest;
        trace_.note("waits taken from the times between calls, which include their service");
      } else if (i > 0 && !params_.wait) {
        trace_.note("waits missing, taken as 0");
      }
      if (row.time) latest = *row.time;
      if (i > 0 && wait > Duration{}) {
        const std::uint32_t step = trace_.wait(params_.waits_for, 0, wait, !params_.wait);
        trace_.edge(*last, step);
        last = step;
      }
      const bool goes_on = row.prompt >= context.length();
      const std::int64_t kept = goes_on ? context.length() : std::min(prefix, row.prompt);
      const std::uint32_t step = trace_.call(0, row.prompt, row.output, context.next(trace_, kept, row.prompt, row.output), row.time);
      if (last) trace_.edge(*last, step);
      last = step;
    }
    trace_.end(prefix);
  }

  const Csv::Params& params_;
  const TraceOptions& options_;
  TraceBuilder trace_;
  CsvReader table_;
  std::size_t prompt_ = 0, output_ = 0, time_ = 0, wait_ = 0, session_ = 0, prefix_ = 0;
  std::optional<Duration> first_date_, latest_start_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of sessions, by their text; looked up only
  std::vector<Rows> sessions_;                            // in order of their first rows
};

}  // namespace

Csv::Params Csv::params(Section& section) {
  Section columns(section.required("columns"));
  Params params;
  params.prompt = columns.required("prompt").text();
  params.output = columns.required("output").text();
  if (const auto time = columns.optional("time")) params.time = read_timed(*time, true);
  if (const auto wait = columns.optional("wait")) params.wait = read_timed(*wait, false);
  if (const auto session = columns.optional("session")) params.session = session->text();
  if (const auto owner = columns.optional("waits_for")) {
    params.waits_for = owner->one_of({"tool", "human"}, "what is waited for") == "human" ? StepKind::human : StepKind::tool;
  }
  if (const auto prefix = columns.optional("prefix")) {
    Section inner(*prefix);
    params.prefix = inner.required("name").text();
    const Value tokens = inner.required("tokens");
    params.prefix_tokens = tokens.tokens(Tokens{1}).value;
    if (params.prefix_tokens > kMostTokens) tokens.fail("at most 100,000,000 tokens are accepted");
    inner.close();
  }
  columns.close();
  return params;
}

Trace Csv::read(const std::string& file, const Params& params, const TraceOptions& options) {
  return TableReader(file, params, options).read();
}

}  // namespace marea::traffic::traces
