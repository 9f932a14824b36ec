"""Replays all cases and writes docs/accuracy.md, its pictures and, where asked for, a table of every case."""

import argparse
import csv
import pathlib
import tempfile

import catalogue
import known_gaps
import page
import plots
import replay
import sources

def write_table(cases, file):
    with open(file, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["source", "case", "device", "model", "format", "engine", "shape", "concurrency", "metric", "measured", "predicted", "error", "removed by", "failure"])
        for case in cases:
            for metric, measured in case.measured.items():
                error = case.error(metric)
                writer.writerow(
                    [case.source, case.name, case.device, case.model, case.format, case.engine, case.shape, case.concurrency, metric]
                    + [f"{measured:.6g}", f"{case.predicted.get(metric, float('nan')):.6g}", "" if error is None else f"{error:.4f}", case.removed_by, case.failure]
                )


def text(cases):
    points = [case for case in cases if case.source == "inferencex-measured"]
    eligible = [case for case in points if not case.removed_by]
    parts = [
        page.HEAD,
        "## Goals, over the eligible InferenceX points\n",
        page.goals(eligible),
        "![predicted against measured](accuracy/predicted.png)\n\n![error by concurrency](accuracy/concurrency.png)\n",
        "## By data set\n",
        page.sources(cases),
        "## Which points the goals count\n",
        "A rule sees settings and measurements, never a prediction. The rows that it removes are replayed all the same where marea has their engine.\n",
        page.removed(points),
        "## By device, model, format, concurrency and engine (eligible InferenceX points)\n",
    ]
    for name, key in (
        ("device", lambda case: case.device),
        ("model", lambda case: case.model),
        ("format", lambda case: case.format),
        ("in flight", lambda case: page.errors.band(case.concurrency)),
        ("engine", lambda case: case.engine),
        ("lengths, devices", lambda case: case.shape),
    ):
        parts.append(page.by(eligible, name, key))
    parts.append("## The worst, and what is missing\n")
    parts += [page.worst(eligible, metric, known_gaps.GAPS) for metric in ("tpot", "ttft")]
    parts += ["Elsewhere:\n", page.missing(cases, known_gaps.DATA_SETS)]
    parts += ["## Not answered\n", page.unanswered(cases)]
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--marea", required=True, help="the program")
    parser.add_argument("--data", required=True, help="folder of the data sets")
    parser.add_argument("--keep", help="folder in which to leave the scenarios")
    parser.add_argument("--table", help="CSV of every case and metric")
    options = parser.parse_args()
    cases = sources.read(options.data)
    with tempfile.TemporaryDirectory() as folder:
        cases = replay.run_all(options.marea, options.keep or folder, cases)
    docs = catalogue.ROOT / "docs"
    (docs / "accuracy").mkdir(exist_ok=True)
    points = [case for case in cases if case.source == "inferencex-measured" and not case.removed_by]
    if any(case.predicted for case in points):
        plots.predicted_against_measured(points, docs / "accuracy" / "predicted.png")
        plots.error_by_concurrency(points, docs / "accuracy" / "concurrency.png")
    (docs / "accuracy.md").write_text(text(cases))
    if options.table:
        write_table(cases, pathlib.Path(options.table))
    print(page.goals(points))
    print(page.sources(cases))


if __name__ == "__main__":
    main()
