"""Writes docs/accuracy.md from the replayed cases."""

import errors

GOALS = {"tpot": (7, 20), "ttft": (18, 50), "throughput": (8, None)}  # median, 90th percentile of the size of the error, %
SHOWN = ("tpot", "ttft", "throughput")

HEAD = """# How far off marea is, and where not to trust it

This page is written by `tools/accuracy`, which replays every measured serving case that lies under `$MAREA_SHARED/data` as an ordinary scenario: engine version, lengths, load, parallelism and flags as the source states
them, kernels from the device's calibration, host times from the engine's version (`hardware/engines`), nothing tuned to a case. Errors are predicted / measured - 1; "7.1 / 18 (-2)" reads: half of the errors are
below 7.1 % in size, nine of ten below 18 %, the median error is -2 %.
"""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def cells(cases, metrics=SHOWN):
    return [errors.cell(cases, metric) for metric in metrics]


def goals(eligible):
    rows = []
    for metric, (median, high) in GOALS.items():
        found = errors.summary(eligible, metric)
        if found is None:
            continue
        met = found[1] <= median and (high is None or found[2] <= high)
        goal = f"{median} %" + (f" / {high} %" if high else "")
        rows.append([errors.METRICS[metric], found[0], f"{found[1]:.1f} % / {found[2]:.0f} %", goal, "met" if met else "**missed**"])
    return table(["metric", "points", "median / 90th percentile", "goal", ""], rows)


def sources(cases):
    rows = []
    for source, members in errors.groups(cases, lambda case: case.source):
        eligible = [case for case in members if not case.removed_by]
        answered = [case for case in eligible if case.predicted]
        rows.append([source, len(members), len(eligible), len(answered)] + cells(answered, errors.METRICS))
    return table(["data set", "cases", "eligible", "answered", *errors.METRICS.values()], rows)


def removed(cases):
    rows = []
    for rule, members in errors.groups(cases, lambda case: case.removed_by or "(eligible)"):
        rows.append([rule, len(members), sum(1 for case in members if case.predicted)] + cells(members))
    return table(["removed by", "cases", "answered all the same", "TPOT", "TTFT", "throughput"], rows)


def missing(cases, words):
    """What is missing, by data set."""
    present = {case.source for case in cases}
    return table(["data set", "what its largest errors come from"], [[source, why] for source, why in words.items() if source in present])


def unanswered(cases):
    rows = [[why, len(members)] for why, members in errors.groups([case for case in cases if case.failure], lambda case: f"{case.source}: {case.failure}")]
    return table(["not answered", "cases"], rows) if rows else "Every case was answered.\n"


def by(cases, name, key):
    return table([name, "points", "TPOT", "TTFT", "throughput"], [[value, len(members)] + cells(members) for value, members in errors.groups(cases, key)])


def worst(cases, metric, reasons, count=10):
    known = sorted((case for case in cases if case.error(metric) is not None), key=lambda case: -abs(case.error(metric)))[:count]
    rows = []
    for case in known:
        rows.append(
            [
                f"{case.model} {case.format}, {case.device}, {case.shape}, {case.concurrency} in flight, {case.engine}",
                f"{1e3 * case.measured[metric]:.4g} ms",
                f"{1e3 * case.predicted[metric]:.4g} ms",
                f"{100 * case.error(metric):+.0f} %",
                f"{case.spread.get(metric, 1):.2f}",
                next((why for fits, why in reasons if fits(case)), "not explained"),
            ]
        )
    return table([f"worst {errors.METRICS[metric]}", "measured", "predicted", "error", "repeats apart by", "what is missing"], rows)
