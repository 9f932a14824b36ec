"""ML.ENERGY: steady decode of vLLM by batch limit on H100 and B200 (ml-energy/llm_runs.csv).

The source keeps as many requests in flight as its batch limit and gives the mean output length alone. Assumed here: prompts of 300 tokens
and outputs of a gamma law of variation 0.7. The median gap between tokens is compared; the throughput hangs on the prompts, which are not
given. The version is that of the authors' analysis of the two leaderboards (0.11.1), asynchronous scheduling and 8,192 tokens a step that of
their configurations (ml-energy/benchmark, configs/vllm)."""

import pathlib

import rows
import settings
from case import Case

VERSION = "0.11.1"
PROMPT = 300
VARIATION = 0.7
SESSIONS = 6  # per lane
FULL = 0.9  # of the batch limit, on average, for a steady state at it
LONGEST = 8  # times the mean output
TEXT = ("lm-arena-chat", "gpqa", "sourcegraph-fim")


def scenario(row):
    model, lanes, mean = settings.model(row["model"]), int(row["max_num_seqs"]), round(float(row["avg_output_len"]))
    pool = {"name": "main", "replicas": 1, "tensor": int(row["num_gpus"]) // int(row["dp"]), "data": int(row["dp"])}
    if int(row["ep"]) > 1:
        pool["expert_ranks"] = int(row["ep"])
    longest = min(LONGEST * mean, settings.longest(model) - PROMPT)
    output = {"mean": settings.tokens(mean), "cv": VARIATION, "max": settings.tokens(longest)}
    return {
        "service": {"model": model, "weights": settings.format_of(row["weight_precision"]), "kv": "bf16"},
        "cluster": {"node": settings.node(row["gpu"]), "pools": [pool]},
        "serving": settings.vllm(VERSION)
        | {
            "async": True,
            "batch_tokens": settings.tokens(max(8192, lanes)),
            "sequences": lanes,
            "max_length": settings.tokens(PROMPT + longest),
        },
        "kv": {"memory_fraction": 0.9},
        "traffic": [
            {
                "name": "requests",
                "lanes": {"count": lanes, "ramp": "0 s"},
                "sessions": SESSIONS * lanes,
                "program": {"prompt": {"fixed": settings.tokens(PROMPT)}, "output": {"gamma": output}},
            }
        ],
    }


def case_of(row, _):
    case = Case(
        source="ml-energy",
        name="-".join(row[key].split("/")[-1] for key in ("task", "model", "gpu", "num_gpus", "max_num_seqs")),
        scenario={},
        measured={"itl": float(row["median_itl_ms"]) / 1e3},
        device=row["gpu"].lower() + "_sxm",
        model=row["model"].split("/")[-1],
        format=settings.format_of(row["weight_precision"]),
        engine=f"vllm-{VERSION}",
        shape=f"{row['task']}, {row['avg_output_len']} out, {row['num_gpus']} devices",
        concurrency=int(row["max_num_seqs"]),
        statistic="p50",
    )
    if row["task"] not in TEXT:
        return settings.refuse(case, "images or video in the prompt")
    if float(row["avg_batch_size"]) < FULL * int(row["max_num_seqs"]):
        case.removed_by = "its batch limit is not reached"
    case.scenario = scenario(row)
    return case


def cases(folder):
    return rows.cases("ml-energy", pathlib.Path(folder) / "ml-energy" / "llm_runs.csv", case_of)
