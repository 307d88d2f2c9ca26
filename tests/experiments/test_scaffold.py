"""What all experiments share: the runner, files, tables, figures and timing."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from experiments.scaffold import figures, timing
from experiments.scaffold.data import AbsentError
from experiments.scaffold.json_lines import append_line, read_lines, rewrite_lines
from experiments.scaffold.records import (
    as_csv,
    as_json,
    columns,
    columns_csv,
    columns_from_csv,
    from_csv,
    values,
    write_text,
)
from experiments.scaffold.runner import Experiment, Progress, whole_part
from experiments.scaffold.tables import Table, marked, page
from experiments.scaffold.timing import CORES, ChildError, fresh, interleaved, one_thread
from matplotlib.figure import Figure
from PIL import Image

HOME = Path(__file__).resolve().parents[2] / "experiments"
NAMES = sorted(path.parent.name for path in HOME.glob("*/__main__.py"))


@dataclass(frozen=True)
class Row:
    name: str
    n: int
    value: float
    several: tuple[float, ...] = ()


@dataclass(frozen=True)
class Named(Row):
    name: str = ""
    n: int = 0
    value: float = 0.0


@dataclass(frozen=True)
class Size:
    repeats: int = 3


def rows(size, progress):
    progress(f"{size.repeats} repeats")
    return [Row("a", n, 1 / 3, (0.5, n / 7)) for n in range(size.repeats)]


def absent(size, progress):
    raise AbsentError("the disk is empty")


def drawn(found):
    figure, axes = figures.panels((2, 1.5), columns=1, dpi=40)
    axes.plot(*columns(found, "n", "value"))
    return figure


@pytest.fixture
def experiment(tmp_path):
    return Experiment(
        str(tmp_path / "made_up" / "__main__.py"),
        {"first": whole_part(rows), "second": whole_part(absent)},
        lambda folder, size: from_csv(folder / "first.csv", Row),
        {
            "results.md": lambda found: page("made_up", "Made up.", f"{len(found)} rows"),
            "figure.png": drawn,
            "second.png": lambda found: None,
        },
        Size(),
        Size(2),
    )


def test_a_run_keeps_its_parts_and_writes_what_they_tell(experiment, capsys):
    experiment.main([])
    told = capsys.readouterr().out
    assert "second: skipped, as its data are not at hand: the disk is empty" in told
    assert f"wrote results.md, figure.png to {experiment.folder}" in told
    text = (experiment.folder / "results.md").read_text()
    about = "Written by `python -m experiments.made_up`; do not edit. Made up."
    assert text == f"# Results\n\n{about}\n\n3 rows\n"
    assert Image.open(experiment.folder / "figure.png").size == (80, 60)


def test_a_run_can_be_small_and_elsewhere_and_resumed(experiment, tmp_path, capsys):
    with pytest.raises(SystemExit):
        experiment.main(["--small"])  # would write over the results of the paper
    assert "--small needs --out" in capsys.readouterr().err
    out = tmp_path / "elsewhere"
    experiment.main(["first", "--small", "--out", str(out)])
    assert len(from_csv(out / "first.csv", Row)) == 2
    experiment.main(["first", "--resume", "--out", str(out)])
    assert "first: kept from before" in capsys.readouterr().out
    assert len(from_csv(out / "first.csv", Row)) == 2
    experiment.main(["first", "--repeats", "5", "--out", str(out)])
    assert len(from_csv(out / "first.csv", Row)) == 5


def test_drawing_runs_nothing(experiment, capsys):
    experiment.main(["--draw"])
    assert capsys.readouterr().out == "there is nothing to write\n"


def test_a_part_that_is_not_known_is_refused_at_once(experiment, capsys):
    with pytest.raises(SystemExit):
        experiment.main(["frist"])
    assert "unknown name 'frist': choose from first, second" in capsys.readouterr().err


def test_long_loops_tell_of_themselves_about_ten_times():
    told = []
    progress = Progress(told.append)
    for done in range(1, 251):
        progress.count("trials", done, 250)
    assert len(told) == 10
    assert told[-1].endswith("trials: 250 of 250")


def test_records_are_read_as_they_were_written(tmp_path):
    found = rows(Size(), lambda line: None)
    write_text(tmp_path / "rows.csv", as_csv(found))
    kept = from_csv(tmp_path / "rows.csv", Row)
    assert as_csv(kept) == as_csv(found)
    assert kept[2].several == pytest.approx((0.5, 2 / 7), rel=1e-5)
    assert values(kept, "n") == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]  # nothing half written
    assert from_csv(tmp_path / "others.csv", Row) == []
    assert as_csv([]) == ""


def test_columns_and_nested_records_have_files_too(tmp_path):
    curves = {"x": np.arange(3.0), "y": np.array([0.5, np.nan, 2.0])}
    (tmp_path / "curves.csv").write_text(columns_csv(curves))
    for name, column in columns_from_csv(tmp_path / "curves.csv").items():
        np.testing.assert_array_equal(column, curves[name])
    found = json.loads(as_json({"row": Row("a", 1, 0.1), "array": np.arange(2), "one": np.int8(3)}))
    assert found == {
        "row": {"name": "a", "n": 1, "value": 0.1, "several": []},
        "array": [0, 1],
        "one": 3,
    }
    with pytest.raises(TypeError, match="set has no form in JSON"):
        as_json({1, 2})


def test_records_can_be_added_a_line_at_a_time(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert read_lines(path, Row) == []
    for one in (Row("a", 1, 1 / 3, (1 / 3, 2.0)), Row("", 2, 0.5)):
        append_line(path, one)
    first, second = path.read_text().splitlines()
    assert json.loads(first) == {"name": "a", "n": 1, "value": 0.333333, "several": [0.333333, 2.0]}
    assert "name" not in json.loads(second)  # what is empty is left out
    found = [json.loads(first)["n"], json.loads(second)["n"]]
    rewrite_lines(path, read_lines(path, Named)[:1])
    assert [one.n for one in read_lines(path, Named)] == found[:1]


def test_tables_are_markdown_that_pages_can_include():
    table = Table(["m", "error"])
    table.add(["2", "0.1"])
    text = marked("errors", table)
    assert text.startswith("<!-- errors -->\n\n| m | error |\n|---|---|\n| 2 | 0.1 |")
    assert text.endswith("\n\n<!-- end of errors -->")


def test_a_figure_has_the_same_bytes_every_time(tmp_path):
    for name in ("first.png", "second.png"):
        figures.save(drawn([Row("a", n, n**2) for n in range(4)]), tmp_path / name)
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()
    assert Image.open(tmp_path / "first.png").mode == "P"  # 256 colors


def test_room_is_left_above_on_any_scale():
    axes = Figure().subplots()
    axes.set_ylim(1, 3)
    figures.room(axes, 0.5)
    assert axes.get_ylim() == (1, 4)
    axes.set(yscale="log", ylim=(1, 100))
    figures.room(axes, 0.5)
    assert axes.get_ylim() == pytest.approx((1, 1000))


def test_contenders_take_turns(monkeypatch):
    monkeypatch.setattr(timing.gc, "collect", lambda: 0)  # there is much to look at in a test run
    order = []
    found = interleaved({name: lambda name=name: order.append(name) or name for name in "ab"}, 2)
    assert order == ["a", "b", "a", "b"]
    assert found["b"].value == "b"
    assert len(found["b"].seconds) == 2
    assert found["b"].median == pytest.approx(np.mean(found["b"].seconds))


def test_one_thread_is_given_back(monkeypatch):
    for before in (None, "7"):
        monkeypatch.delenv(CORES, raising=False)
        if before is not None:
            monkeypatch.setenv(CORES, before)
        with one_thread():
            assert os.environ[CORES] == "1"
        assert os.environ.get(CORES) == before


def test_a_child_that_fails_says_why():
    with pytest.raises(ChildError, match=r"No module named experiments\.nowhere"):
        fresh("experiments.nowhere", "task", {})


@pytest.mark.parametrize("name", NAMES)
def test_committed_pages_are_those_of_the_committed_files(name):
    experiment = import_module(f"experiments.{name}.__main__").EXPERIMENT
    results = experiment.read(experiment.folder, experiment.full)
    if results is None:
        pytest.skip("the trials of this one are not committed, only their means")
    made = experiment.outputs["results.md"](results)
    assert made == (experiment.folder / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_small_size_and_a_page_about_it(name):
    experiment = import_module(f"experiments.{name}.__main__").EXPERIMENT
    assert experiment.command == f"experiments.{name}"
    assert replace(experiment.small, repeats=1).repeats == 1
    assert experiment.small != experiment.full
    assert f"python -m {experiment.command}" in (experiment.folder / "README.md").read_text()
