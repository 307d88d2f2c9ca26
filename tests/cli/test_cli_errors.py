"""Errors are one line on stderr and the exit code 2; --debug gives the traceback."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import said

import mercer
from mercer.cli import write_utf8

BASE = ("--columns", "width,height", "--out", "model")
GAUSSIAN = ("--kernel", "gaussian")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rows.csv", "--target", "prise"), "did you mean 'price'"),
        (("rows.csv",), "name the column of rows.csv with --target"),
        (("row.csv", "--target", "price"), "did you mean 'rows.csv'"),
        (("rows.csv", "--target", "price", "--kernel", "gausian"), "did you mean 'gaussian'"),
        (("rows.csv", "--target", "price", "--kernel", "precomputed"), "--kernel"),
        (("rows.csv", "--target", "price", "--kernel", "linear", "--bandwidth", 1), "has none"),
        (("rows.csv", "--target", "price", *GAUSSIAN, "--bandwidth", "mean"), "number or 'median'"),
        (("rows.csv", "--target", "price", *GAUSSIAN, "--bandwidth", -1), "bandwidth must be"),
        (("rows.csv", "--target", "price", "--bandwidth", 1), "for --kernel auto: name a kernel"),
        (("rows.csv", "--target", "price", "--basis", "nystroem"), "--basis"),
        (
            ("rows.csv", "--target", "price", "--basis", "full", "--components", 5),
            "one function per row",
        ),
        (
            ("rows.csv", "--target", "price", "--basis", "landmarks", "--components", 0),
            "at least 1",
        ),
        (("rows.csv", "--target", "price", "--solver", "kcmg"), "did you mean 'kcgm'"),
        (("rows.csv", "--target", "price", "--alpha", "small"), "--alpha must be a number"),
        (("rows.csv", "--target", "price", "--alpha", -1), "alpha must be"),
        (("rows.csv", "--target", "price", "--selection", "aic"), "selection"),
        (("rows.csv", "--target", "price", "--task", "ranking"), "--task"),
        (("rows.csv", "--target", "price", "--dtype", "half"), "dtype"),
        (("rows.csv", "--target", "price", "--memory-limit", "10kB"), "memory_limit of 10 kB"),
        (("rows.csv", "--target", "price", "--holdout", 1.5), "--holdout"),
        (("rows.csv", "--target", "price", "--holdout", -0.5), "--holdout"),
        (("rows.csv", "--target", "price", "--holdout", 0.5, "--test", "rows.csv"), "both"),
        (("rows.csv", "--target", "color", "--task", "regression"), "y must hold numbers"),
        (("rows.csv", "--target", "price", "--out", "rows.csv"), "would overwrite"),
        (("rows.csv", "--target", "price", "--out", "no/model"), "does not exist"),
    ],
)
def test_fit(arguments, message, run, csv):
    result = run("fit", arguments[0], *BASE, *arguments[1:])
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(path.name for path in Path().iterdir()) == ["rows.csv"]


def test_other_labels_in_the_test_file(run, csv, frame):
    frame.assign(color="green").to_csv("other.csv", index=False)
    result = run("fit", csv, "--target", "color", *BASE, "--test", "other.csv")
    assert result.exit_code == 2
    assert "must be the model's classes" in result.stderr


@pytest.mark.parametrize("command", [("info",), ("predict", "rows.csv")])
def test_a_file_that_is_no_model(command, run, csv):
    result = run(command[0], "rows.csv", *command[1:])
    assert result.exit_code == 2
    assert "rows.csv cannot be read as a model: it is not a safetensors file" in result.stderr


def test_debug_raises(run, csv):
    result = run("--debug", "fit", csv, "--target", "prise", *BASE)
    assert isinstance(result.exception, ValueError)


def test_version_and_help(run):
    assert run("--version").stdout == f"mercer {mercer.__version__}\n"
    for command in ((), ("fit",), ("predict",), ("info",), ("demo",)):
        result = run(*command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def process(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, encoding="utf-8", check=False, **options
    )


def test_as_a_process(csv):
    result = process("-m", "mercer.cli", "fit", "rows.csv", "--target", "price", *BASE)
    assert result.returncode == 0, result.stderr
    assert "KernelRegressor" in result.stdout
    assert said(result.stderr) == ""
    assert Path("model.mercer").is_file()
    result = process("-m", "mercer.cli", "fit", "rows.csv", "--target", "prise", *BASE)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    result = process("-m", "mercer.cli", "--debug", "fit", "rows.csv", "--target", "prise", *BASE)
    assert result.returncode == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_libraries_it_says_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from mercer.cli import main; main()"
    result = process("-c", code)
    assert result.returncode == 1
    assert "pip install mercer[cli]" in result.stderr
    assert result.stderr.count("\n") == 1


def test_pipes_of_windows_take_every_letter():
    written = io.BytesIO()
    pipe = io.TextIOWrapper(written, encoding="cp1252", newline="")
    write_utf8(pipe, None)
    pipe.write("字,π\n")
    pipe.flush()
    assert written.getvalue().decode("utf-8") == "字,π\n"
