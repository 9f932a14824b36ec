"""Writes hardware/engines/*.yaml: host times of vLLM by version, fitted to measured serving runs after the kernels, and the times over all
versions. Says how well versions and models that were left out are met."""

import argparse
import importlib
import tempfile

import numpy

import catalogue
import errors
import host_fit

FEWEST = 10  # rows that an engine version needs for times of its own
SOURCE = (
    "fitted after the kernels to {rows} measured runs of {models} ({sources}); median errors in sample {errors}; tokenising from reused prefixes of 1,024 and 65,536 tokens (vLLM 0.18.1, published-e2e)"
)


def text(name, about, constants, source):
    def amount(key):
        return f"{constants[key]:.4g} us"

    lines = [f"name: {name}", f"about: {about}", "sources:", f"  serving: {source}"]
    lines += [f"{key}: {amount(key)}" for key in ("step", "sequence", "layer", "eager", "eager_layer", "prompt_token")]
    lines += [f"front_end: {{call: {amount('call')}, token: {host_fit.TOKEN} us}}", "status: fitted", "source: serving", ""]
    return "\n".join(lines)


# Where a row counts for the host times, and from where it comes, in the words of a source.
SOURCES = {
    "inferencex": "InferenceX, ai-dynamo/aiconfigurator@095f58a",
    "inference_perf": "inference-perf",
    "ml_energy": "ML.ENERGY",
}


def read(data):
    """Eligible cases of vLLM in a stated version, and the module of each."""
    cases, modules = [], []
    for name in SOURCES:
        for case in importlib.import_module(name).cases(data):
            if not case.removed_by and case.scenario and case.engine.startswith("vllm-"):
                cases.append(case)
                modules.append(name)
    return cases, numpy.array(modules)


def words(found):
    """ "TPOT 4.5 %, TTFT 8.3 %": the medians of the metrics that there are."""
    return ", ".join(
        f"{errors.METRICS[metric]} {100 * numpy.nanmedian(found[:, index]):.1f} %"
        for index, metric in enumerate(host_fit.METRICS)
        if numpy.isfinite(found[:, index]).any()
    )


def show(what, found):
    cells = []
    for index, metric in enumerate(host_fit.METRICS):
        known = 100 * found[:, index][numpy.isfinite(found[:, index])]
        if len(known):
            cells.append(f"{errors.METRICS[metric]} {numpy.median(known):.1f} / {numpy.quantile(known, 0.9):.0f} %")
    print(f"{what:44} {len(found):4} rows  {'  '.join(cells)}", flush=True)


def shipped(name):
    """Constants of an engine that is shipped already, in microseconds, to start from."""
    if not catalogue.has_engine(name):
        return {}
    host = catalogue.load("hardware/engines", name)
    out = {}
    for constant, (path, _, _) in host_fit.CONSTANTS.items():
        value = host
        for key in path:
            value = value.get(key, {}) if isinstance(value, dict) else {}
        if value:
            out[constant] = catalogue.number(value, {"us": 1.0, "ms": 1e3, "s": 1e6})
    return out


def leave_models_out(answers, rows, engines, models):
    """Constants for each of the rows without its model: those of its engine version from that version's other models, or from all versions where
    it has no other."""
    out = [None] * len(engines)
    for model in sorted(set(models[rows])):
        for engine in sorted(set(engines[rows][models[rows] == model])):
            others = rows[(engines[rows] == engine) & (models[rows] != model)]
            if len(others) < FEWEST:
                others = rows[models[rows] != model]
            found = host_fit.solve(answers, others)
            for row in rows[(engines[rows] == engine) & (models[rows] == model)]:
                out[row] = found
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--marea", required=True, help="the program")
    parser.add_argument("--data", required=True, help="folder of the data sets")
    options = parser.parse_args()
    cases, modules = read(options.data)
    engines, models = numpy.array([case.engine for case in cases]), numpy.array([case.model for case in cases])
    points = numpy.flatnonzero(modules == "inferencex")
    groups = {"vllm": points}  # of unknown versions: what the widest set says
    groups.update({engine: numpy.flatnonzero(engines == engine) for engine in sorted(set(engines)) if sum(engines == engine) >= FEWEST})
    constants = {name: shipped(name) for name in groups}

    def own(case):
        return constants.get(case.engine, constants["vllm"])

    start = [own(case) for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        base, slopes = host_fit.columns(options.marea, folder, cases, own)
    answers = host_fit.Answers(cases, base, slopes, start)
    constants = {name: host_fit.solve(answers, rows) for name, rows in groups.items()}
    for name, rows in groups.items():
        found = answers.errors([constants[name]] * len(cases))[rows]
        show(name, found)
        source = SOURCE.format(
            rows=len(rows), models=", ".join(sorted(set(models[rows]))), sources=", ".join(SOURCES[key] for key in sorted(set(modules[rows]))), errors=words(found)
        )
        about = "host times of vLLM, over all versions that were measured" if name == "vllm" else f"host times of vLLM {name.removeprefix('vllm-')}"
        (catalogue.ROOT / "hardware" / "engines" / f"{name}.yaml").write_text(text(name, about, constants[name], source))
    show("InferenceX, no host times at all", answers.errors([{}] * len(cases))[points])
    show("InferenceX, by engine version", answers.errors([own(case) for case in cases])[points])
    show("InferenceX, one set", answers.errors([constants["vllm"]] * len(cases))[points])
    held_out = leave_models_out(answers, points, engines, models)
    show("InferenceX, by version, model left out", answers.errors([of or {} for of in held_out])[points])


if __name__ == "__main__":
    main()
