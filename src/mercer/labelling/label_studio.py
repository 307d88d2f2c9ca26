"""Tasks for Label Studio, and labels from its exports, joined by ``mercer_id``.

An export is a list of tasks, each with the annotations of one or more people. The most frequent
class and the mean of numbers are the label of a row.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.columns.text_numbers import parse_numbers, preferred, styles_of
from mercer.labelling.label_values import as_id, as_label, some
from mercer.labelling.sheet import Sheet
from mercer.rows.checks import check_file
from mercer.validation import warn

#: Keys of a value in an annotation: classes, numbers, and text that may be numbers.
CLASSES, NUMBERS, TEXT = ("choices", "taxonomy"), ("number", "rating"), ("text",)
#: The name of the control tag that is read if there are several.
LABEL = "label"


@dataclass(frozen=True)
class ImportedLabels:
    """Labels by id, and what became of the annotations.

    Attributes
    ----------
    labels : dict
        The label of each row by id; rows without one are left out.
    skipped : list of str
        Ids of tasks without a label: not annotated, skipped, or without a majority.
    disagreements : list of str
        Ids of rows that people labelled differently.
    """

    labels: dict[str, Any]
    skipped: list[str]
    disagreements: list[str]


def label_studio_tasks(sheet: Sheet, known: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return tasks in the JSON format of Label Studio, one per row that is not ``known``.

    :func:`read_label_studio` reads the labels of an export, by their ``mercer_id``.
    """
    drawn, left_out = sheet.drawn, set(known)
    tasks = []
    for at, id_ in enumerate(drawn.ids):
        if id_ not in left_out:
            data = {name: as_json(values[at]) for name, values in sheet.shown.items()}
            data |= {"mercer_id": id_, "mercer_weight": drawn.weights[at]}
            tasks.append({"data": data})
    return tasks


def as_json(value: object) -> Any:
    """Convert a value to JSON; dates become text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


def read_label_studio(path: str | os.PathLike[str]) -> ImportedLabels:
    """Read a JSON export of Label Studio whose tasks are those of :func:`label_studio_tasks`.

    Of several annotations of a row, the most frequent class is taken, or the mean of numbers; rows
    without a single most frequent class have no label, and a warning names them. Cancelled
    annotations are left out. Labels may be choices, numbers, ratings, text or a taxonomy; if there
    are several control tags, the one named ``label``, or the first, is read.

    Add the labels to a sheet with ``sheet.with_labels(found.labels)``.
    """
    file = check_file(path)
    given: dict[str, list[Any]] = defaultdict(list)
    kinds: set[str] = set()
    for id_, task in _tasks(file):
        answers = given[id_]
        for kind, value in _answers(task, id_, file):
            kinds.add(kind)
            answers.append(value)
    if len(kinds & {"choices", "taxonomy"}) and kinds - {"choices", "taxonomy"}:
        raise ValueError(
            f"the annotations of {file} must be all classes or all numbers, got "
            f"{', '.join(sorted(kinds))}: name the control tag of the label {LABEL!r}"
        )
    if kinds == {"text"}:
        _read_numbers(given)
    labels: dict[str, Any] = {}
    disagreements, ties = [], []
    for id_, answers in given.items():
        if len(set(answers)) > 1:
            disagreements.append(id_)
        found = _agreed(answers)
        if found is not None:
            labels[id_] = found
        elif answers:
            ties.append(id_)
    if disagreements:
        tied = f"; {len(ties)} have no majority, and no label: {some(ties)}" if ties else ""
        warn(
            f"{len(disagreements)} of {len(given)} rows of {file} were labelled differently by "
            f"different people: the most frequent class or the mean is taken{tied}"
        )
    return ImportedLabels(labels, [id_ for id_ in given if id_ not in labels], disagreements)


def _tasks(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tasks with their ids."""
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(
            f"{file} must be an export of Label Studio, got bad JSON: {error}"
        ) from error
    if not isinstance(content, list) or not all(isinstance(task, dict) for task in content):
        raise ValueError(
            f"{file} must be an export of Label Studio, a list of tasks, got other JSON: export "
            f"as JSON"
        )
    if not any("annotations" in task for task in content):
        raise ValueError(
            f"{file} must have annotations, got tasks without any: export as JSON, not JSON-MIN"
        )
    for number, task in enumerate(content, 1):
        data = task.get("data")
        if not isinstance(data, dict) or "mercer_id" not in data:
            raise ValueError(
                f"every task of {file} must have a mercer_id in its data, but task {number} has "
                f"none: export the tasks of mercer label --label-studio"
            )
        yield as_id(data["mercer_id"]), task


def _answers(task: dict[str, Any], id_: str, file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the kind and the value of every annotation of a task."""
    for annotation in task.get("annotations") or []:
        if annotation.get("was_cancelled"):
            continue
        found: dict[str, tuple[str, Any]] = {}
        for result in annotation.get("result") or []:
            value = result.get("value")
            kind = next((k for k in (*CLASSES, *NUMBERS, *TEXT) if k in (value or {})), None)
            if kind is not None:
                found.setdefault(str(result.get("from_name")), (kind, value[kind]))
        if not found:
            continue
        kind, value = found.get(LABEL) or next(iter(found.values()))
        answer = _answer(kind, value, id_, file)
        if answer is not None:
            yield kind, answer


def _answer(kind: str, value: Any, id_: str, file: Path) -> Any:
    """Return one label: a class, a number or text; None if there is none."""
    if isinstance(value, list):
        if kind == "taxonomy":
            value = [" / ".join(map(str, path)) for path in value]
        if len(value) > 1:
            raise ValueError(
                f"every row must have one label, but id {id_!r} of {file} has {some(value)}: allow "
                f"a single choice"
            )
        value = value[0] if value else None
    return as_label(value)


def _read_numbers(given: dict[str, list[Any]]) -> None:
    """Turn text into numbers if all of it is numbers, written in one way."""
    style = preferred(styles_of(label for answers in given.values() for label in answers))
    if style is not None:
        for id_, answers in given.items():
            given[id_] = parse_numbers(answers, style).tolist()


def _agreed(answers: Iterable[Any]) -> Any:
    """Return the mean of numbers or the most frequent class; None if several are.

    >>> _agreed([1, 2]), _agreed([3, 3]), _agreed(["a", "b", "a"]), _agreed(["a", "b"])
    (1.5, 3, 'a', None)
    """
    counts = Counter(answers)
    if len(counts) < 2:
        return next(iter(counts), None)
    if not any(isinstance(answer, str) for answer in counts):
        return float(np.mean(list(counts.elements())))
    (first, most), (_, second) = counts.most_common(2)
    return first if most > second else None
