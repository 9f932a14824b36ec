"""AISimulate's evidence: single steps of GLM-5.2 on four Vera Rubin GPUs, and end-to-end runs of which too little is stated
(aisimulate-evidence/).

The device is made here: the laws and efficiencies of GB300, and the memory, FLOP/s and links that the source gives for the machine. Nothing
is fitted to the steps. Assumed: 224 units as NVIDIA announced, KV in fp8, no host time (steps run from captured graphs of SGLang)."""

import copy
import math
import pathlib

import catalogue
import rows
import settings
from case import Case

RANKS = 4
BUDGET = 16384  # tokens of a prefill step before a decode step
UNITS = 224
FACTS = ("hbm_capacity_reported", "hbm_bandwidth_at_max_clock", "nvlink_total_per_direction", "bf16_dense", "fp8_dense", "fp4_dense")


def facts(folder):
    return {row.get("quantity"): row.get("value") for row in rows.read(folder / "vera_rubin_facts.csv")}


def device(known):
    known = {name: float(known[name]) for name in FACTS}
    links = known["nvlink_total_per_direction"]
    faster = links / catalogue.number(catalogue.load("hardware/devices", "gb300")["scale_up"]["bandwidth"], {"GB/s": 1})
    made = settings.device("gb300", lambda bus: faster * bus)
    made |= {"name": "vera-rubin", "about": "NVIDIA Vera Rubin, with the efficiencies of GB300"}
    origin = {"status": "assumed", "source": "sheet"}
    made["sources"] = made["sources"] | {"sheet": "ai-dynamo/aisimulate vr-nvl72-glm52.md"}
    made["memory"] |= {"capacity": f"{known['hbm_capacity_reported']} GB", "bandwidth": f"{known['hbm_bandwidth_at_max_clock']} GB/s"} | origin
    peak = {ours: f"{known[f'{theirs}_dense']} TFLOP/s" for ours, theirs in (("bf16", "bf16"), ("fp8", "fp8"), ("nvfp4", "fp4"))}
    made["compute"] |= {"units": UNITS} | peak | origin
    made["scale_up"] |= {"bandwidth": f"{links} GB/s"} | origin
    return made


def node(known):
    return copy.deepcopy(catalogue.load("hardware/nodes", "gb300-nvl4")) | {"name": "vera-rubin-nvl4", "device": device(known)}


def scenario(row, known):
    batch, new, past = (int(row[key]) for key in ("batch", "new_tokens_per_seq", "past_tokens_per_seq"))
    at_once = {"lanes": {"count": batch, "ramp": "0 s"}, "sessions": batch}
    out = {
        "service": {"model": "glm-5.2", "weights": "nvfp4", "kv": "fp8"},
        "cluster": {"node": node(known), "pools": [{"name": "main", "replicas": 1, "tensor": RANKS}]},
        "serving": {"engine": "vllm-v1", "async": False, "host": {"step": "0 s", "front_end": {"call": "0 s"}}, "sequences": 64},
        "kv": {"memory_fraction": 0.9},
    }
    if row["phase"] == "prefill":
        program, budget, longest = {"prompt": {"fixed": settings.tokens(new)}, "output": {"fixed": "1 tok"}}, batch * new, past + new + 1
        if past:  # the first call leaves the prefix behind; the second, alone in the window, finds it
            program["shared_prefix"] = {"tokens": settings.tokens(past), "group": "past"}
            at_once = {"arrivals": {"process": "gamma", "rate": "0.1 /s", "burstiness": 0.01}, "sessions": 2}
            out["run"] = {"warmup": "15 s", "duration": "25 s"}
    else:  # enough tokens for most gaps to lie between the last prefill and the first end
        output, budget, longest = 2 * math.ceil(batch * past / BUDGET) + 33, BUDGET, 2 * past
        program = {"prompt": {"fixed": settings.tokens(past)}, "output": {"fixed": settings.tokens(output)}}
    out["serving"] |= {"batch_tokens": settings.tokens(max(budget, 64)), "max_length": settings.tokens(longest)}
    return out | {"traffic": [{"name": "steps", **at_once, "program": program}]}


def step_case(row, known):
    decode = row["phase"] == "decode"
    case = Case(
        source="aisimulate-evidence",
        name="-".join(("vera-rubin", row["phase"], row["batch"], row["new_tokens_per_seq"], row["past_tokens_per_seq"])),
        scenario={},
        measured={"itl" if decode else "ttft": float(row["native_ms"]) / 1e3},
        device="vera_rubin",
        model="GLM-5.2",
        format="nvfp4",
        engine="sglang, one step",
        shape=f"{row['phase']}, {row['new_tokens_per_seq']} new after {row['past_tokens_per_seq']}, {RANKS} devices",
        concurrency=int(row["batch"]),
        statistic="p50" if decode else "mean",
    )
    if not decode and int(row["past_tokens_per_seq"]) and case.concurrency > 1:
        return settings.refuse(case, "cached prefixes in a batch of prompts")
    case.scenario = scenario(row, known)
    return case


def run_case(row, line):
    case = Case(
        source="aisimulate-evidence",
        name=f"parity-{line}",
        scenario={},
        measured={row["metric"]: float(row["native"])},
        device="",
        model=row["configuration"].split()[0],
        format="",
        engine=row["configuration"],
    )
    data_parallel = " DP" in row["configuration"]
    return settings.refuse(case, "data-parallel attention" if data_parallel else "lengths, flags and arrivals are not stated")


def cases(folder):
    folder = pathlib.Path(folder) / "aisimulate-evidence"
    known = facts(folder)
    steps = rows.cases("aisimulate-evidence", folder / "vera_rubin_glm52_steps.csv", lambda row, _: step_case(row, known))
    return steps + rows.cases("aisimulate-evidence", folder / "e2e_parity.csv", run_case)
