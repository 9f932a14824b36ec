"""Replays cases as ordinary scenarios: one YAML file a case, one call of marea, the metrics of its JSON."""

import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess

import yaml

import catalogue

LONGEST = 120  # s of one replay; the longest of the known ones takes 3
METRICS = {"tpot": "tpot", "ttft": "ttft", "latency": "e2e", "itl": "itl"}  # of a case -> of marea, for the statistic of the case


def metrics_of(text):
    return {(metric["name"], metric["label"]): metric["value"] for metric in json.loads(text)["metrics"]}


def pool_tokens(text, scenario):
    """Tokens that vLLM would log for the KV pool of a replica whose memory account the run has.

    They are those of its blocks, unless layers are windowed: then the pool holds the windows as well, and vLLM logs how many contexts of full
    length fit at once, times that length; each takes its full layers' blocks and, for the windowed ones, those of a window and of one step's
    tokens (kv_cache_utils.py). The account has the windows in a row of their own."""
    rows = {row["item"]: row["bytes"] for row in json.loads(text)["memory"]}
    found = next(match for match in (re.fullmatch(r"KV, (\d+) blocks of (\d+) tokens", item) for item in rows) if match)
    blocks, block = int(found[1]), int(found[2])
    model = catalogue.load("models", scenario["service"]["model"])
    windowed = model["attention"].get("windowed")
    if not windowed:
        return blocks * block
    longest, window, budget = (
        catalogue.number(text, {"tok": 1})
        for text in (scenario["serving"].get("max_length", model["max_length"]), windowed["window"], scenario["serving"]["batch_tokens"])
    )
    windows = sum(size for item, size in rows.items() if item.startswith("window and recurrent state"))
    in_all = blocks * (1 + windows / rows[found[0]])
    share = windowed["layers"] / (model["layers"] - windowed["layers"])
    a_context = math.ceil(longest / block) + share * (math.ceil((window - 1 + budget) / block) + 1)
    return in_all / a_context * longest


def run(marea, folder, case):
    """Fills case.predicted or case.failure. The scenario stays in the folder, for whoever wants to look at it or run it again."""
    if not case.scenario:
        return case
    file = pathlib.Path(folder) / case.source / f"{case.name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump({"name": case.name, **case.scenario}, sort_keys=False))
    command = [marea, "run", str(file), "--db", ":memory:", "--format", "json", "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        case.failure = f"takes more than {LONGEST} s"
        return case
    if done.returncode == 3:
        case.failure = "does not fit"
        return case
    if done.returncode != 0:
        case.failure = (done.stderr.strip().splitlines() or ["no output"])[-1].replace(str(file) + ":", "")
        return case
    got = metrics_of(done.stdout)
    for metric, name in METRICS.items():
        if metric in case.measured and (f"{name}_{case.statistic}", "") in got:
            case.predicted[metric] = got[(f"{name}_{case.statistic}", "")]
    if case.throughput and {"tpot", "ttft"} <= set(case.predicted):
        case.predicted["throughput"] = case.throughput(case.predicted["tpot"], case.predicted["ttft"])
    elif "throughput" in case.measured:
        case.predicted["throughput"] = got[("output_token_throughput", "")]
    if "kv_tokens" in case.measured:
        case.predicted["kv_tokens"] = pool_tokens(done.stdout, case.scenario)
    case.metrics = got
    return case


def run_all(marea, folder, cases, jobs=None):
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(lambda case: run(marea, folder, case), cases))
