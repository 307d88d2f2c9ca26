"""Other kernel methods: what is not installed is skipped and said, means are over splits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import neighbors
from benchmarks.table_fit import Record
from experiments.scaffold.json_lines import append_line


def test_the_table_has_means_over_splits_and_gaps():
    one = Record("kin40k", 0, "xRFM", 0.1, 2.0, 1.0, 0.1, "xrfm 1")
    lines = neighbors.table([one, replace(one, split=1, error=0.3)], "error", ".2f").lines
    assert lines[0] == ["", *neighbors.METHODS]
    assert dict(zip(lines[0], lines[2], strict=True))["xRFM"] == "0.20"
    assert lines[2].count("-") == len(neighbors.METHODS) - 1


def test_what_is_not_installed_is_said(tmp_path, monkeypatch, capsys):
    absent = {"xRFM": replace(neighbors.METHODS["xRFM"], package="no_such_package")}
    monkeypatch.setattr(neighbors, "METHODS", absent)
    path = tmp_path / "records.jsonl"
    append_line(path, Record("kin40k", 0, "xRFM", 0.1, 2.0, 1.0, 0.1, "xrfm 1"))
    assert len(neighbors.measure_missing(path)) == 1
    assert capsys.readouterr().out.count("xRFM is not installed") == 7


def test_rows_are_the_first_of_a_split(monkeypatch):
    rows = neighbors.made_up("regression", 0)
    monkeypatch.setattr(neighbors, "TRAIN", 10)
    monkeypatch.setattr(neighbors, "SETS", {"made up": type("Set", (), {"rows": lambda _: rows})})
    some = neighbors.some("made up", 0)
    assert np.array_equal(some.X, rows.X[:10])
    assert len(some.y_test) == len(rows.y_test)


def test_a_gaussian_process_of_gpytorch_fits_a_curve():
    pytest.importorskip("gpytorch", reason="gpytorch is not installed")
    x = np.linspace(0, 3, 60)[:, None]
    model = neighbors.gaussian_process("regression", 0).fit(x, np.sin(2 * x[:, 0]))
    assert np.abs(model.predict(x) - np.sin(2 * x[:, 0])).max() < 0.2
