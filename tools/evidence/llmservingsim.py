"""LLMServingSim: real vLLM runs on RTX PRO 6000, replayed request by request from the recorded workload (llmservingsim/vllm_run.*).

Its TTFT begins when the engine queues a request, so the front end takes no time here. The memory and the links of the devices are as fast as
the authors describe them (*.config.json): slower than those of the server that the kernels were measured on."""

import gzip
import json
import pathlib
import statistics

import catalogue
import rows
import settings
from case import Case

DEVICES = {"RTXPRO6000": "rtx-pro-6000", "RTX4090": "rtx-4090"}  # by the second word of a run's name
# Two devices of a server without NVLink.
NODE = {
    "name": "pair",
    "about": "two devices in one server, over PCIe",
    "sources": {"memory": "512 GB at 256 GB/s, as the authors describe their server", "network": "100 Gbit/s, assumed; nothing crosses it here"},
    "count": 2,
    "dram": {"capacity": "512 GB", "bandwidth": "256 GB/s", "status": "assumed", "source": "memory"},
    "network": {"count": 1, "bandwidth": "12.5 GB/s", "status": "assumed", "source": "network"},
}


def scenario(device, engine, version, workload, link, latency, memory):
    """`link` between two devices and `memory` of each in GB/s, `latency` of a link in microseconds, of which an all-reduce around a ring of n
    devices waits for 2 (n - 1)."""
    serving = settings.vllm(version)
    weights = settings.format_of(engine["dtype"])
    kv = weights if engine["kv_cache_dtype"] == "auto" else settings.format_of(engine["kv_cache_dtype"])
    made = settings.device(device, lambda bus: min(bus, link), lambda fitted, ranks: max(fitted, 2 * (ranks - 1) * latency))
    made["memory"] |= {"bandwidth": f"{memory} GB/s"}
    node = NODE | {"device": made}
    pool = {"name": "main", "replicas": 1, "tensor": engine["tensor_parallel_size"], "data": engine["data_parallel_size"]}
    if engine.get("enable_expert_parallel"):  # experts go over all ranks of all groups
        pool["expert_ranks"] = engine["tensor_parallel_size"] * engine["data_parallel_size"]
    return {
        "service": {"model": settings.model(engine["model"]), "weights": weights, "kv": kv},
        "cluster": {"node": node, "pools": [pool]},
        "serving": serving
        | {
            "host": catalogue.load("hardware/engines", serving["host"]) | {"front_end": {"call": "0 s", "token": "0 s"}},
            "block": "16 tok",
            "batch_tokens": settings.tokens(engine["max_num_batched_tokens"]),
            "sequences": engine["max_num_seqs"],
            "prefix_caching": True,
        },
        "kv": {"memory_fraction": 0.9},
        "traffic": [{"name": "sharegpt", "arrivals": "recorded", "trace": {"format": "llmservingsim", "file": str(workload.resolve())}}],
    }


def measured(requests):
    """Means over the requests, and output tokens a second from the first request to the last token."""
    first = min(request["queued_ts"] for request in requests)
    last = max(request["last_token_ts"] for request in requests)
    return {
        "ttft": statistics.mean(r["first_token_ts"] - r["queued_ts"] for r in requests),
        "tpot": statistics.mean((r["last_token_ts"] - r["first_token_ts"]) / (r["output_toks"] - 1) for r in requests),
        "latency": statistics.mean(r["last_token_ts"] - r["queued_ts"] for r in requests),
        "throughput": sum(r["output_toks"] for r in requests) / (last - first),
    }


def name_of(meta):
    return meta.name.removeprefix("vllm_run.").removesuffix(".meta.json")


def read(meta):
    """The case of one run, from its *.meta.json."""
    description = json.loads(meta.read_text())
    engine = description["engine_kwargs"]
    device = DEVICES.get(name_of(meta).split(".")[0])
    if not settings.has_device(device):
        raise settings.NotKnown("a device that is not in the catalogue")
    workload = meta.parent / f"workload.{pathlib.Path(description['dataset_path']).stem}.jsonl.gz"
    with gzip.open(str(meta).replace(".meta.json", ".requests.jsonl.gz"), "rt") as file:
        requests = [json.loads(line) for line in file]
    case = Case(
        source="llmservingsim",
        name=name_of(meta),
        scenario={},
        measured=measured(requests),
        device=device.replace("-", "_"),
        model=engine["model"].split("/")[-1],
        format=settings.format_of(engine["dtype"]),
        engine=f"vllm-{description['vllm_version']}",
        shape=f"ShareGPT, 10 requests/s, {engine['tensor_parallel_size'] * engine['data_parallel_size']} devices",
        concurrency=engine["max_num_seqs"],
    )
    if not workload.exists():
        return settings.refuse(case, "its workload is not there")
    server = json.loads(pathlib.Path(str(meta).replace(".meta.json", ".config.json")).read_text())
    memory = server["nodes"][0]["instances"][0]["npu_mem"]["mem_bw"]
    link, latency = server["link_bw"], server["link_latency"] / 1e3
    case.scenario = scenario(device, engine, description["vllm_version"], workload, link, latency, memory)
    return case


def cases(folder):
    found = sorted((pathlib.Path(folder) / "llmservingsim").glob("vllm_run.*.meta.json"))
    return [rows.guarded("llmservingsim", name_of(meta), read, meta) for meta in found]
