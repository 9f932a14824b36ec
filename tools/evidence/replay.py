"""Replays cases as ordinary scenarios: one YAML file a case, one call of marea, the metrics of its JSON."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

import yaml

METRICS = {"tpot": "tpot", "ttft": "ttft", "latency": "e2e", "itl": "itl"}  # of a case -> of marea, for the statistic of the case


def metrics_of(text):
    return {(metric["name"], metric["label"]): metric["value"] for metric in json.loads(text)["metrics"]}


def pool_tokens(text):
    """Tokens that the KV pool of a replica holds, from the memory account of the run."""
    found = [re.fullmatch(r"KV, (\d+) blocks of (\d+) tokens", row["item"]) for row in json.loads(text)["memory"]]
    return next(int(match[1]) * int(match[2]) for match in found if match)


def run(marea, folder, case):
    """Fills case.predicted or case.failure. The scenario stays in the folder, for whoever wants to look at it or run it again."""
    if not case.scenario:
        return case
    file = pathlib.Path(folder) / case.source / f"{case.name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump({"name": case.name, **case.scenario}, sort_keys=False))
    done = subprocess.run([marea, "run", str(file), "--db", ":memory:", "--format", "json", "--quiet"], capture_output=True, text=True)
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
    if case.throughput:
        case.predicted["throughput"] = case.throughput(case.predicted["tpot"], case.predicted["ttft"])
    elif "throughput" in case.measured:
        case.predicted["throughput"] = got[("output_token_throughput", "")]
    if "kv_tokens" in case.measured:
        case.predicted["kv_tokens"] = pool_tokens(done.stdout)
    case.metrics = got
    return case


def run_all(marea, folder, cases, jobs=None):
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(lambda case: run(marea, folder, case), cases))
