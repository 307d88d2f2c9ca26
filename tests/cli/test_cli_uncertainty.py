"""Intervals, and weights of classes, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from mercer import load

RNG = np.random.default_rng(0)
COMMON = ("--kernel", "gaussian", "--bandwidth", "2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = RNG.normal(size=(300, 2))
    y = X[:, 0] + 0.3 * RNG.normal(size=300)
    kind = np.where(X[:, 0] + 0.5 * RNG.normal(size=300) > 1.3, "rare", "common")
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_csv("numbers.csv", index=False)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": kind}).to_csv("classes.csv", index=False)
    return tmp_path


def test_intervals_are_columns(folder, run):
    assert run("fit", "numbers.csv", "--target", "y", *COMMON, "--out", "m").exit_code == 0
    assert run("predict", "m", "numbers.csv", "--interval", "90", "--out", "p.csv").exit_code == 0
    found, given = pd.read_csv("p.csv"), pd.read_csv("numbers.csv")
    assert list(found) == ["row", "prediction", "low", "high", "std"]
    inside = (found["low"] <= given["y"]) & (given["y"] <= found["high"])
    assert 0.84 < inside.mean() <= 1
    assert (found["std"] > 0).all()
    ends = load("m").predict_interval(given[["a", "b"]], 0.9)
    np.testing.assert_allclose(found[["low", "high"]], ends, atol=1e-9)
    told = json.loads(run("info", "m", "--json").stdout)["intervals"]
    assert abs(told["coverage"]["0.9"] - 0.9) < 0.03


@pytest.mark.parametrize(
    ("interval", "said"),
    [("0", "between 0 and 100"), ("100", "between 0 and 100"), ("0.9", "use --interval 90")],
)
def test_what_is_no_percentage(interval, said, folder, run):
    run("fit", "numbers.csv", "--target", "y", *COMMON, "--out", "m")
    refused = run("predict", "m", "numbers.csv", "--interval", interval)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_classes_have_no_intervals_but_weights(folder, run):
    for more in ((), ("--balanced",)):
        name = "balanced" if more else "plain"
        out = run("fit", "classes.csv", "--target", "kind", *COMMON, *more, "--out", name)
        assert out.exit_code == 0
    X = pd.read_csv("classes.csv")[["a", "b"]]
    rare = [np.mean(load(name).predict(X) == "rare") for name in ("plain", "balanced")]
    assert rare[1] > rare[0]
    refused = run("predict", "plain", "classes.csv", "--interval", "90")
    assert refused.exit_code == 2
    assert "needs a regressor" in refused.stderr
    refused = run("fit", "numbers.csv", "--target", "y", *COMMON, "--balanced", "--out", "n")
    assert refused.exit_code == 2
    assert "--balanced needs classes" in refused.stderr
