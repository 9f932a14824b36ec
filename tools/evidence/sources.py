"""All measured cases under a data folder."""

import importlib
import re

import rows

# A module a data set, each with cases(folder).
SOURCES = ("inferencex", "inference_perf", "llmservingsim", "ml_energy", "blis", "llmd_prism", "aisimulate", "mlperf", "published_e2e")


def read(data):
    """All cases; their names, which are also those of files, are made so and unique within a data set."""
    cases, known = [], {}
    for module in SOURCES:
        for case in rows.all_of(importlib.import_module(module), data):
            case.name = re.sub(r"[^\w.+=-]", "-", case.name)
            count = known[case.source, case.name] = known.get((case.source, case.name), 0) + 1
            case.name += f"-{count}" if count > 1 else ""
            cases.append(case)
    return cases
