"""Fits the host times of engine versions to measured serving runs, after the kernels: nothing of a device or a model is fitted here.

The answers of marea are near linear in host times, so each constant is turned once by a known amount, everything is replayed, and the
differences are the columns of a robust non-negative least-squares problem in the logarithms of times; they are taken
around the constants shipped before, so a second call refines the first. A start whose queues grow where the measured ones did not says
nothing of the right constants: it has to lie on the right side of the knee of every run. One set of constants for each engine version, none for a model."""

import copy

import numpy
import scipy.optimize

import replay

# constant -> (path in serving.host, unit, size of the turn). A time for each admission is not among them: what prompts cost grows with their
# tokens, and a time that came out of prompts of thousands of tokens would drown an engine that admits a hundred short ones a second.
CONSTANTS = {
    "step": (("step",), "us", 500.0),
    "sequence": (("sequence",), "us", 10.0),
    "layer": (("layer",), "us", 10.0),
    "eager": (("eager",), "us", 5000.0),
    "eager_layer": (("eager_layer",), "us", 100.0),
    "prompt_token": (("prompt_token",), "us", 5.0),
    "call": (("front_end", "call"), "us", 20000.0),
}
# us of the front end for a prompt token, whether the cache has it or not, not fitted: a reused prefix of 65,536 tokens takes 69 ms more than
# one of 1,024 (vLLM 0.18.1, published-e2e h20-tier-latency). Answers to 49,408 tokens, 49,152 of them cached (ld-pool-gptoss), leave 1.0.
TOKEN = 1.07
METRICS = ("tpot", "ttft", "itl", "latency")
PRIOR = 0.01  # one turn of a constant costs as much as an error of 1 % in one row: settles what the rows leave open


def host(constants):
    """The map of `serving.host` for constants in microseconds."""
    out = {}
    for name, (path, unit, _) in CONSTANTS.items():
        into = out
        for key in path[:-1]:
            into = into.setdefault(key, {})
        into[path[-1]] = f"{constants.get(name, 0.0):.4g} {unit}"
    out["front_end"]["token"] = f"{TOKEN} us"
    return out


def predictions(marea, folder, cases, constants):
    """Rows x metrics, with the constants of each case's engine version; NaN where marea gave no answer."""
    turned = []
    for case in cases:
        case = copy.deepcopy(case)
        case.scenario["serving"]["host"] = host(constants(case))
        case.predicted, case.failure = {}, ""
        turned.append(case)
    done = replay.run_all(marea, folder, turned)
    return numpy.array([[case.predicted.get(metric, numpy.nan) for metric in METRICS] for case in done])


def columns(marea, folder, cases, at):
    """Predictions at the constants `at(case)`, and how they change with a full turn of each constant."""
    base = predictions(marea, folder, cases, at)
    slopes = {}
    for name, (_, _, turn) in CONSTANTS.items():
        slopes[name] = predictions(marea, folder, cases, lambda case: {**at(case), name: at(case).get(name, 0.0) + turn}) - base
    return base, slopes


class Answers:
    """What marea would answer for other constants, to first order."""

    def __init__(self, cases, base, slopes, start):
        """`base` at the constants `start` (one map a case), `slopes` for a full turn of each constant."""
        self.names = list(CONSTANTS)
        self.turns = numpy.array([CONSTANTS[name][2] for name in self.names])
        self.measured = numpy.array([[case.measured.get(metric, numpy.nan) for metric in METRICS] for case in cases])
        self.base = base
        self.jacobian = numpy.stack([slopes[name] for name in self.names], axis=-1)  # rows x metrics x constants
        self.start = numpy.array([[of.get(name, 0.0) for name in self.names] for of in start]) / self.turns

    def predicted(self, turns, rows):
        """At constants in turns: one set for all rows, or one for each."""
        return self.base[rows] + numpy.einsum("rmc,rc->rm", self.jacobian[rows], turns - self.start[rows])

    def errors(self, constants):
        """|predicted / measured - 1| of every row and metric, with one map of constants a row."""
        turns = numpy.array([[of.get(name, 0.0) for name in self.names] for of in constants]) / self.turns
        return numpy.abs(self.predicted(turns, numpy.arange(len(self.base))) / self.measured - 1)


def solve(answers, rows):
    """Constants (in microseconds) from the rows given by index."""
    known = numpy.isfinite(answers.measured[rows]) & numpy.isfinite(answers.base[rows]) & numpy.isfinite(answers.jacobian[rows]).all(axis=-1)

    def residual(turns):
        off = numpy.log(numpy.maximum(answers.predicted(turns, rows), 1e-6) / answers.measured[rows])
        return numpy.concatenate([off[known], PRIOR * turns])

    first = numpy.maximum(answers.start[rows].mean(axis=0), 1e-3)
    fit = scipy.optimize.least_squares(residual, first, bounds=(0, numpy.inf), loss="soft_l1", f_scale=0.1)
    return dict(zip(answers.names, numpy.where(fit.x > 1e-3, fit.x, 0.0) * answers.turns))
