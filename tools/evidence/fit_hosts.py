"""Writes hardware/engines/*.yaml: host times of vLLM by version, fitted to the eligible InferenceX points after the kernels, and the times
over all versions. Says how well versions and models that were left out are met."""

import argparse
import tempfile

import numpy

import catalogue
import host_fit
import inferencex

ROUNDS = 2  # of linear answers, each around the last one's constants
FEWEST = 10  # rows that an engine version needs for times of its own
SOURCE = (
    "fitted to {rows} closed-loop points of InferenceX ({models}; ai-dynamo/aiconfigurator@095f58a) after the kernels; median errors TPOT {tpot:.1f} %, "
    "TTFT {ttft:.1f} % in sample"
)


def text(name, about, constants, source):
    def amount(key):
        return f"{constants[key]:.4g} us"

    lines = [f"name: {name}", f"about: {about}", "sources:", f"  serving: {source}"]
    lines += [f"{key}: {amount(key)}" for key in ("step", "sequence", "layer", "eager", "eager_layer", "admission")]
    lines += [f"front_end: {{call: {amount('call')}, token: {amount('token')}}}", "status: fitted", "source: serving", ""]
    return "\n".join(lines)


def show(what, found):
    median, high = 100 * numpy.nanmedian(found, axis=0), 100 * numpy.nanquantile(found, 0.9, axis=0)
    print(f"{what:48} {len(found):4} rows  TPOT {median[0]:5.1f} / {high[0]:5.1f} %  TTFT {median[1]:5.1f} / {high[1]:5.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--marea", required=True, help="the program")
    parser.add_argument("--data", required=True, help="folder of the data sets")
    options = parser.parse_args()
    cases = [case for case in inferencex.cases(options.data) if not case.removed_by and case.scenario]
    engines, models = numpy.array([case.engine for case in cases]), numpy.array([case.model for case in cases])
    groups = {"vllm": numpy.arange(len(cases))}
    groups.update({engine: numpy.flatnonzero(engines == engine) for engine in sorted(set(engines)) if sum(engines == engine) >= FEWEST})

    def own(constants, case):
        return constants.get(case.engine, constants["vllm"])

    constants = {name: {} for name in groups}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            start = [own(constants, case) for case in cases]
            base, slopes = host_fit.columns(options.marea, folder, cases, lambda case: own(constants, case))
        answers = host_fit.Answers(cases, base, slopes, start)
        constants = {name: host_fit.solve(answers, rows) for name, rows in groups.items()}
    held_out = [None] * len(cases)
    # A model left out: the times of its engine version from that version's other models, or from all versions where it has none.
    for model in sorted(set(models)):
        for engine in sorted(set(engines[models == model])):
            others = numpy.flatnonzero((engines == engine) & (models != model))
            if len(others) < FEWEST:
                others = numpy.flatnonzero(models != model)
            found = host_fit.solve(answers, others)
            for row in numpy.flatnonzero((engines == engine) & (models == model)):
                held_out[row] = found
    for name, rows in groups.items():
        found = answers.errors([constants[name]] * len(cases))[rows]
        show(name, found)
        source = SOURCE.format(
            rows=len(rows), models=", ".join(sorted(set(models[rows]))), tpot=100 * numpy.nanmedian(found[:, 0]), ttft=100 * numpy.nanmedian(found[:, 1])
        )
        about = "host times of vLLM, over all versions that were measured" if name == "vllm" else f"host times of vLLM {name.removeprefix('vllm-')}"
        (catalogue.ROOT / "hardware" / "engines" / f"{name}.yaml").write_text(text(name, about, constants[name], source))
    show("no host times at all", answers.errors([{}] * len(cases)))
    show("times by engine version, in sample", answers.errors([own(constants, case) for case in cases]))
    show("one set of times, in sample", answers.errors([constants["vllm"]] * len(cases)))
    show("times by engine version, model left out", answers.errors(held_out))


if __name__ == "__main__":
    main()
