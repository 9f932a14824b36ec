"""BLIS's ground truth: vLLM on H100 under inference-perf's chats of many users (blis-ground-truth/).

Replayed is each stage of the experiments whose workload and KV blocks are stated. Every request of a user is the same system prompt and
question (the authors of BLIS found that the context does not grow in these runs), so after a user's first one its full blocks are in the
prefix cache. Rate times latency exceeds the users in two stages, so users do not wait for their answers: arrivals are open. Beside that, the
KV pool of every described experiment is compared with the engine's own count of blocks."""

import json
import pathlib

import rows
import settings
from case import Case

BLOCK = 16


def program(prefix):
    prompt = prefix["system_prompt_len"] + prefix["question_len"]
    found = (prompt - 1) // BLOCK * BLOCK
    return {
        "shared_prefix": {"tokens": settings.tokens(found), "group": "prompts"},
        "prompt": {"fixed": settings.tokens(prompt - found)},
        "output": {"fixed": settings.tokens(prefix["output_len"])},
    }


def scenario(spec, weights, traffic, blocks=None):
    prefix = spec["workload"]["inference_perf"]["shared_prefix"]
    longest = prefix["system_prompt_len"] + prefix["question_len"] + prefix["output_len"]
    return {
        "service": {"model": settings.model(spec["model"]), "weights": weights, "kv": "bf16"},
        "cluster": {"node": settings.node(spec["hardware"]), "pools": [{"name": "main", "replicas": 1, "tensor": spec["tp"]}]},
        "serving": settings.vllm()
        | {
            "block": settings.tokens(BLOCK),
            "batch_tokens": settings.tokens(spec["max_num_batched_tokens"]),
            "sequences": spec["max_num_seqs"],
            "max_length": settings.tokens(longest + 1),
            "prefix_caching": True,
        },
        "kv": {"blocks": blocks} if blocks else {"memory_fraction": 0.9},
        "traffic": [{"name": "users", **traffic, "program": program(prefix)}],
    }


def describe(case, spec, weights):
    case.device, case.model, case.format, case.engine = "h100_sxm", spec["model"].split("/")[-1], weights, "vllm, version not stated"
    prefix = spec["workload"]["inference_perf"]["shared_prefix"]
    case.shape = f"{prefix['system_prompt_len'] + prefix['question_len']} in, {prefix['output_len']} out, {spec['tp']} devices"


def stage_case(row, specs):
    case = Case(
        source="blis-ground-truth",
        name=f"{row['name']}-stage{row['stage']}",
        scenario={},
        measured={"ttft": float(row["ttft_mean_ms"]) / 1e3, "itl": float(row["itl_mean_ms"]) / 1e3, "latency": float(row["e2e_mean_ms"]) / 1e3},
        device="h100_sxm",
        model=row["model"].split("/")[-1],
        format=settings.format_of(row["precision"]),
        engine="vllm, version not stated",
        shape=f"{row['workload']}, {row['tp']} devices",
    )
    spec = specs.get(row["exp_id"])
    if spec is None:
        return settings.refuse(case, "its workload is not stated")
    if row["stage"] == "-1":
        return settings.refuse(case, "all stages together; each is a case of its own")
    describe(case, spec, case.format)
    stage = spec["workload"]["inference_perf"]["stages"][int(row["stage"])]
    arrivals = {"process": "poisson", "rate": f"{stage['rate']} /s"}
    traffic = {"arrivals": arrivals, "sessions": round(stage["rate"] * stage["duration"])}
    case.concurrency = stage["rate"]
    case.scenario = scenario(spec, case.format, traffic, spec["total_kv_blocks"])
    return case


def pool_case(name, spec):
    weights = "fp8" if "FP8" in spec["model"] else "bf16"
    case = Case(
        source="blis-ground-truth",
        name=f"{name}-kv-pool",
        scenario={},
        measured={"kv_tokens": spec["total_kv_blocks"] * BLOCK},
        device="",
        model="",
        format="",
        engine="",
    )
    describe(case, spec, weights)
    case.scenario = scenario(spec, weights, {"lanes": 1, "sessions": 1})
    return case


def cases(folder):
    folder = pathlib.Path(folder) / "blis-ground-truth"
    described = folder / "workload_specs.json"
    specs = json.loads(described.read_text()) if described.exists() else {}
    stages = rows.cases("blis-ground-truth", folder / "vllm_measured.csv", lambda row, _: stage_case(row, specs))
    return stages + [rows.guarded("blis-ground-truth", f"{name}-kv-pool", pool_case, name, spec) for name, spec in specs.items()]
