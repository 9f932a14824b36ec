// The schema of the store. Times are ns, memory is bytes or as its unit says, everything counted is an integer.
#include "sim/run/schema.h"

namespace marea::run {

namespace {

constexpr std::string_view kTables = R"sql(
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  key TEXT UNIQUE,                 -- hash of resolved scenario, version, seed, replication, calibration; null when interrupted
  name TEXT NOT NULL,
  status TEXT NOT NULL,            -- done, interrupted
  detail TEXT NOT NULL,            -- summary, sessions, requests, steps
  started INTEGER NOT NULL,        -- ns since 1970-01-01 UTC
  wall INTEGER NOT NULL,           -- ns that the simulation took
  version TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  seed INTEGER NOT NULL,           -- the 64 bits of the seed, as a signed integer
  replication INTEGER NOT NULL,
  study TEXT NOT NULL,
  point TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  load_mode TEXT NOT NULL,
  quality_mark TEXT NOT NULL,
  calibration TEXT NOT NULL,
  machine TEXT NOT NULL,
  scenario TEXT NOT NULL,          -- resolved, YAML
  window_start INTEGER NOT NULL,   -- ns of the run's clock; what was measured
  window_end INTEGER NOT NULL
);
CREATE INDEX run_name ON run (name);

CREATE TABLE metric (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  label TEXT NOT NULL,             -- empty: total
  unit TEXT NOT NULL,
  value REAL NOT NULL,
  low REAL,
  high REAL,
  samples INTEGER NOT NULL,
  definition TEXT NOT NULL,
  PRIMARY KEY (run, name, label)
) WITHOUT ROWID;

CREATE TABLE ledger (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  ledger TEXT NOT NULL,            -- time, memory
  unit TEXT NOT NULL,
  owner TEXT NOT NULL,             -- empty: the total that the run states
  cause TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (run, ledger, owner, cause)
) WITHOUT ROWID;

CREATE TABLE series (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  time INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (run, name, label, time)
) WITHOUT ROWID;

CREATE TABLE sketch (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  samples INTEGER NOT NULL,
  sum REAL NOT NULL,
  least REAL NOT NULL,
  most REAL NOT NULL,
  buckets TEXT NOT NULL,           -- JSON: [[bucket, count], ...]
  PRIMARY KEY (run, name, label)
) WITHOUT ROWID;

CREATE TABLE note (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE account (             -- where the bytes of a device go
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  pool TEXT NOT NULL,
  item TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  status TEXT NOT NULL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE session (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  class TEXT NOT NULL,
  session INTEGER NOT NULL,        -- index within the class
  end TEXT NOT NULL,               -- completed, failed, abandoned, cut
  calls INTEGER NOT NULL,          -- planned
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  critical_path INTEGER NOT NULL,  -- ns of tools and people that no GPU can shorten
  front_end INTEGER NOT NULL, queue_slots INTEGER NOT NULL, queue_blocks INTEGER NOT NULL, queue_budget INTEGER NOT NULL,
  queue_boundary INTEGER NOT NULL, prefill_new INTEGER NOT NULL, prefill_lost INTEGER NOT NULL, decode INTEGER NOT NULL,
  preempted INTEGER NOT NULL, tool INTEGER NOT NULL, tool_queue INTEGER NOT NULL, backoff INTEGER NOT NULL, person INTEGER NOT NULL,
  agents INTEGER NOT NULL
);
CREATE INDEX session_run ON session (run);

CREATE TABLE request (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  class TEXT NOT NULL,
  session INTEGER NOT NULL,
  thread INTEGER NOT NULL,         -- 0: the main thread; others are sub-agents
  call INTEGER NOT NULL,           -- within the session, in order of issue
  end TEXT NOT NULL,               -- completed, refused, aborted, cut
  after TEXT NOT NULL,             -- what it follows: start, tool, person, agents, call
  replica TEXT,
  prompt INTEGER NOT NULL,
  output INTEGER NOT NULL,
  generated INTEGER NOT NULL,
  hit INTEGER NOT NULL,            -- prompt tokens from the prefix cache at the first admission
  known INTEGER NOT NULL,          -- prompt tokens that the session had computed before
  lost_eviction INTEGER NOT NULL, lost_other_replica INTEGER NOT NULL, lost_preemption INTEGER NOT NULL,
  lost_partial_block INTEGER NOT NULL,
  preemptions INTEGER NOT NULL,
  compaction INTEGER NOT NULL,
  issued INTEGER NOT NULL,
  queued INTEGER, scheduled INTEGER, first_token INTEGER, last_token INTEGER,
  ended INTEGER NOT NULL,
  front_end INTEGER NOT NULL, queue_slots INTEGER NOT NULL, queue_blocks INTEGER NOT NULL, queue_budget INTEGER NOT NULL,
  queue_boundary INTEGER NOT NULL, prefill_new INTEGER NOT NULL, prefill_lost INTEGER NOT NULL, decode INTEGER NOT NULL,
  preempted INTEGER NOT NULL
);
CREATE INDEX request_run ON request (run);

CREATE TABLE step (                -- consecutive steps of one replica with the same sequences
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  replica TEXT NOT NULL,
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  tokens INTEGER NOT NULL,         -- of the first step, as are all below
  decodes INTEGER NOT NULL,
  decode_context INTEGER NOT NULL,
  prefills INTEGER NOT NULL,
  prefill_tokens INTEGER NOT NULL,
  admissions INTEGER NOT NULL
);
CREATE INDEX step_run ON step (run);
)sql";

constexpr std::string_view kViews = R"sql(
CREATE VIEW runs AS
  SELECT id, name, status, detail, datetime(started / 1000000000, 'unixepoch') AS started, wall / 1e9 AS wall_seconds, seed, replication,
         version, load_mode, quality_mark, substr(fingerprint, 1, 12) AS fingerprint FROM run;

CREATE VIEW headline AS            -- the total of every metric
  SELECT run.id AS run, run.name AS scenario, metric.name AS metric, metric.value, metric.low, metric.high, metric.unit
  FROM metric JOIN run ON run.id = metric.run WHERE metric.label = '';

CREATE VIEW time_share AS          -- where the time of the sessions goes
  SELECT run, owner, cause, value AS ns, 100.0 * value / nullif(sum(value) OVER (PARTITION BY run), 0) AS percent
  FROM ledger WHERE ledger = 'time' AND owner <> '';

CREATE VIEW memory_share AS        -- where the byte-time of the KV pools goes
  SELECT run, owner, cause, value, unit, 100.0 * value / nullif(sum(value) OVER (PARTITION BY run), 0) AS percent
  FROM ledger WHERE ledger = 'memory' AND owner <> '';

CREATE VIEW call_latency AS        -- ns; null where it was not reached
  SELECT run, class, session, thread, call, replica, prompt, output, hit, known,
         lost_eviction + lost_other_replica + lost_preemption + lost_partial_block AS lost,
         first_token - issued AS ttft,
         CASE WHEN after IN ('tool', 'person', 'agents') THEN first_token - issued END AS resume,
         CASE WHEN generated > 1 THEN (last_token - first_token) / (generated - 1) END AS tpot,
         last_token - issued AS latency,
         scheduled - queued AS queue
  FROM request WHERE end = 'completed';

CREATE VIEW session_time AS        -- seconds by what a session did
  SELECT run, class, session, end, (ended - started) / 1e9 AS life,
         (front_end + queue_slots + queue_blocks + queue_budget + queue_boundary + preempted) / 1e9 AS waiting_for_the_engine,
         (prefill_new + decode) / 1e9 AS computing, prefill_lost / 1e9 AS computing_again,
         (tool + tool_queue + backoff) / 1e9 AS tools, person / 1e9 AS person, agents / 1e9 AS agents
  FROM session;

CREATE VIEW demand AS              -- KV of all live sessions over the pools, by time
  SELECT run, label, time / 1e9 AS seconds, value FROM series WHERE name = 'kv_demand_series';
)sql";

// Settings of --set, and views of what the summary measures: the window.
constexpr std::string_view kWindowViews = R"sql(
ALTER TABLE run ADD COLUMN settings TEXT NOT NULL DEFAULT '[]';  -- JSON: ["path=value", ...] as given with --set

DROP VIEW runs;
CREATE VIEW runs AS
  SELECT id, name, status, (SELECT group_concat(value, ', ') FROM json_each(settings)) AS changed, detail, datetime(started / 1000000000, 'unixepoch') AS started,
         wall / 1e9 AS wall_seconds, seed, replication, version, load_mode, quality_mark, substr(fingerprint, 1, 12) AS fingerprint FROM run;

DROP VIEW call_latency;
CREATE VIEW call_latency AS        -- calls issued inside the window; ns, null where it was not reached
  SELECT request.run, class, session, thread, call, end, replica, prompt, output, hit, known,
         lost_eviction + lost_other_replica + lost_preemption + lost_partial_block AS lost,
         first_token - issued AS ttft,
         CASE WHEN after IN ('tool', 'person', 'agents') THEN first_token - issued END AS resume,
         CASE WHEN end = 'completed' AND generated > 1 THEN 1.0 * (last_token - first_token) / (generated - 1) END AS tpot,
         CASE WHEN end = 'completed' THEN last_token - issued END AS latency,
         scheduled - queued AS queue,
         front_end, queue_slots, queue_blocks, queue_budget, queue_boundary, prefill_new, prefill_lost, decode, preempted
  FROM request JOIN run ON run.id = request.run WHERE issued >= window_start AND issued < window_end;

DROP VIEW session_time;
CREATE VIEW session_time AS        -- sessions that start inside the window; seconds of their whole life by what they did
  SELECT session.run, class, session, end, (ended - session.started) / 1e9 AS life,
         (front_end + queue_slots + queue_blocks + queue_budget + queue_boundary + preempted) / 1e9 AS waiting_for_the_engine,
         (prefill_new + decode) / 1e9 AS computing, prefill_lost / 1e9 AS computing_again,
         (tool + tool_queue + backoff) / 1e9 AS tools, person / 1e9 AS person, agents / 1e9 AS agents
  FROM session JOIN run ON run.id = session.run WHERE session.started >= window_start AND session.started < window_end;

DROP VIEW demand;
CREATE VIEW demand AS              -- KV of all live sessions over the pools, by time, inside the window
  SELECT run, label, time / 1e9 AS seconds, value FROM series JOIN run ON run.id = series.run
  WHERE series.name = 'kv_demand_series' AND time >= window_start AND time < window_end;
)sql";

// KV that comes up from tiers below the device.
constexpr std::string_view kLoads = R"sql(
ALTER TABLE session ADD COLUMN kv_load INTEGER NOT NULL DEFAULT 0;   -- ns of waiting for KV from a tier
ALTER TABLE request ADD COLUMN kv_load INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN loaded INTEGER NOT NULL DEFAULT 0;    -- of hit, tokens that came from a tier

DROP VIEW call_latency;
CREATE VIEW call_latency AS        -- calls issued inside the window; ns, null where it was not reached
  SELECT request.run, class, session, thread, call, end, replica, prompt, output, hit, loaded, known,
         lost_eviction + lost_other_replica + lost_preemption + lost_partial_block AS lost,
         first_token - issued AS ttft,
         CASE WHEN after IN ('tool', 'person', 'agents') THEN first_token - issued END AS resume,
         CASE WHEN end = 'completed' AND generated > 1 THEN 1.0 * (last_token - first_token) / (generated - 1) END AS tpot,
         CASE WHEN end = 'completed' THEN last_token - issued END AS latency,
         scheduled - queued AS queue,
         front_end, queue_slots, queue_blocks, queue_budget, queue_boundary, kv_load, prefill_new, prefill_lost, decode, preempted
  FROM request JOIN run ON run.id = request.run WHERE issued >= window_start AND issued < window_end;

DROP VIEW session_time;
CREATE VIEW session_time AS        -- sessions that start inside the window; seconds of their whole life by what they did
  SELECT session.run, class, session, end, (ended - session.started) / 1e9 AS life,
         (front_end + queue_slots + queue_blocks + queue_budget + queue_boundary + preempted) / 1e9 AS waiting_for_the_engine,
         kv_load / 1e9 AS waiting_for_kv,
         (prefill_new + decode) / 1e9 AS computing, prefill_lost / 1e9 AS computing_again,
         (tool + tool_queue + backoff) / 1e9 AS tools, person / 1e9 AS person, agents / 1e9 AS agents
  FROM session JOIN run ON run.id = session.run WHERE session.started >= window_start AND session.started < window_end;
)sql";

}  // namespace

const std::vector<std::string_view>& schema_steps() {
  static const std::vector<std::string_view> steps{kTables, kViews, kWindowViews, kLoads};
  return steps;
}

}  // namespace marea::run
