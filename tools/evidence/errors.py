"""Errors of cases, summed up."""

import numpy

METRICS = {"tpot": "TPOT", "ttft": "TTFT", "latency": "latency", "itl": "gap between tokens", "throughput": "throughput", "kv_tokens": "KV pool"}


def errors(cases, metric):
    """predicted / measured - 1 of the cases that have both."""
    return numpy.array([case.error(metric) for case in cases if case.error(metric) is not None])


def summary(cases, metric):
    """(count, median of |error|, 90th percentile of |error|, median error), in percent; None without any."""
    found = errors(cases, metric)
    if not len(found):
        return None
    size = 100 * numpy.abs(found)
    return len(found), numpy.median(size), numpy.quantile(size, 0.9), 100 * numpy.median(found)


def cell(cases, metric):
    """ "7.1 / 18 (-2)": median and 90th percentile of the size of the error, and the median error, in percent."""
    found = summary(cases, metric)
    return "" if found is None else f"{found[1]:.1f} / {found[2]:.0f} ({found[3]:+.0f})"


def groups(cases, key):
    """(value, cases) of each value of key, in order."""
    values = sorted({key(case) for case in cases})
    return [(value, [case for case in cases if key(case) == value]) for value in values]


def band(concurrency):
    """The range of concurrency a case lies in."""
    for low, high in ((1, 4), (5, 16), (17, 64), (65, 256)):
        if concurrency <= high:
            return f"{low:3} to {high}"
    return "more than 256"
