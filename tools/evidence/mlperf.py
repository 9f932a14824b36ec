"""MLPerf Inference v5.1: LLM runs with their percentiles (mlperf-inference/v5.1_llm_runs.csv).

A submission states devices, software and load, but neither how a model is laid out over several devices nor the engine's flags. So only
runs of vLLM on a single device are replayed, with the flags that vLLM has by itself: prompts as long as those of the data set, outputs as
long as the run's tokens over its samples."""

import csv
import gzip
import pathlib

import rows
import settings
from case import Case

MODELS = {"llama3.1-8b": "llama-3.1-8b", "llama2-70b-99": "llama-2-70b", "llama2-70b-99.9": "llama-2-70b", "llama3.1-405b": "llama-3.1-405b"}
LENGTHS = {"llama3.1-8b": "llama3-1-8b-datacenter", "llama3.1-405b": "llama3-1-405b"}
DEVICES = {"NVIDIA L40S": "l40s"}
SAMPLES = 13368  # of the data set, each once
SEQUENCES = 256  # of vLLM by itself on a device of this class; tokens a step are 2,048 in its server and 8,192 in its batch interface

NODE = {
    "name": "one-device",
    "about": "a server of one device",
    "sources": {"assumed": "nothing of the host enters a run on one device"},
    "count": 1,
    "dram": {"capacity": "256 GB", "bandwidth": "200 GB/s", "status": "assumed", "source": "assumed"},
}


def scenario(row, lengths):
    offline = row["scenario"] == "Offline"
    rate = "1e6 /s" if offline else f"{row['target_qps']} /s"  # offline all samples are there from the start
    output = tokens_of(row) / float(row["offline_samples_per_s"] or row["samples_per_s"])
    return {
        "service": {"model": MODELS[row["benchmark"]], "weights": settings.format_of(row["weight_dtype"]), "kv": "bf16"},
        "cluster": {"node": NODE | {"device": DEVICES[row["accelerator"]]}, "pools": [{"name": "main", "replicas": 1, "tensor": 1}]},
        "serving": settings.vllm(row["software"].split(",")[0].removeprefix("vLLM "))
        | {"batch_tokens": "8192 tok" if offline else "2048 tok", "sequences": SEQUENCES, "max_length": "4096 tok"},
        "kv": {"memory_fraction": 0.9},
        "traffic": [
            {
                "name": "samples",
                "arrivals": {"process": "poisson", "rate": rate},
                "sessions": SAMPLES,
                "program": {"prompt": {"empirical": prompts(lengths)}, "output": {"fixed": settings.tokens(output)}},
            }
        ],
    }


def prompts(lengths):
    """A thousand quantiles of the input lengths."""
    with gzip.open(lengths, "rt", newline="") as file:
        found = sorted(int(row["input_length"]) for row in csv.DictReader(file))
    return [settings.tokens(found[(2 * i + 1) * len(found) // 2000]) for i in range(1000)]


def why_not(row, folder):
    if "vllm" not in row["software"].lower() or "LLMBoost" in row["software"]:
        return "another engine than vLLM"
    if row["benchmark"] not in MODELS:
        return "a model that is not in the catalogue"
    if int(row["num_accelerators_per_node"] or 0) * int(row["nodes"] or 0) != 1:
        return "layout over the devices is not stated"
    if not settings.has_device(DEVICES.get(row["accelerator"])):
        return "a device that is not in the catalogue"
    if not lengths_of(row, folder).exists():
        return "lengths are not there"
    return ""


def tokens_of(row):
    """Output tokens a second."""
    return float(row["offline_tokens_per_s"] or row["tokens_per_s"] or 0)


def lengths_of(row, folder):
    return folder / f"dataset_lengths.{LENGTHS.get(row['benchmark'], row['benchmark'])}.csv.gz"


def case_of(row, folder):
    measured = {"throughput": tokens_of(row)}
    for metric in ("ttft", "tpot", "latency"):
        if row[f"{metric}_mean_ms"] and row["scenario"] != "Offline":
            measured[metric] = float(row[f"{metric}_mean_ms"]) / 1e3
    case = Case(
        source="mlperf-inference",
        name="-".join((row["system_id"], row["benchmark"], row["scenario"])),
        scenario={},
        measured=measured,
        device=row["accelerator"],
        model=row["benchmark"],
        format=row["weight_dtype"],
        engine=row["software"].split(",")[0],
        shape=f"{row['scenario']}, {row['num_accelerators_per_node']} x {row['nodes']} devices",
        concurrency=float(row["target_qps"] or 0),
    )
    reason = why_not(row, folder)
    if reason:
        return settings.refuse(case, reason)
    case.scenario = scenario(row, lengths_of(row, folder))
    return case


def cases(folder):
    folder = pathlib.Path(folder) / "mlperf-inference"
    return rows.cases("mlperf-inference", folder / "v5.1_llm_runs.csv", lambda row, _: case_of(row, folder))
