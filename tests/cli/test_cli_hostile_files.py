"""Files that are in the way, that never end, or whose text is meant for a terminal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.text import Text

from mercer import load
from mercer.cli.output import columns, facts, note, print_json, show_error, stdout, words
from mercer.cli.writing import write_output

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FIT = ("fit", "rows.csv", "--target", "price", "--columns", "width,height", "--alpha", 0.01)
FIT += ("--kernel", "gaussian", "--metric", "none", "--scale", "none")
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\x9b1m\x7f\r\x08\u202eabc"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def test_a_file_that_is_no_model_is_replaced_only_by_force(run, csv):
    Path("notes.txt").write_text("important")
    result = run(*FIT, "--out", "notes.txt")
    assert result.exit_code == 2
    assert "notes.txt exists and is not a model file" in result.stderr
    assert "--force" in result.stderr
    assert Path("notes.txt").read_text() == "important"
    result = run(*FIT, "--out", "notes.txt", "--force")
    assert result.exit_code == 0, result.output
    assert load("notes.txt").n_features_in_ == 2
    assert run(*FIT, "--out", "notes.txt").exit_code == 0  # it is a model now


def test_force_replaces_no_input(run, csv):
    before = csv.read_bytes()
    result = run(*FIT, "--out", csv, "--force")
    assert result.exit_code == 2
    assert "would overwrite" in result.stderr
    assert csv.read_bytes() == before


def test_a_model_that_is_damaged_is_not_replaced_unasked(run, csv):
    assert run(*FIT, "--out", "model").exit_code == 0
    content = Path("model.mercer").read_bytes()
    Path("model.mercer").write_bytes(content[:200] + b"?" + content[201:])
    assert run(*FIT, "--out", "model").exit_code == 2
    assert run(*FIT, "--out", "model", "--force").exit_code == 0


def test_a_sheet_is_replaced_only_by_force(run, csv):
    options = ("label", csv, "--columns", "width,height", "--out", "sheet.csv", "--budget")
    assert run(*options, 20).exit_code == 0
    before = Path("sheet.csv").read_bytes()
    result = run(*options, 30)
    assert result.exit_code == 2
    assert "already exists" in result.stderr
    assert "replace it with --force" in result.stderr
    assert Path("sheet.csv").read_bytes() == before
    assert run(*options, 30, "--force").exit_code == 0
    assert json.loads(Path("sheet.json").read_text())["rounds"] == [30]


def test_the_record_of_a_sheet_replaces_no_input(run, csv):
    result = run("label", csv, "--budget", 20, "--out", "sheet.csv")
    assert result.exit_code == 0, result.output
    Path("export.json").write_text("[]")
    more = ("--more", "sheet.csv", "--import", "export.json")
    result = run("label", csv, *more, "--out", "export.csv", "--force")
    assert result.exit_code == 2
    assert "would overwrite" in result.stderr
    assert Path("export.json").read_text() == "[]"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_devices_are_refused_and_not_waited_for(run, csv):
    assert run(*FIT, "--out", "model").exit_code == 0
    os.mkfifo("pipe.mercer")
    os.symlink("/dev/zero", "zero.mercer")
    os.symlink("/dev/zero", "zero.csv")
    wanted = [
        (["info", "pipe.mercer"], "got a pipe"),
        (["predict", "pipe", "rows.csv"], "got a pipe"),
        (["info", "zero"], "got a device"),
        (["look", "zero.csv"], "got a device"),
        (["label", "zero.csv", "--budget", "5", "--out", "sheet.csv"], "got a device"),
        (["fit", "rows.csv", "--target", "price", "--out", "pipe.mercer"], "got a pipe"),
        (["fit", "rows.csv", "--target", "price", "--out", "zero", "--force"], "got a device"),
    ]
    for suffix in ("csv", "csv.gz", "tsv", "parquet", "npy", "npz", "svm"):
        os.mkfifo(f"pipe.{suffix}")
        wanted.append((["fit", f"pipe.{suffix}", "--target", "price"], "got a pipe"))
        wanted.append((["predict", "model", f"pipe.{suffix}"], "got a pipe"))
    # In another process, since a command that waits for a pipe would wait for ever.
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, json.dumps([command for command, _ in wanted])],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    for (command, said), (code, stderr) in zip(wanted, json.loads(done.stdout), strict=True):
        assert code == 2, command
        assert "must be a file" in stderr, command
        assert said in stderr, command


#: Runs commands, and prints how they ended.
RUN_ALL = """
import json, sys
from typer.testing import CliRunner
from mercer.cli.app import app
results = [CliRunner().invoke(app, command) for command in json.loads(sys.argv[1])]
print(json.dumps([(result.exit_code, result.stderr) for result in results]))
"""


def test_what_is_printed_has_no_control_characters(capsys):
    console = stdout()
    console.print(facts(ESCAPES, [(ESCAPES, ESCAPES)]))
    console.print(columns(ESCAPES, (ESCAPES, "b"), [(ESCAPES, ESCAPES)]))
    console.print(words(ESCAPES, (ESCAPES,), [(ESCAPES,)]))
    console.print(ESCAPES)
    console.print(Text(ESCAPES))
    console.print("[link=x]bold[/nothing]")
    note(ESCAPES)
    show_error(ValueError(ESCAPES))
    print_json({ESCAPES: [ESCAPES]})
    out, err = capsys.readouterr()
    assert not CONTROLS.search(out + err)
    assert r"\x1b[31mred\x9b1m\x7f" in out
    assert r"\x1b[31mred\x9b1m\x7f" in err
    assert "[link=x]bold[/nothing]" in out
    assert json.loads(out[out.index('{\n "') :]) == {ESCAPES: [ESCAPES]}


def test_colors_of_its_own_reach_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    show_error(ValueError("a\x1b[5mb"))
    err = capsys.readouterr().err
    assert "\x1b[" in err  # the red of the word
    assert "\x1b[5m" not in err
    assert r"a\x1b[5mb" in err


def test_columns_and_values_of_a_file_do_not_control_the_terminal(run, frame):
    frame = frame.rename(columns={"width": f"w{ESCAPES[:-6]}"})
    frame["color"] = np.where(frame.stars > 2, "\x1b[31mred", "\x9b2Jblue")
    frame.drop(columns=["weight", "serial"]).to_parquet("rows.parquet")
    for command in (
        ("look", "rows.parquet", "--target", "price"),
        ("look", "rows.parquet", "--target", "price", "--json"),
        ("fit", "rows.parquet", "--target", "color", "--out", "model", "--alpha", 0.1),
        ("info", "model"),
        ("info", "model", "--json"),
        ("predict", "model", "rows.parquet", "--id", "nothing\x1b[2J"),
        ("fit", "rows.parquet", "--target", "wrong"),
    ):
        result = run(*command)
        assert not CONTROLS.search(result.output), command


def test_predictions_on_a_terminal(capsys, monkeypatch):
    table = {"id": ["\x1b[2Ja", "b"], "prediction": np.array([1.0, 2.0])}
    write_output(table, None)
    assert capsys.readouterr().out == "id,prediction\n\x1b[2Ja,1.0\nb,2.0\n"  # exact in a pipe
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    write_output(table, None)
    assert capsys.readouterr().out == "id,prediction\n\\x1b[2Ja,1.0\nb,2.0\n"


FORMULAS = ["=1+1", "@SUM(A1)", "-2+3", "+cmd|' /C calc'!A0", "'=x", "-3.5", "+7", "plain", "-1,5"]


def test_formulas_in_predictions_are_text(run, csv, frame):
    assert run(*FIT, "--out", "model").exit_code == 0
    names = [FORMULAS[i % len(FORMULAS)] for i in range(len(frame))]
    frame.assign(name=names).to_csv("new.csv", index=False)
    result = run("predict", "model", "new.csv", "--id", "name", "--out", "out.csv")
    assert result.exit_code == 0, result.output
    assert "cells have an apostrophe in front" in result.stderr
    assert "--raw-text" in result.stderr
    found = pd.read_csv("out.csv", dtype=str).name[: len(FORMULAS)].tolist()
    assert found == [
        "'=1+1", "'@SUM(A1)", "'-2+3", "'+cmd|' /C calc'!A0", "''=x", "-3.5", "+7", "plain", "-1,5"
    ]  # fmt: skip
    result = run("predict", "model", "new.csv", "--append", "--raw-text")
    assert "apostrophe" not in result.stderr
    assert "=1+1" in result.stdout
    assert "'=1+1" not in result.stdout
    result = run("predict", "model", "new.csv", "--id", "name", "--out", "out.parquet")
    assert pd.read_parquet("out.parquet").name.tolist() == names
