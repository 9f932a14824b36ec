"""inference-perf: Llama-3-8B on one H100 at rising rates of constant arrivals, one case a stage (inference-perf/llama3-8b_1xH100_rate_sweep.csv).

Its load generator has 440 connections: a stage that does not reach its rate is a closed loop of 440 clients, and is kept out of the goals.
Its own TPOT counts streamed chunks, some of them empty, so latency, TTFT and throughput are compared."""

import pathlib

import rows
import settings
from case import Case

CONNECTIONS = 440
REACHED = 0.98  # of the requested rate
BLOCK = 16


def program(row):
    """A hundred distinct prompts come again and again: with prefix caching all their full blocks are found after the first time, without it
    none. Lengths are the stage's means."""
    prompt, output = round(float(row["prompt_len_mean"])), round(float(row["output_len_mean"]))
    if row["prefix_caching"] == "off":
        return {"prompt": {"fixed": settings.tokens(prompt)}, "output": {"fixed": settings.tokens(output)}}
    found = (prompt - 1) // BLOCK * BLOCK
    return {
        "shared_prefix": {"tokens": settings.tokens(found), "group": "prompts"},
        "prompt": {"fixed": settings.tokens(prompt - found)},
        "output": {"fixed": settings.tokens(output)},
    }


def throttled(row):
    return float(row["achieved_rate"]) < REACHED * float(row["requested_rate"])


def load(row):
    if throttled(row):
        return {"lanes": {"count": CONNECTIONS, "ramp": "0 s"}}
    # As near to constant gaps as arrival processes come: 1 % apart.
    return {"arrivals": {"process": "gamma", "rate": f"{row['requested_rate']} /s", "burstiness": 0.01}}


def scenario(row):
    return {
        "service": {"model": "llama-3.1-8b", "weights": "bf16", "kv": "bf16"},  # Llama 3 8B has the same shape
        "cluster": {"node": "hgx-h100", "pools": [{"name": "main", "replicas": 1, "tensor": 1}]},
        "serving": settings.vllm(row["engine"].removeprefix("vLLM "))
        | {
            "block": settings.tokens(BLOCK),
            "batch_tokens": "8192 tok",  # vLLM's own on this device
            "sequences": int(row["max_num_seqs"]),
            "max_length": "512 tok",
            "chunked_prefill": row["chunked_prefill"] != "off",
            "prefix_caching": row["prefix_caching"] != "off",
        },
        "kv": {"memory_fraction": 0.9},
        "traffic": [{"name": "clients", **load(row), "sessions": int(row["completed"]), "program": program(row)}],
    }


def case_of(row, _):
    case = Case(
        source="inference-perf",
        name=f"{row['config']}-{row['stage']}",
        scenario={},
        measured={
            "latency": float(row["latency_mean_ms"]) / 1e3,
            "ttft": float(row["ttft_mean_ms"]) / 1e3,
            "throughput": float(row["output_tokens_per_s"]),
        },
        device="h100_sxm",
        model="Llama-3-8B",
        format="bf16",
        engine=row["engine"].replace("vLLM ", "vllm-"),
        shape=f"{row['prompt_len_mean']} in, {row['output_len_mean']} out, 1 device",
        concurrency=float(row["requested_rate"]),
    )
    if row["other"]:
        return settings.refuse(case, row["other"])
    if not row["engine"].startswith("vLLM "):
        return settings.refuse(case, "another engine than vLLM")
    if throttled(row):
        case.removed_by = "the load generator does not reach its rate"
    case.scenario = scenario(row)
    return case


def cases(folder):
    return rows.cases("inference-perf", pathlib.Path(folder) / "inference-perf" / "llama3-8b_1xH100_rate_sweep.csv", case_of)
