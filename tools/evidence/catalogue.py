"""What the shipped YAML says of models and devices, as far as the rules of eligibility need it: bytes, never times."""

import functools
import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BITS = {"bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "nvfp4": 4.5, "mxfp4": 4.25, "int4": 4.25}


@functools.cache
def load(kind, name):
    return yaml.safe_load((ROOT / kind / f"{name}.yaml").read_text())


def engine(version, date=""):
    """The name of the host times of a vLLM version: "vllm-0.19.0". Runs of 2025 whose version is not stated are of one quarter and go
    together; any other without a version has the times over all versions."""
    if not version:
        return "vllm-2025-10" if date.startswith(("2025-10", "2025-11")) else "vllm"
    return f"vllm-{version.split('-')[0] + '-2026-03' if version.startswith('nightly') else version}"


def has_engine(name):
    return (ROOT / "hardware" / "engines" / f"{name}.yaml").exists()


def number(text, units):
    value, unit = str(text).split()
    return float(value) * units[unit]


@functools.cache
def bandwidth(node):
    device = load("hardware/nodes", node)["device"]
    return number(load("hardware/devices", device)["memory"]["bandwidth"], {"TB/s": 1e12, "GB/s": 1e9})


@functools.cache
def weight_bytes(model, weights, tokens):
    """Bytes of weights that one step of so many tokens reads at least: everything but embeddings, and of each expert layer the experts that
    the tokens touch if the router spreads them evenly."""
    m = load("models", model)
    a, hidden = m["attention"], m["hidden"]
    if "latent" in a:
        q = a["latent"]
        per_layer = hidden * (q["query_rank"] + q["rank"] + q["rope_dim"]) + q["query_rank"] * a["heads"] * (q["nope_dim"] + q["rope_dim"])
        per_layer += q["rank"] * a["heads"] * (q["nope_dim"] + q["value_dim"]) + a["heads"] * q["value_dim"] * hidden
    else:
        per_layer = hidden * a["head_dim"] * (2 * a["heads"] + 2 * a["kv_heads"])
    attention = m["layers"] * per_layer
    dense = 0
    if "feed_forward" in m:
        dense = 3 * hidden * m["feed_forward"]["width"] * m["feed_forward"].get("layers", m["layers"])
    routed = 0
    if "experts" in m:
        e = m["experts"]
        touched = e["count"] * (1 - (1 - e["per_token"] / e["count"]) ** tokens)
        routed = e["layers"] * 3 * hidden * (touched * e["width"] + e.get("shared_width", 0))
    four_bit = BITS[weights] < 8
    attention_bits = 16 if "experts" in m and four_bit else BITS[weights]
    return (attention * attention_bits + (dense + routed) * BITS[weights] + hidden * m["vocabulary"] * 16) / 8


def kv_bytes(model, kv, tensor):
    """Bytes of KV of one token over all devices; latent KV is read by each of them."""
    a, layers = load("models", model)["attention"], load("models", model)["layers"]
    if "latent" in a:
        return layers * tensor * (a["latent"]["rank"] + a["latent"]["rope_dim"]) * BITS[kv] / 8
    full = layers - a.get("windowed", {}).get("layers", 0)
    return full * 2 * a["kv_heads"] * a["head_dim"] * BITS[kv] / 8
