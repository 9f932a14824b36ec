"""Names that the modules of the data sets share: models, nodes and what a version of vLLM brings with it."""

import copy

import catalogue

# Hugging Face name without its owner -> models/*.yaml. A fine-tuned model has the shape of the one it was made from.
MODELS = {
    "CodeLlama-34b-Instruct-hf": "codellama-34b",
    "DeepSeek-R1": "deepseek-v3",
    "DeepSeek-V3": "deepseek-v3",
    "DeepSeek-R1-0528": "deepseek-v3",
    "DeepSeek-V3.1": "deepseek-v3",
    "Llama-2-7b-hf": "llama-2-7b",
    "Llama-2-70b-hf": "llama-2-70b",
    "Llama-3.1-8B": "llama-3.1-8b",
    "Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "Llama-3.1-8B-Instruct-FP8": "llama-3.1-8b",
    "Llama-3.1-70B": "llama-3.1-70b",
    "Llama-3.1-70B-Instruct": "llama-3.1-70b",
    "Llama-3.3-70B-Instruct": "llama-3.1-70b",
    "Llama-3.1-405B-Instruct": "llama-3.1-405b",
    "Llama-3.1-405B-Instruct-FP8": "llama-3.1-405b",
    "Llama-4-Scout-17B-16E-Instruct": "llama-4-scout",
    "Llama-4-Scout-17B-16E-Instruct-FP8-dynamic": "llama-4-scout",
    "Meta-Llama-3-8B-Instruct": "llama-3.1-8b",
    "Kimi-K2.5": "kimi-k2.5",
    "MiniMax-M2.5": "minimax-m2.5",
    "Mistral-Nemo-Instruct-2407": "mistral-nemo-12b",
    "Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "Mixtral-8x22B-Instruct-v0.1": "mixtral-8x22b",
    "Qwen2.5-7B-Instruct": "qwen2.5-7b",
    "Qwen3-8B": "qwen3-8b",
    "Qwen3-14B": "qwen3-14b",
    "Qwen3-32B": "qwen3-32b",
    "Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b",
    "Qwen3-30B-A3B-Thinking-2507": "qwen3-30b-a3b",
    "Qwen3-Coder-30B-A3B-Instruct": "qwen3-30b-a3b",
    "Qwen3-235B-A22B-FP8": "qwen3-235b-a22b",
    "Qwen3-235B-A22B-Instruct-2507": "qwen3-235b-a22b",
    "Qwen3-235B-A22B-Instruct-2507-FP8": "qwen3-235b-a22b",
    "Qwen3-235B-A22B-Thinking-2507-FP8": "qwen3-235b-a22b",
    "Yi-34B": "yi-34b",
    "gpt-oss-20b": "gpt-oss-20b",
    "gpt-oss-120b": "gpt-oss-120b",
}
NODES = {"A100": "dgx-a100", "H100": "hgx-h100", "H200": "hgx-h200", "B200": "hgx-b200", "B300": "hgx-b300"}
FORMATS = {"bfloat16": "bf16", "FP16": "bf16", "fp8": "fp8", "FP8": "fp8", "mxfp4": "mxfp4", "int4": "int4"}


class NotKnown(Exception):
    """The rule that keeps a case from being replayed, in words."""


def model(path):
    """The shipped model of a Hugging Face path."""
    name = path.split("/")[-1]
    if name not in MODELS:
        raise NotKnown("a model that is not in the catalogue")
    return MODELS[name]


def node(device):
    """The shipped node of a device's short name: "H100"."""
    if device not in NODES:
        raise NotKnown("a device that is not in the catalogue")
    return NODES[device]


def format_of(name):
    """Our name of a number format."""
    if name not in FORMATS:
        raise NotKnown("a number format that is not in the catalogue")
    return FORMATS[name]


def has_device(name):
    """Whether a device of that name is shipped."""
    return name is not None and (catalogue.ROOT / "hardware" / "devices" / f"{name}.yaml").exists()


def device(name, bus, floor=lambda fitted, ranks: fitted):
    """The map of a shipped device with its calibration, for a scenario to hold; `bus` makes the GB/s of its all-reduces from those fitted, and
    `floor` their least time in microseconds from the fitted one and the number of ranks."""
    made = copy.deepcopy(catalogue.load("hardware/devices", name))
    if isinstance(made.get("calibration"), str):
        made["calibration"] = copy.deepcopy(catalogue.load("hardware/calibration", made["calibration"]))
    for holder in (made, made.get("calibration") or {}):
        for row in (holder.get("costs") or {}).get("all_reduce", []):
            row["bus"] = f"{bus(catalogue.number(row['bus'], {'GB/s': 1, 'TB/s': 1000})):.6g} GB/s"
            row["floor"] = f"{floor(catalogue.number(row['floor'], {'us': 1, 'ms': 1000}), row['ranks']):.6g} us"
    return made


def longest(name):
    """Tokens that a shipped model handles."""
    return int(catalogue.number(catalogue.load("models", name)["max_length"], {"tok": 1}))


def vllm(version="", date=""):
    """Keys of `serving:` that a vLLM version decides: host times, and the scheduler. Before 0.14 it was synchronous and admitted prompts
    without room for all of them."""
    name = catalogue.engine(version, date) if date else catalogue.engine(version)
    known = (catalogue.ROOT / "hardware" / "engines" / f"{name}.yaml").exists()
    keys = {"engine": "vllm-v1", "host": name if known else "vllm"}
    number = [int(part) for part in version.split(".")[:2]] if version[:1].isdigit() else None
    if date.startswith("2025") or (number and number < [0, 14]):
        keys["version"] = "2025-12"
    return keys


def tokens(count):
    return f"{round(count)} tok"


def refuse(case, why):
    """Marks a case as one that is listed and not replayed."""
    case.scenario, case.removed_by, case.failure = {}, why, f"not simulated: {why}"
    return case
