"""Real files for the commands, and a way to run them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mercer.cli.app import app


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path, monkeypatch):
    """Relative paths, so that messages stay on one line; a terminal wide enough for the tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def said(stderr: str) -> str:
    """Return what a command said besides its progress, which only a busy machine has to tell."""
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("mercer: "))


@pytest.fixture
def run():
    def invoke(*arguments: object, stdin: str | None = None):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)

    return invoke


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((120, 2)), columns=["width", "height"])
    rows["price"] = np.sin(4 * rows.width) + rows.height
    rows["color"] = np.where(rows.width > rows.height, "red", "dark, blue")
    rows["large"] = rows.width > 0.5
    rows["stars"] = (5 * rows.height).astype(int)
    rows["serial"] = np.arange(120)
    rows["weight"] = 1.0 + rows.serial % 3
    return rows


@pytest.fixture
def csv(frame) -> Path:
    frame.to_csv("rows.csv", index=False)
    return Path("rows.csv")


@pytest.fixture
def parquet(frame) -> Path:
    frame.to_parquet("rows.parquet", index=False)
    return Path("rows.parquet")


@pytest.fixture
def npz(frame) -> Path:
    X = np.ascontiguousarray(frame[["width", "height"]].to_numpy())
    np.savez("rows.npz", X=X, y=frame.price.to_numpy())
    return Path("rows.npz")
