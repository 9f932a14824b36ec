"""llm-d prism: Llama-3.1-70B on H100, about 10,000 tokens in and 1,000 out, plain replicas at rising concurrency (llm-d-prism/llmd_runs.csv).

The precision is not stated; the released weights are 16 bits. Flags are the defaults of llm-d-benchmark (setup/env.sh: 0.95 of the memory,
contexts of 16,384 tokens) and of vLLM. Every client starts at once; replicas take calls in turn."""

import pathlib
import re

import rows
import settings
from case import Case

ROUNDS = 10  # calls a client
DEVICES = 8  # a node


def layout(configuration):
    """(replicas, tensor ranks) of "4 TP4"; None of anything else."""
    found = re.fullmatch(r"(\d+) TP(\d+)", configuration)
    return (int(found[1]), int(found[2])) if found else None


def scenario(row):
    replicas, tensor = layout(row["configuration"])
    concurrency, prompt, output = (int(row[key]) for key in ("concurrency", "input_tokens", "output_tokens"))
    return {
        "service": {"model": settings.model(row["model"]), "weights": "bf16", "kv": "bf16"},
        "cluster": {
            "node": settings.node(row["hardware"]),
            "nodes": -(-replicas // (DEVICES // tensor)),
            "pools": [{"name": "main", "replicas": replicas, "tensor": tensor}],
        },
        "serving": settings.vllm(date="-".join((row["run_date"][:4], row["run_date"][4:6], row["run_date"][6:])))
        | {"batch_tokens": "8192 tok", "sequences": 1024, "max_length": "16384 tok", "prefix_caching": True},
        "kv": {"memory_fraction": 0.95},
        "traffic": [
            {
                "name": "clients",
                "lanes": {"count": concurrency, "ramp": "0 s"},
                "sessions": ROUNDS * concurrency,
                "program": {"prompt": {"fixed": settings.tokens(prompt)}, "output": {"fixed": settings.tokens(output)}},
            }
        ],
    }


def case_of(row, _):
    output = int(row["output_tokens"])
    case = Case(
        source="llm-d-prism",
        name=f"{row['configuration']}-{row['concurrency']}".replace(": ", "-").replace(" ", "-"),
        scenario={},
        measured={
            "ttft": float(row["ttft_mean_ms"]) / 1e3,
            "tpot": float(row["tpot_ms"]) / 1e3,
            "latency": float(row["latency_mean_ms"]) / 1e3,
            "throughput": float(row["request_rate"]) * output,
        },
        device=row["hardware"].lower() + "_sxm",
        model=row["model"],
        format="bf16",
        engine=f"{row['backend']}, {row['run_date'][:6]}",
        shape=f"{row['input_tokens']} in, {output} out, {row['configuration']}",
        concurrency=int(row["concurrency"]),
    )
    if row["architecture"] != "aggregated":
        return settings.refuse(case, "prefill and decode in separate pools")
    if row["backend"] != "vllm":
        return settings.refuse(case, "another engine than vLLM")
    if layout(row["configuration"]) is None:
        return settings.refuse(case, "a layout that is not of equal replicas")
    case.scenario = scenario(row)
    return case


def cases(folder):
    return rows.cases("llm-d-prism", pathlib.Path(folder) / "llm-d-prism" / "llmd_runs.csv", case_of)
