"""The guessed task: numbers that are text, classes that are doubtful, and what decides."""

from pathlib import Path

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRegressor, load
from mercer.cli.task import DoubtfulTask, decide_task
from mercer.rows import ArraySource

RNG = np.random.default_rng(0)


def decide(y, asked="auto"):
    y = np.asarray(y) if not any(isinstance(v, str) for v in y) else np.array(y, dtype=object)
    return decide_task(ArraySource(np.zeros((len(y), 1)), y), asked)


@pytest.mark.parametrize(
    ("y", "task", "why"),
    [
        (["$452,600", "$1,000", None] * 9, "regression", "commas between thousands"),
        (["0,48", "0,5", "1,25"] * 9, "regression", "decimal commas"),
        (["12 %", "3 %"] * 9, "regression", "percent signs"),
        (["-1", "1"] * 9, "classification", "2 different whole numbers"),
        (["0", "1"] * 9, "classification", "2 different whole numbers"),
        ([0, 1] * 9, "classification", "2 different whole numbers"),
        ([0.0, 1.0, np.nan] * 9, "classification", "2 different whole numbers"),
        ([1, 2, 3] * 9, "classification", "3 different whole numbers"),
        ([0.5, 1.0] * 9, "regression", "decimal numbers"),
        (list(range(21)) * 3, "regression", "more than 20"),
        (list(range(0, 90, 10)), "regression", "most of them in one row only"),
        (["a", "b", 3] * 9, "classification", "text of 3 classes"),
        (["a", "b", "c d"] * 9, "classification", "text of 3 classes"),
        ([f"class {i % 50}" for i in range(500)], "classification", "text of 50 classes"),
        ([True, False] * 9, "classification", "true or false"),
    ],
)
def test_guesses(y, task, why):
    found, reason = decide(y)
    assert found == task
    assert why in reason


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([1, 2, 3, 4, 5] * 9, "5 different whole numbers"),
        ([1.0, 2.0, 3.0, 4.0, np.nan] * 9, "4 different whole numbers"),
        ([f"note {i}" for i in range(300)], "300 different values in 300 rows"),
        ([*map(str, RNG.random(60).round(3)), "unknown"], "'unknown' is none"),
    ],
)
def test_doubts(y, said):
    with pytest.raises(DoubtfulTask, match=said) as error:
        decide(y)
    assert "--task classification" in str(error.value)
    assert decide(y, "classification") == ("classification", "requested")
    assert decide(y, "regression") == ("regression", "requested")


def test_the_command_refuses_and_the_flag_decides(run, frame, csv):
    options = ("--columns", "width,height", "--components", 15, "--alpha", 1e-4)
    result = run("fit", csv, "--target", "stars", *options)
    assert result.exit_code == 2
    assert "--task regression or --task classification" in result.stderr
    assert not Path("rows.mercer").exists()
    for task, kind in (("regression", KernelRegressor), ("classification", KernelClassifier)):
        result = run("fit", csv, "--target", "stars", *options, "--task", task)
        assert result.exit_code == 0, result.output
        assert type(load("rows")) is kind


def test_the_command_names_similar_classes(run, frame):
    frame.assign(color=np.where(frame.width > 0.5, "red", "Red ")).to_csv("rows.csv", index=False)
    result = run("fit", "rows.csv", "--target", "color", "--columns", "height", "--components", 9)
    assert result.exit_code == 0, result.output
    assert "warning: classes that differ only by case or spaces are kept apart" in result.stderr
    assert load("rows").classes_.tolist() == ["Red ", "red"]
