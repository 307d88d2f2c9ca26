"""``mercer fit`` over shards, in this process and on a cluster."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from shard_cases import X, Y, environment


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("rows").mkdir()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y[:, 0])
    for part in range(3):
        rows = pa.Table.from_pandas(frame[200 * part : 200 * (part + 1)], preserve_index=False)
        pq.write_table(rows, f"rows/{part}.parquet", row_group_size=100)
    return "rows"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


KERNEL = ("--kernel", "gaussian", "--bandwidth", "1.5")
SETTINGS = ("--target", "y", *KERNEL, "--basis", "landmarks", "--components", "40")
FIT = ("fit", "rows", *SETTINGS, "--alpha", "0.001", "--out")


def test_the_cluster_gives_the_model_of_one_process(folder, client):
    address = client.scheduler.address
    there = run(*FIT, "there", "--engine", address, "--shards", "5", "--verbose")
    assert there.exit_code == 0, there.output
    assert "5 (exact sum of moments;" in there.output
    assert "from a shard" in there.output
    assert run(*FIT, "here").exit_code == 0
    models = [mercer.load(name) for name in ("here", "there")]
    np.testing.assert_allclose(*(model.predict(X) for model in models), rtol=1e-6)
    assert models[1].engine == address


@pytest.mark.parametrize("combine", ["average", "newton", "conjugate"])
def test_other_combinations(folder, combine):
    done = run(*FIT, "m", "--shards", "3", "--combine", combine, "--rounds", "2", "--test", "rows")
    assert done.exit_code == 0, done.output
    assert "shards" in done.output


def test_a_checkpoint_is_written_and_used(folder):
    for _ in range(2):
        assert run(*FIT, "m", "--shards", "3", "--checkpoint", "kept").exit_code == 0
    assert Path("kept/fit.json").exists()
    done = run(*FIT, "m", "--shards", "4", "--checkpoint", "kept")
    assert done.exit_code == 2
    assert "another fit" in done.output


def test_what_is_wrong_is_said_in_a_line(folder):
    for more, said in [
        (("--engine", "cluster"), "engine must be None"),
        (("--combine", "mean", "--shards", "2"), "unknown combine"),
        (("--shards", "0"), "shards must be"),
    ]:
        done = run(*FIT, "m", *more)
        assert done.exit_code == 2
        assert said in done.output


def test_the_dashboard_is_told(folder, client):
    done = subprocess.run(
        [sys.executable, "-m", "mercer.cli", *FIT, "m", "--engine", client.scheduler.address],
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "dashboard at http" in done.stderr
