"""One measured case: what was run, what came out, and the scenario that replays it."""

from dataclasses import dataclass, field


@dataclass
class Case:
    source: str  # the data set
    name: str  # unique within it; also the name of the scenario file
    scenario: dict  # as docs/model.md describes
    measured: dict  # metric -> value in SI units: "tpot", "ttft" (s), "throughput" (output tokens/s of the whole deployment), ...
    device: str
    model: str
    format: str
    engine: str  # with its version
    shape: str = ""  # lengths and parallelism in words
    concurrency: float = 0  # or a rate, where the load is open
    statistic: str = "mean"  # which statistic of the simulated calls stands beside the measured one
    removed_by: str = ""  # the rule that keeps this case out of the goals; empty: eligible
    spread: dict = field(default_factory=dict)  # metric -> largest over smallest of repeated real runs
    predicted: dict = field(default_factory=dict)
    throughput: object = None  # (tpot, ttft) -> throughput, where the measured one is derived so too
    failure: str = ""  # why marea gave no answer

    def error(self, metric):
        """predicted / measured - 1, or None."""
        if metric not in self.predicted or not self.measured.get(metric):
            return None
        return self.predicted[metric] / self.measured[metric] - 1
