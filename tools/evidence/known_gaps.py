"""What the physics of marea lacks, and how to recognise the cases that it shows in: (test, words). The first that fits is named beside a
bad case; no test looks at a prediction."""

GAPS = [
    (
        lambda case: case.engine == "vllm-0.18.0" and case.model == "MiniMax-M2.5",
        "graphs captured piecewise (the published script of this model on Hopper): every step launches its attention by itself; all versions of one engine share their host times here",
    ),
    (
        lambda case: case.measured.get("ttft", 0) > 3,
        "the pool of KV is full: first tokens wait for whole answers to end, so a few percent of pool size or of TPOT move the wait by much more",
    ),
    (
        lambda case: "Kimi" in case.model and case.format == "fp4",
        "all-reduce fused with the norm, and latent attention measured as whole modules: floors of kernels that the engine fuses are counted one by one",
    ),
    (
        lambda case: "gpt-oss" in case.model and case.device.startswith("h"),
        "mxfp4 experts run in one of two kernels (Marlin, Triton) by batch; one law covers both",
    ),
    (
        lambda case: "MiniMax" in case.model and case.format == "fp8",
        "kernels that make fp8 activations and sort tokens to experts are not in the tables",
    ),
    (
        lambda case: case.model == "Llama-3.1-70B" and case.device == "b200_sxm",
        "prompts run outside captured graphs with fused all-reduce; the time grows with the ranks, which a time per step does not",
    ),
    (
        lambda case: case.model == "Llama-3.1-70B",
        "host times of this version are shared with runs on Blackwell, whose prompts cost the host more",
    ),
]

# What the largest errors of the other data sets come from.
DATA_SETS = {
    "inference-perf": "near the knee a few percent of step time move the wait by much more",
    "llmservingsim": "steps that mix prompts and answers: on this device one kernel attends for both, without splitting long contexts or sharing keys between query heads, so 128 answers of 1,024 tokens beside a prompt take 664 us a layer instead of 229 (the authors' attention profile); the law prices them apart, which is 1 to 4 ms of a mean step",
    "ml-energy": "host time for each sequence of vLLM 0.11, several times that of later versions and most of the gap at large batches; API servers that are slower than the engine (reasoning parsers); older expert kernels",
    "blis-ground-truth": "host times of an undated vLLM: the 9 ms that a call spends in the front end of all versions together are 5 to 10 ms too many here, where a first token of a small model takes 20 to 50; 2 GB a device of Llama 4 Scout that no rule of the account explains",
    "llm-d-prism": "two devices leave room for two or three contexts, so a gigabyte of memory moves everything by a third; a run on eight devices that decodes at half the speed of the same replica elsewhere in the source",
    "aisimulate-evidence": "sparse attention and its index are priced as vLLM 0.24 runs them, with 119 us of small kernels in each of the 21 layers that own an index; SGLang, which was measured, fuses them and the all-reduces",
    "mlperf-inference": "flags of the engine are not stated",
    "published-e2e": "the host's time for each token of a prompt, 4 us from other models, which gpt-oss on H200 does not show; the version of the engine is not stated, and since 0.21 it sets several GB aside for graphs (vLLM issue 45178)",
}
