"""Exports of Label Studio: every kind of control tag, several people, and what is refused."""

import json
import warnings

import numpy as np
import pytest

from mercer import ImportanceLabeller, MercerWarning
from mercer.labelling import join, label_studio_tasks, read_label_studio, write_sheet

X = np.random.default_rng(0).random((150, 2))


def result(kind, value, name="answer"):
    return {"from_name": name, "to_name": "row", "type": kind, "value": {kind: value}}


def annotation(*results, **more):
    return {"completed_by": 1, "was_cancelled": False, "result": list(results), **more}


def task(id_, *annotations):
    return {"id": 7, "data": {"mercer_id": id_, "x": 1}, "annotations": list(annotations)}


def export(tmp_path, *tasks):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(list(tasks)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("choices", ["red"], "red"),
        ("number", 2.5, 2.5),
        ("rating", 4, 4),
        ("text", ["a note "], "a note"),
        ("text", ["0,48"], 0.48),
        ("text", "$1,200", 1200.0),
        ("taxonomy", [["animal", "cat"]], "animal / cat"),
    ],
)
def test_one_answer(kind, value, expected, tmp_path):
    found = read_label_studio(export(tmp_path, task("a", annotation(result(kind, value)))))
    assert found.labels == {"a": expected}
    assert type(found.labels["a"]) is type(expected)
    assert (found.skipped, found.disagreements) == ([], [])


def test_the_whole_way_round(tmp_path):
    drawn = ImportanceLabeller(budget=25, random_state=0).fit(X)
    sheet = write_sheet(drawn, X, tmp_path / "sheet.csv")
    tasks = label_studio_tasks(sheet)
    for one in tasks:
        value = X[int(one["data"]["mercer_id"]), 0]
        one["annotations"] = [annotation(result("number", value))]
    found = read_label_studio(export(tmp_path, *tasks[::-1]))
    y = join(X, sheet.with_labels(found.labels)).y
    np.testing.assert_array_equal(y, X[drawn.indices_, 0])


def test_annotations_that_do_not_count(tmp_path):
    red = result("choices", ["red"])
    path = export(
        tmp_path,
        task("cancelled", annotation(red, was_cancelled=True)),
        task("nobody"),
        task("empty", annotation()),
        task("blank", annotation(result("choices", []))),
        task("second", annotation(red, was_cancelled=True), annotation(red)),
        task("region", annotation({"type": "relation", "from_id": "x"}, red)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_label_studio(path)
    assert found.labels == {"second": "red", "region": "red"}
    assert found.skipped == ["cancelled", "nobody", "empty", "blank"]


def test_several_people(tmp_path):
    def votes(id_, *classes):
        return task(id_, *(annotation(result("choices", [one])) for one in classes))

    path = export(
        tmp_path,
        votes("agreed", "red", "red"),
        votes("most", "red", "blue", "red"),
        votes("tie", "red", "blue"),
        votes("twice", "blue"),
        votes("twice", "blue"),  # a task that was imported twice
    )
    with pytest.warns(
        MercerWarning, match="2 of 4 rows .* 1 have no majority, and no label: 'tie'"
    ):
        found = read_label_studio(path)
    assert found.labels == {"agreed": "red", "most": "red", "twice": "blue"}
    assert found.disagreements == ["most", "tie"]
    numbers = [annotation(result("number", value)) for value in (1, 2, 6)]
    with pytest.warns(MercerWarning, match="1 of 1 rows .* differently"):
        assert read_label_studio(export(tmp_path, task("a", *numbers))).labels == {"a": 3.0}


def test_numbers_that_are_choices_are_classes(tmp_path):
    votes = [annotation(result("choices", [one])) for one in ("1", "3", "3")]
    with pytest.warns(MercerWarning, match="differently"):
        assert read_label_studio(export(tmp_path, task("a", *votes))).labels == {"a": "3"}


def test_of_several_tags_the_label_is_read(tmp_path):
    parts = result("text", ["blurred"], "comment"), result("choices", ["red"], "label")
    assert read_label_studio(export(tmp_path, task("a", annotation(*parts)))).labels == {"a": "red"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "got bad JSON"),
        ("{}", "a list of tasks, got other JSON"),
        ('[{"mercer_id": "1", "answer": "red"}]', "not JSON-MIN"),
        ('[{"data": {"x": 1}, "annotations": []}]', "but task 1 has none"),
    ],
)
def test_other_files(content, message, tmp_path):
    path = tmp_path / "export.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_label_studio(path)


def test_answers_that_are_no_label(tmp_path):
    both = annotation(result("choices", ["red", "blue"]))
    with pytest.raises(ValueError, match=r"one label, but id 'a' .* has 'red', 'blue'"):
        read_label_studio(export(tmp_path, task("a", both)))
    tags = [task("a", annotation(result("choices", ["red"])))]
    tags.append(task("b", annotation(result("number", 2))))
    with pytest.raises(ValueError, match="all classes or all numbers, got choices, number"):
        read_label_studio(export(tmp_path, *tags))
