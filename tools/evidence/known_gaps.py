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
