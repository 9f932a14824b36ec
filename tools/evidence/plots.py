"""The two pictures of the accuracy page."""

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as pyplot  # noqa: E402

import errors  # noqa: E402

TOUCH = {"tpot": "time per output token", "ttft": "time to first token"}


def predicted_against_measured(cases, file):
    """One point a case, one colour a device; lines of equality and of 20 % either way."""
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.6))
    for axis, metric in zip(axes, TOUCH):
        for device, members in errors.groups(cases, lambda case: case.device):
            known = [case for case in members if case.error(metric) is not None]
            axis.plot([1e3 * case.measured[metric] for case in known], [1e3 * case.predicted[metric] for case in known], ".", ms=4, label=device)
        values = [1e3 * case.measured[metric] for case in cases if case.error(metric) is not None]
        low, high = 0.8 * min(values), 1.25 * max(values)
        for factor, style in ((1, "-"), (1.2, ":"), (1 / 1.2, ":")):
            axis.plot([low, high], [factor * low, factor * high], style, color="0.5", lw=0.8)
        axis.set(xscale="log", yscale="log", xlim=(low, high), xlabel=f"measured {TOUCH[metric]}, ms", ylabel="predicted, ms")
    axes[0].legend(fontsize=8)
    save(figure, file)


def error_by_concurrency(cases, file):
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for axis, metric in zip(axes, TOUCH):
        for model, members in errors.groups(cases, lambda case: case.model):
            known = [case for case in members if case.error(metric) is not None]
            axis.plot([case.concurrency for case in known], [100 * case.error(metric) for case in known], ".", ms=4, label=model)
        axis.axhline(0, color="0.5", lw=0.8)
        axis.set(xscale="log", xlabel="requests in flight", ylabel=f"error of {TOUCH[metric]}, %", ylim=(-80, 100))
    axes[0].legend(fontsize=8)
    save(figure, file)


def save(figure, file):
    figure.tight_layout()
    figure.savefig(file, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
