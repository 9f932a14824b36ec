"""Published end-to-end measurements: KV tiers, transfers, routing and agents (published-e2e/), one case a (case, arm, swept value).

Replayed are the arms whose workload is stated in full and that need no KV tier, peer transfer, split pool or another engine: the recomputed
prefixes of ld-p2p-pull-gptoss, one request at a time, and the pool of shared prefixes of ld-pool-gptoss under two routers. Assumed there:
Poisson arrivals, the defaults of vLLM and, of an overloaded arm, that only its throughput says something, as the length of a stage is not
given. The KV pool that the second states is compared with the memory account."""

import json
import pathlib

import rows
import settings
from case import Case

POOL_TOKENS = 1_220_000  # of KV on one device, as the setup of the gpt-oss cases says
BLOCK = 64
PREFIX, PREFIXES, QUESTION, OUTPUT = 49152, 128, 256, 64  # of ld-pool-gptoss
ROUTERS = {"affinity": "prefix-affinity", "load_no_p2p": "least-requests"}
SETTLED, END = 120, 420  # s

# Why a case is not replayed, by its name's beginning; the first that fits. ld-p2p-pull-gptoss and ld-pool-gptoss come before.
REASONS = (
    ("mk-pd", "prefill and decode in separate pools"),
    ("mk-", "another engine than vLLM"),
    ("ld-pd-", "prefill and decode in separate pools"),
    ("ld-weka-glm52-dp", "prefill and decode in separate pools"),
    ("ld-p2p-pull", "data-parallel attention"),
    ("ld-docqa", "lengths of the questions are not stated"),
    ("ld-hotset", "lengths of the questions are not stated"),
    ("ld-base", "number of prefixes and length of stages are not stated"),
    ("ld-tier", "its prefix groups are not stated"),
    ("ld-lustre", "KV tiers"),
    ("ld-ceph-", "KV tiers"),
    ("ld-nvme", "KV tiers"),
    ("ld-cpu", "KV tiers"),
    ("ld-cephfs", "a transfer without an engine"),
    ("efa", "a transfer without an engine"),
    ("ld-agentic-tpu", "a device that is not in the catalogue"),
    ("h20", "a device that is not in the catalogue"),
    ("ld-fair", "its sessions are not stated"),
)


def why_not(name, arm):
    """The reason that keeps a (case, arm) from being replayed, or ""."""
    if name == "ld-p2p-pull-gptoss":
        return "" if arm == "recompute" else "transfer of KV from a peer"
    if name == "ld-pool-gptoss":
        return "" if arm in ROUTERS else "transfer of KV from a peer"
    return next((why for start, why in REASONS if name.startswith(start)), "not described in full")


def deployment(replicas):
    return {
        "service": {"model": "gpt-oss-120b", "weights": "mxfp4", "kv": "bf16"},
        "cluster": {"node": "hgx-h200", "nodes": -(-replicas // 8), "pools": [{"name": "main", "replicas": replicas, "tensor": 1}]},
        "serving": settings.vllm() | {"block": settings.tokens(BLOCK), "batch_tokens": "8192 tok", "sequences": 1024, "prefix_caching": True},
        "kv": {"blocks": POOL_TOKENS // BLOCK},
    }


def recompute(tokens):
    traffic = {"name": "one", "lanes": 1, "sessions": 1, "program": {"prompt": {"fixed": settings.tokens(tokens)}, "output": {"fixed": "1 tok"}}}
    return deployment(1) | {"traffic": [traffic]}


def shared_pool(arm, rate):
    out = deployment(16)
    out["serving"]["router"] = ROUTERS[arm]
    program = {
        "shared_prefix": {"tokens": settings.tokens(PREFIX), "group": "documents"},
        "prompt": {"fixed": settings.tokens(QUESTION)},
        "output": {"fixed": settings.tokens(OUTPUT)},
    }
    arrivals = {"process": "poisson", "rate": f"{rate} /s"}
    out["traffic"] = [{"name": "questions", "tenants": PREFIXES, "sharing": "tenant", "arrivals": arrivals, "program": program}]
    return out | {"run": {"warmup": f"{SETTLED} s", "duration": f"{END} s", "drain": "0 s"}}


def grouped(file):
    """{(case, arm, swept value): {metric: (unit, value)}} in the order of the file, as texts."""
    out = {}
    for row in rows.read(file):
        case, arm, swept, metric, unit, value = (row.get(key) or "" for key in ("case_id", "arm", "x_value", "metric", "unit", "value"))
        out.setdefault((case, arm, swept), {})[metric] = (unit, value)
    return out


def case_of(name, arm, value, found, setup):
    model = setup.get("model", "")
    case = Case(
        source="published-e2e",
        name="-".join(part for part in (name, arm, value) if part),
        scenario={},
        measured={metric: float(figure) for metric, (_, figure) in found.items()},
        device=setup.get("gpus", ""),
        model=model,
        format="",
        engine=setup.get("engine", ""),
        shape=f"{arm} {value}".strip(),
    )
    reason = why_not(name, arm)
    if reason:
        return settings.refuse(case, reason)
    case.device, case.format, case.model = "h200_sxm", "mxfp4", "gpt-oss-120b"
    if name == "ld-p2p-pull-gptoss":
        case.measured, case.scenario, case.concurrency = {"ttft": case.measured["prefill_latency"] / 1e3}, recompute(int(value)), 1
        return case
    figures, case.measured = case.measured, {"throughput": OUTPUT * case.measured["achieved_rps"]}
    if arm == "affinity":
        case.measured["latency"] = figures["latency_p50"]
    case.statistic, case.concurrency, case.scenario = "p50", float(value), shared_pool(arm, value)
    return case


def pool_case():
    """The memory account of the deployment of the gpt-oss cases: 0.85 of one device."""
    case = Case(
        source="published-e2e",
        name="gptoss-kv-pool",
        scenario=recompute(2048) | {"kv": {"memory_fraction": 0.85}},
        measured={"kv_tokens": POOL_TOKENS},
        device="h200_sxm",
        model="gpt-oss-120b",
        format="mxfp4",
        engine="vllm, version not stated",
        shape="0.85 of one device",
    )
    return case


def cases(folder):
    folder = pathlib.Path(folder) / "published-e2e"
    described = folder / "cases.json"
    setups = {case["case_id"]: case.get("setup", {}) for case in json.loads(described.read_text())} if described.exists() else {}
    found = grouped(folder / "results_long.csv")
    out = [rows.guarded("published-e2e", "-".join(key), case_of, *key, metrics, setups.get(key[0], {})) for key, metrics in found.items()]
    return out + [pool_case()] if any(key[0].endswith("-gptoss") for key in found) else out
