"""InferenceX and NVIDIA points: closed loops of fixed-length random prompts, one row a point (inferencex-measured/e2e_points.csv)."""

import pathlib

import catalogue
import rows
import settings
from case import Case

SETTINGS = ("concurrency", "precision", "isl", "osl", "tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
REPEATABLE = 1.10  # largest spread between repeats of a point that the goals count


def node(row):
    return settings.node(row["system"].removesuffix("_sxm").upper())


def recipe(row):
    """Engine flags of a point, as the published benchmark scripts of the source set them (SemiAnalysisAI/InferenceX, benchmarks/ and
    benchmarks/single_node/, the script of the model, precision and device). Where a script is silent, vLLM's own default on these devices
    holds: 8,192 tokens a step, 1,024 sequences, 16-bit KV, 0.9 of the memory."""
    model, blackwell = settings.model(row["model_path"]), row["system"].startswith("b")
    concurrency, isl = int(row["concurrency"]), int(row["isl"])
    # NVIDIA's NVFP4 checkpoints ask for an fp8 KV cache themselves (hf_quant_config.json: kv_cache_quant_algo), which vLLM follows.
    kv = "fp8" if weights(row) == "nvfp4" else "bf16"
    flags = {"kv": kv, "batch_tokens": 8192, "sequences": 1024, "memory_fraction": 0.9, "block": 16}
    if model == "llama-3.1-70b":
        flags.update(kv="fp8", sequences=512 if blackwell else concurrency)
    elif model == "gpt-oss-120b":
        flags.update(kv="fp8" if blackwell else "bf16", sequences=512 if blackwell else concurrency)
    elif model == "kimi-k2.5":
        if row["precision"] == "int4":
            flags.update(memory_fraction=0.97 if blackwell else 0.95)
        if not (row["precision"] == "int4" and blackwell):
            flags.update(sequences=concurrency)
    elif model == "minimax-m2.5":
        if not blackwell:
            flags.update(sequences=256)
        elif row["measured_date"] >= "2026-04-01":  # the scripts from then on
            flags.update(kv="fp8", batch_tokens=2 * isl, block=32 if row["precision"] == "fp8" else 16)
        elif row["precision"] == "fp8":
            flags.update(memory_fraction=0.95, block=32)
        else:
            flags.update(sequences=concurrency)
    return flags


def expert_ranks(row):
    """Ranks that share out whole experts. Exports of April 2026 multiply the attention-parallel size by the expert-parallel one: tp n, dp n,
    ep n x n are n devices with tensor n, expert n."""
    tensor, data, expert = (int(row[key] or 0) for key in ("tp_size", "attention_dp_size", "moe_ep_size"))
    if tensor == data and expert == tensor * tensor:
        return tensor
    return max(1, expert)


def weights(row):
    if row["precision"] == "fp4":
        return "mxfp4" if "gpt-oss" in row["model_path"] else "nvfp4"
    return settings.format_of(row["precision"] or "bfloat16")


def engine(row):
    return catalogue.engine(row["backend_version"], row["measured_date"])


def host(row):
    """Host times of the row's engine version; of vLLM at large where that version was not fitted."""
    return engine(row) if catalogue.has_engine(engine(row)) else "vllm"


def scenario(row):
    """The closed loop: all clients start at once, ten prompts each. InferenceX draws lengths evenly from 80 to 100 % of the stated ones,
    NVIDIA's own rows have them exact."""
    concurrency, isl, osl = (int(row[key]) for key in ("concurrency", "isl", "osl"))
    flags = recipe(row)
    exact = row["source"].startswith("nvidia")

    def length(tokens):
        return {"fixed": f"{tokens} tok"} if exact else {"uniform": [f"{round(0.8 * tokens)} tok", f"{tokens} tok"]}

    sequences = max(flags["sequences"], 1)
    pool = {"name": "main", "replicas": 1, "tensor": int(row["tp_size"])}
    if expert_ranks(row) > 1:
        pool["expert_ranks"] = expert_ranks(row)
    return {
        "service": {"model": settings.model(row["model_path"]), "weights": weights(row), "kv": flags["kv"]},
        "cluster": {"node": node(row), "pools": [pool]},
        "serving": {
            "engine": "vllm-v1",
            "host": host(row),
            "block": f"{flags['block']} tok",
            "batch_tokens": f"{max(flags['batch_tokens'], sequences)} tok",
            "sequences": sequences,
            "max_length": f"{isl + osl + 256} tok",
            "prefix_caching": False,
        },
        "kv": {"memory_fraction": flags["memory_fraction"]},
        "traffic": [
            {
                "name": "clients",
                "lanes": {"count": concurrency, "ramp": "0 s"},
                "sessions": 10 * concurrency,
                "program": {"prompt": length(isl), "output": length(osl)},
            }
        ],
    }


def removed_by(row):
    """The rule that keeps a row out of the goals. No rule looks at a prediction."""
    if row["mode"] != "agg":
        return "prefill and decode in separate pools"
    if row["backend"] != "vllm":
        return "another engine than vLLM"
    if any(not row[key] for key in SETTINGS):
        return "settings missing"
    if float(row["tpot_spread"]) > REPEATABLE or float(row["ttft_spread"]) > REPEATABLE:
        return f"repeats more than {round(100 * (REPEATABLE - 1))} % apart"
    if float(row["silicon_tpot_ms"]) / 1e3 < floor(row):
        return "faster than its bytes at full datasheet bandwidth (speculative decoding)"
    return ""


def floor(row):
    """Seconds that the weights and the KV of one decode step need at the full datasheet bandwidth of all devices of the row."""
    concurrency = int(row["concurrency"])
    context = 0.9 * (int(row["isl"]) + int(row["osl"]) / 2)
    bytes_read = catalogue.weight_bytes(settings.model(row["model_path"]), weights(row), concurrency)
    bytes_read += concurrency * context * catalogue.kv_bytes(settings.model(row["model_path"]), recipe(row)["kv"], int(row["tp_size"]))
    return bytes_read / (catalogue.bandwidth(node(row)) * int(row["tp_size"]))


def throughput(row, ttft, tpot):
    """Output tokens a second of the whole deployment in the closed loop; the source states none, so both sides follow from the two times."""
    osl = int(row["osl"])
    return int(row["concurrency"] or 0) * osl / (ttft + (osl - 1) * tpot)


def case_of(row, line):
    rule = removed_by(row)
    runs = row["mode"] == "agg" and row["backend"] == "vllm" and row["concurrency"]
    tpot, ttft = float(row["silicon_tpot_ms"]) / 1e3, float(row["silicon_ttft_ms"]) / 1e3
    return Case(
        source="inferencex-measured",
        name=f"inferencex-{line}",
        scenario=scenario(row) if runs else {},
        measured={"tpot": tpot, "ttft": ttft, "throughput": throughput(row, ttft, tpot)},
        device=row["system"],
        model=row["model_path"].split("/")[-1],
        format=row["precision"] or "bf16",
        engine=engine(row) if row["backend"] == "vllm" else row["backend"],
        shape=f"{row['isl']} in, {row['osl']} out, {row['tp_size'] or '?'} devices",
        concurrency=int(row["concurrency"] or 0),
        removed_by=rule,
        spread={"tpot": float(row["tpot_spread"]), "ttft": float(row["ttft_spread"])},
        throughput=lambda tpot, ttft: throughput(row, ttft, tpot),
        failure="" if runs else "not simulated: " + rule,
    )


def cases(folder):
    return rows.cases("inferencex-measured", pathlib.Path(folder) / "inferencex-measured" / "e2e_points.csv", case_of)
