"""Figures of the house, the walk of a fit through it, and whether a move changed what it does.

Run from the root of the repository::

    python -m tests.house                   # lines by folder, and the trace of a fit
    python -m tests.house record FOLDER     # before code moves
    python -m tests.house compare FOLDER    # after each move: every difference, by name

A record holds the bits of fits in one place, from files, over shards and with a checkpoint; saved
models, ONNX files, cards, sheets and the output of commands; every ``--help``; errors of damaged
files and of bad parameters. The models of a record are kept, and have to load after a move too.
"""

from __future__ import annotations

import os

os.environ.update(
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    LOKY_MAX_CPU_COUNT="1",
    COLUMNS="100",
    NO_COLOR="1",
    TERM="dumb",
)

import argparse
import ast
import difflib
import hashlib
import inspect
import io
import json
import re
import shutil
import sys
import tempfile
import tokenize
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import safe_open
from typer.testing import CliRunner

import mercer
from mercer import Gaussian, KernelRegressor, Landmarks, RandomFeatures, Sketch
from mercer.cli.app import app
from mercer.kernels import Kernel
from mercer.storage import write_tensors

Facts = Iterator[tuple[str, Any]]

ROOT = Path(mercer.__file__).parent
NO_CODE = [tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT]
COUNTED = {
    "type: ignore": r"type: ignore",
    ": Any": r".*: Any\b.*",  # lines
    'getattr(.., "..")': r'getattr\([^)]*"',
}

KINDS: dict[str, Any] = {
    "regressor": mercer.KernelRegressor,
    "classifier": mercer.KernelClassifier,
    "ranker": mercer.KernelRanker,
}
COMMON = {"kernel": Gaussian(1.0), "random_state": 0, "memory_limit": "2GB"}
SHARDS = {"shards": 3}
FORMS: dict[str, dict[str, Any]] = {
    "moments": {"basis": Landmarks(30)},
    "dual": {"basis": "full"},
    "products": {"basis": Landmarks(30), "solver": "pcg", "alpha": 1e-3},
    "kernel products": {"basis": "full", "solver": "pcg", "alpha": 1e-3},
    "average": {"combine": "average", **SHARDS},
    "newton": {"combine": "newton", "rounds": 3, "alpha": 1e-3, **SHARDS},
    "conjugate": {"combine": "conjugate", "rounds": 3, "alpha": 1e-3, **SHARDS},
}
SPECIAL: list[dict[str, Any]] = [
    {"kernel": "auto"},
    {"basis": RandomFeatures(40)},
    {"basis": Sketch(30)},
    *({"basis": Landmarks(30, sampling=how)} for how in ("leverage", "kmeans")),
    *({"basis": Landmarks(30), "selection": how} for how in ("gcv", "kfold", "loo")),
    *({"basis": Landmarks(30), "solver": how} for how in ("kcgm", "cutoff")),
    *({"basis": "full", "solver": how} for how in ("gradient_descent", "cutoff")),
    {"basis": "full", "selection": "kfold"},
    {"basis": Landmarks(30), "intervals": "jackknife+"},
    {"basis": Landmarks(30), "metric": "diagonal", "scale": "standard"},
    {"basis": Landmarks(30), "dtype": "float32"},
]
#: What differs from run to run: times, progress, what was measured of memory, and folders.
CHANGING = [
    (r"\b\d[\d.,]* (s|ms|min)\b", "# s"),
    (r"\d+ MB resident", "# MB resident"),
    (r'"(seconds|peak)": (\{[^}]*\}|[\d.e-]+)', r'"\1": #'),
    (r"(?m)^( +seconds| {4}[a-z ]+?) +\d+\.\d\d *$", r"\1 #"),
    (r'"bytes": \d+', '"bytes": #'),
    (r" +# s", " # s"),  # columns of a table are as wide as their numbers
    (r"(?m)^mercer: search \d+ fits.*\n?", ""),  # only of a search that takes seconds
    (r"(?m) +$", ""),
]
BAD_VALUES: list[Any] = ["?", -1, []]
REFUSALS = (ValueError, TypeError, AttributeError, LookupError, OSError, RuntimeError)


# Figures and the trace.


def code_of(path: Path) -> list[str]:
    """Return the lines of a file without comments, docstrings and blank lines."""
    text, kept = path.read_text(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE and token.string:
            kept.update(range(token.start[0], token.end[0] + 1))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            kept.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = text.splitlines()
    return [lines[number - 1] for number in sorted(kept)]


def crossed(call: Callable[[], object], end: Any = None) -> tuple[int, int]:
    """Return how many files and functions of the library are entered before code ``end``."""
    entered: list[Any] = []

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and end not in entered:
            entered.append(code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    found = set(entered) - {end}
    return len({code.co_filename for code in found}), len(found)


def show_figures() -> None:
    """Print lines and counts by folder, and what a fit and a prediction cross."""
    found = []
    for path in ROOT.rglob("*.py"):
        lines = code_of(path)
        counts = {name: len(re.findall(what, "\n".join(lines))) for name, what in COUNTED.items()}
        folder = path.relative_to(ROOT).parts[0] if path.parent != ROOT else "."
        found.append({"folder": folder, "files": 1, "lines": len(lines), **counts})
    by_folder = pd.DataFrame(found).groupby("folder").sum()
    print(pd.concat([by_folder, by_folder.sum().to_frame("all").T]).to_string())
    X = np.random.default_rng(0).random((300, 3))
    model = KernelRegressor(Gaussian(1.0), Landmarks(100), 1e-6)
    files, functions = crossed(lambda: model.fit(X, X[:, 0]), Kernel.__call__.__code__)
    print(f"\nbefore the first kernel value of a fit: {files} files, {functions} functions")
    print("a prediction: {} files, {} functions".format(*crossed(lambda: model.predict(X))))


# What the library does.


def mark(values: Any) -> str:
    """Return a fingerprint of all bits of an array."""
    array = np.ascontiguousarray(values)
    data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    return f"{array.dtype} {array.shape} {digest}"


def told(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """Return what a call says: its result or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call(*arguments, **named)
        except REFUSALS as error:
            found = f"{type(error).__name__}: {error}"
    said = [f"{type(one.message).__name__}: {one.message}" for one in caught]
    return "\n".join([str(found), *said])


def predicted(model: Any, X: Any) -> str:
    """Return the bits of the predictions of a model, or of a file with one."""
    return mark((mercer.load(model) if isinstance(model, Path) else model).predict(X))


class Data:
    """The same rows as arrays, as a table with categories, gaps and dates, and as files."""

    def __init__(self, folder: Path, n: int = 336) -> None:
        rng = np.random.default_rng(0)
        self.folder, self.X = folder, rng.random((n, 3))
        self.table = pd.DataFrame(
            {
                "area": np.where(rng.random(n) < 0.1, np.nan, 100 * self.X[:, 0]),
                "zip": rng.choice(["0A", "0B", "1C", "2D"], n),
                "sold": np.datetime64("2024-01-01") + rng.integers(700, size=n),
                "rooms": rng.integers(1, 8, n),
            }
        )
        y = np.sin(5 * self.X[:, 0]) + self.X[:, 1] + 0.1 * rng.normal(size=n)
        names = np.array(["high", "low", "mid"])
        self.y = {"regressor": y, "classifier": names[np.digitize(y, [0.4, 1.2])], "ranker": y}
        self.query = np.repeat(np.arange(n // 8), 8)
        for kind, target in self.y.items():
            table = self.table.assign(y=target, **{"qid": self.query} if kind == "ranker" else {})
            table.to_csv(folder / f"{kind}.csv", index=False)
            table.to_parquet(folder / f"{kind}.parquet", row_group_size=80)

    def fitted(self, kind: str, rows: Any, settings: dict[str, Any]) -> Any:
        """Return an estimator fitted to arrays, a table, or a file by its suffix."""
        file = isinstance(rows, str)
        query = {"qid": "qid" if file else self.query} if kind == "ranker" else {}
        X, y = (self.folder / f"{kind}{rows}", "y") if file else (rows, self.y[kind])
        return KINDS[kind](**{**COMMON, **settings}).fit(X, y, **query)


def facts_of(name: str, kind: str, model: Any, X: Any) -> Facts:
    """Yield the bits of a fitted model, and its summary."""
    yield f"{name} | alpha", mark(model.alpha_)
    yield f"{name} | coefficients", mark(model.dual_coef_)
    yield f"{name} | predictions", predicted(model, X)
    beyond, rows = {
        "regressor": ("predict_interval", [X]),
        "classifier": ("predict_proba", [X]),
        "ranker": ("predict_preference", [X[:40], X[40:80]]),
    }[kind]
    yield f"{name} | {beyond}", told(lambda: mark(getattr(model, beyond)(*rows)))
    yield f"{name} | summary", f"{model.summary()}"


def fits(data: Data, models: dict[str, Any]) -> Facts:
    """Yield the bits of fits, by kind, form and place; ``models`` gets those to save."""
    X, table, run = data.X, data.table, data.folder / "run"
    places: dict[str, tuple[Any, dict[str, Any]]] = {
        "arrays": (X, {}),
        "table": (table, {}),
        "csv": (".csv", {}),
        "parquet over shards": (".parquet", SHARDS),
        "checkpoint": (X, {"checkpoint": run, **SHARDS}),
    }
    cases = [
        (kind, f"{form}, {place}", rows, {**settings, **where})
        for kind in KINDS
        for form, settings in FORMS.items()
        for place, (rows, where) in places.items()
    ]
    cases += [("regressor", str(settings), X, settings) for settings in SPECIAL]
    for kind, case, rows, settings in cases:
        name = f"fit | {kind} | {case}"
        try:
            model = data.fitted(kind, rows, settings)
        except (ValueError, NotImplementedError) as error:
            yield name, f"{type(error).__name__}: {error}"
            continue
        new = X if rows is X else table
        yield from facts_of(name, kind, model, new)
        if case in ("moments, arrays", "moments, table", "products, csv", "dual, arrays"):
            models[f"{kind}, {case}"] = model
        if "checkpoint" in settings:
            yield f"{name} | files", "\n".join(sorted(path.name for path in run.iterdir()))
            yield f"{name} | resumed", predicted(data.fitted(kind, rows, settings), new)
            shutil.rmtree(run)
    half = np.arange(len(X)) < len(X) // 2
    y = data.y["regressor"]
    parts = KernelRegressor(**COMMON, **FORMS["moments"]).partial_fit(X[half], y[half])
    yield "fit | batches", mark(parts.partial_fit(X[~half], y[~half]).predict(X))
    yield "fit | forgotten rows", mark(parts.forget(X[:20], y[:20]).predict(X))


def contents_of(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return the description and the arrays of a model file."""
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
        return json.loads(file.metadata()["mercer"]), arrays


def exported(model: Any) -> str:
    """Return the bits of the ONNX graph of a model."""
    return mark(np.frombuffer(mercer.to_onnx(model).SerializeToString(), "u1"))


def saved(data: Data, models: dict[str, Any], kept: Path) -> Facts:
    """Yield what is in saved models, ONNX files and cards; the models are saved in ``kept``."""
    kept.mkdir(parents=True, exist_ok=True)
    for name, model in models.items():
        kind = name.split(",")[0]
        X = data.X if "arrays" in name else data.table
        path = mercer.save(model, kept / f"{name}.mercer", moments="moments" in name)
        document, tensors = contents_of(path)
        yield f"model | {name} | document", json.dumps(document, indent=1)
        yield from ((f"model | {name} | {part}", mark(value)) for part, value in tensors.items())
        query = {"qid": data.query} if kind == "ranker" else {}
        yield f"card | {name}", told(mercer.model_card, path, X, data.y[kind], **query)
        yield f"onnx | {name}", told(exported, model)


def loaded(data: Data, kept: Path) -> Facts:
    """Yield the predictions of the models in a folder."""
    for path in sorted(kept.glob("*.mercer")):
        X = data.X if "arrays" in path.stem else data.table
        yield f"model | {path.stem} | loaded", told(predicted, path, X)


def damaged(data: Data, kept: Path) -> Facts:
    """Yield the errors of damaged models: cut, with a bit flipped, and with each field changed."""
    path = data.folder / "damaged.mercer"
    whole = (kept / "regressor, moments, table.mercer").read_bytes()
    for at in (0, 4, 60, len(whole) - 1):
        path.write_bytes(whole[:at])
        yield f"damaged model | {min(at, 100)} bytes", told(mercer.load, path)
    for at in (60, len(whole) - 100):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        yield f"damaged model | a bit of byte {min(at, 100)}", told(mercer.load, path)
    for name in ("regressor, moments, table", "classifier, products, csv", "ranker, dual, arrays"):
        document, tensors = contents_of(kept / f"{name}.mercer")
        for holder, key, field in list(fields_of(document)):
            before = holder[key]
            for bad in BAD_VALUES:
                holder[key] = bad
                write_tensors(path, document, tensors, lambda written: None)
                yield f"damaged model | {name}{field} = {bad!r}", told(mercer.load, path)
            holder[key] = before
        for entry, values in tensors.items():
            for what, bad in {"NaN": values * np.nan, "cut": values[:-1]}.items():
                write_tensors(path, document, {**tensors, entry: bad}, lambda written: None)
                yield f"damaged model | {name}, {what} {entry}", told(mercer.load, path)


def fields_of(value: Any, name: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Yield all fields of a document: what holds it, its key, and its name."""
    for key, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key, f"{name}.{key}"
        if isinstance(part, (dict, list)):
            yield from fields_of(part, f"{name}.{key}")


def refused(data: Data) -> Facts:
    """Yield the errors of damaged files of rows, and of bad values of each parameter."""
    csv = (data.folder / "regressor.csv").read_text()
    parquet = (data.folder / "regressor.parquet").read_bytes()
    files: dict[str, bytes] = {
        "a value too many.csv": csv.replace("\n", ",1\n", 3).encode(),
        "an open quote.csv": (csv + '"a,b\n').encode(),
        "a NUL.csv": (csv + "1,0A\0,2024-01-01,3,1.0\n").encode(),
        "infinity.csv": (csv + "inf,0A,2024-01-01,3,1.0\n").encode(),
        "no rows.csv": csv.splitlines()[0].encode(),
        "empty.csv": b"",
        "cut.parquet": parquet[: len(parquet) // 2],
        "cut.npz": b"PK\3\4" + bytes(40),
        "a word.svm": b"1 1:0.5 2:x\n",
        "descending.svm": b"1 2:0.5 1:0.5\n",
        "unknown.xyz": b"1,2\n",
    }
    for name, content in files.items():
        (data.folder / name).write_bytes(content)
        model, target = KernelRegressor(**COMMON), None if name.endswith("svm") else "y"
        yield f"damaged file | {name}", told(model.fit, data.folder / name, target)
    for kind, estimator in KINDS.items():
        for name in inspect.signature(estimator).parameters.keys() - {"engine", "checkpoint"}:
            for bad in BAD_VALUES:
                error = told(small_fit, data, kind, {name: bad})
                yield f"bad parameter | {kind}({name}={bad!r})", error


def small_fit(data: Data, kind: str, settings: dict[str, Any]) -> str:
    """Return the bits of the predictions of a fit to a few rows."""
    model = KINDS[kind](**{**COMMON, "basis": Landmarks(10), "alpha": 1e-3, **settings})
    query = {"qid": data.query[:48]} if kind == "ranker" else {}
    return predicted(model.fit(data.X[:48], data.y[kind][:48], **query), data.X)


def commands(data: Data) -> Facts:
    """Yield the ``--help`` of every command; what commands print and write, sheets among it."""
    runner, here = CliRunner(), Path.cwd()
    for name in ["", *sorted(one.name or "" for one in app.registered_commands)]:
        yield f"help | mercer {name}", runner.invoke(app, [*name.split(), "--help"]).output
    lines = """
        look regressor.csv --target y
        look classifier.csv --target y --json
        plan regressor.csv --target y --memory-limit 2GB --statements
        fit regressor.csv --target y --memory-limit 2GB --holdout 0.2 --out houses.mercer
        fit classifier.csv --target y --memory-limit 2GB --json --out classes.mercer
        info houses.mercer
        info classes.mercer --json
        predict houses.mercer regressor.csv --interval 90 --out predicted.csv
        predict classes.mercer classifier.csv --proba --append --out classes.csv
        card classes.mercer --data classifier.csv --out card.md
        rank ranker.csv --target y --query qid --memory-limit 2GB --test ranker.csv
        export houses.mercer --out houses.onnx
        label regressor.csv --budget 12 --exclude y --memory-limit 2GB --out sheet.csv
        label regressor.csv --budget 6 --exclude y --more sheet.csv --out more.csv
        predict houses.mercer sheet.csv
        fit regressor.csv --target z
        fit missing.csv --target y
    """
    os.chdir(data.folder)
    try:
        for line in lines.strip().splitlines():
            arguments = line.split()
            found = runner.invoke(app, arguments)
            yield f"command | {line.strip()}", f"exit {found.exit_code}\n{found.output}"
            written = Path(arguments[-1])  # that of --out
            if "--out" in arguments and written.suffix in (".csv", ".md") and written.exists():
                yield f"written | {line.strip()}", written.read_text()
    finally:
        os.chdir(here)


# Records.


def recorded(kept: Path, before: Path | None = None) -> dict[str, str]:
    """Return all facts by name; ``kept`` gets models, and those of ``before`` are loaded."""
    with tempfile.TemporaryDirectory() as name:
        data, models = Data(Path(name)), {}
        found: dict[str, str] = {}
        for part in (
            fits(data, models),
            saved(data, models, kept),
            loaded(data, before or kept),
            damaged(data, kept),
            refused(data),
            commands(data),
        ):
            for what, value in part:
                text = str(value).replace(name, "FOLDER").replace(str(kept), "KEPT")
                for pattern, new in CHANGING:
                    text = re.sub(pattern, new, text)
                found[what] = text.strip()
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return every fact that differs, with the lines that do."""
    found = []
    for what in sorted({*before, *after}):
        old, new = before.get(what, "(nothing)"), after.get(what, "(nothing)")
        if old != new:
            lines = difflib.ndiff(old.splitlines(), new.splitlines())
            found += [what, *[f"    {line}" for line in lines if line[0] in "-+"][:10]]
    return found


def main() -> int:
    """Print figures, write a record, or compare with one; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.house")
    parser.add_argument("task", nargs="?", choices=["figures", "record", "compare"])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("house"))
    given = parser.parse_args()
    if given.task in (None, "figures"):
        show_figures()
        return 0
    record, models = given.folder / "record.json", given.folder / "models"
    if given.task == "record":
        found = recorded(models)
        record.write_text(json.dumps(found, indent=1, sort_keys=True))
        print(f"{len(found):,} facts in {record}")
        return 0
    with tempfile.TemporaryDirectory() as name:
        found = recorded(Path(name) / "models", models)
    wrong = differences(json.loads(record.read_text()), found)
    print("\n".join([*wrong, f"{len(found):,} facts compared"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
