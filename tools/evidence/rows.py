"""Rows of the data sets, each made into cases. What lies under the data folder is others' work and may hold models, devices and columns that
nobody here has seen: such a row is listed as not answered, by rule, and never ends the replay."""

import csv

import settings
from case import Case


def read(file):
    """The rows of a CSV file; none where the file is not there."""
    if not file.exists():
        return []
    with open(file, newline="") as text:
        return list(csv.DictReader(text))


def listed(source, name, why, model=""):
    """A case of which there is no more than its name and why it is not replayed."""
    return settings.refuse(Case(source, name, {}, {}, device="", model=model, format="", engine=""), why)


BAD = (settings.NotKnown, LookupError, OSError, ValueError, TypeError, AttributeError, ArithmeticError)  # what data can bring about


def reason(problem):
    if isinstance(problem, settings.NotKnown):
        return str(problem)
    if isinstance(problem, KeyError):
        return f"its data lack {problem.args[0]!r}"
    if isinstance(problem, OSError):
        return "a file of it is not there"
    return "a figure is missing or is not a number"


def guarded(source, name, make, *arguments):
    """The case that `make` returns, or one that says why there is none."""
    try:
        return make(*arguments)
    except BAD as problem:
        return listed(source, name, reason(problem))


def cases(source, file, make):
    """A case for every row of a CSV file: `make(row)`, or `make(row, number)` where the name of a case needs its line."""
    return [guarded(source, f"{file.stem}-{number}", make, row, number) for number, row in enumerate(read(file), start=2)]


def all_of(module, data):
    """The cases of a data set's module; one that lists the data set where its files as a whole cannot be read."""
    try:
        return module.cases(data)
    except BAD as problem:
        return [listed(module.__name__, "all", reason(problem))]
