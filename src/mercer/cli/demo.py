"""``mercer demo``: letter recognition, compared with scikit-learn in the metric that is learned."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mercer.cli.files import check_output
from mercer.cli.output import stderr, stdout
from mercer.cli.picture import draw
from mercer.cli.sizes import peak_text
from mercer.cli.tables import columns, facts

#: Rows and landmarks; and the rows of the exact kernel, whose time grows with their cube.
FULL = {"rows": 16_000, "components": 2000, "exact_rows": 8000}
QUICK = {"rows": 1500, "components": 200, "exact_rows": 1500}
TITLES = {
    "mercer": "mercer",
    "nystroem": "sklearn Nystroem + Ridge",
    "exact": "sklearn KernelRidge",
}


def demo(
    out: Annotated[Path, typer.Option(help="The file to write the picture to.")] = Path(
        "mercer-demo.png"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few rows, for a few seconds.")
    ] = False,
) -> None:
    """Train a letter classifier on the bundled data and compare it with scikit-learn."""
    out = check_output(out, [], [".png", ".pdf", ".svg"])
    size = QUICK if quick else FULL
    console, progress = stdout(), stderr()
    progress.print(
        f"Letter recognition: {size['rows']:,} rows to train on, 4,000 to test on, 26 classes."
    )
    settings: dict[str, Any] = {"rows": size["rows"], "components": size["components"]}
    with tempfile.TemporaryDirectory(prefix="mercer-demo-") as folder:
        settings["model"] = str(Path(folder) / "letters.mercer")
        # Its own progress bar shows in this terminal.
        results = {"mercer": _run("mercer", settings)}
        settings |= {name: results["mercer"][name] for name in ("gamma", "alpha")}
        for name in ("nystroem", "exact"):
            rows = size["exact_rows"] if name == "exact" else size["rows"]
            with _status(progress, f"{TITLES[name]} on {rows:,} rows ..."):
                results[name] = _run(name, settings | {"rows": rows})

    summary = [(name, value) for name, value in results["mercer"]["summary"]]
    console.print(facts("What mercer chose", summary))
    most = ", ".join(f"{name} {share:.0%}" for name, share in results["mercer"]["importances"])
    console.print(f"The most important columns: {most}.")
    console.print(_comparison(results))
    console.print(
        "scikit-learn was given the metric, the bandwidth and the alpha that mercer chose; "
        "choosing them is part of mercer's time. Each method ran in its own process, and its "
        "peak memory is that of the whole process."
    )
    if results["exact"]["rows"] < size["rows"]:
        console.print(
            f"KernelRidge was fitted to the first {results['exact']['rows']:,} rows only: its time "
            f"grows with the cube of the rows, its memory with the square."
        )
    draw(results, TITLES, size["components"], out)
    console.print(f"Picture written to {out}", soft_wrap=True)


def _run(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Run one method in a fresh process and return its result."""
    command = [sys.executable, "-W", "ignore", "-m", "mercer.cli.demo_method"]
    done = subprocess.run(
        [*command, name, json.dumps(settings)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise OSError(
            f"{TITLES[name]} ended with exit code {done.returncode} (a negative code is a "
            f"signal, often for lack of memory): try mercer demo --quick"
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _status(console: Console, text: str) -> Any:
    """Return a context with a spinner in a terminal, and a plain line elsewhere."""
    if not console.is_terminal:
        console.print(text)
    return console.status(text)


def _comparison(results: dict[str, dict[str, Any]]) -> Any:
    header = ("method", "rows", "accuracy", "fit", "predict", "memory")
    return columns(
        "Test accuracy, and what it took",
        header,
        (
            (
                TITLES[name],
                f"{result['rows']:,}",
                f"{100 * result['accuracy']:.2f} %",
                f"{result['fit_seconds']:.2f} s",
                f"{result['predict_seconds']:.2f} s",
                peak_text(result["peak_bytes"]),
            )
            for name, result in results.items()
        ),
    )
