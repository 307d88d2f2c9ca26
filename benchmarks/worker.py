"""Fits by the public interface alone, in a process that imports the library of one checkout.

``python -m benchmarks.worker <src> <folder>`` answers requests, a line of JSON each, by lines of
JSON. :mod:`benchmarks.against` has two of these work in turns.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

#: Rows that are fitted before anything is timed, so that all is imported and warm.
FEW = 600
#: Predictions of a single row, of which the mean is taken.
TIMES = 300
#: Actions of a model that was fitted before: how often it predicts how many rows.
PREDICTIONS: dict[str, tuple[int, int | None]] = {"predict": (1, None), "predict one": (TIMES, 1)}


def made(wanted: Any) -> Any:
    """Return what is described by its public name: ``["make", name, arguments, settings]``.

    >>> made({"alpha": 0.5, "kernel": ["make", "Gaussian", [2.0], {}]})
    {'alpha': 0.5, 'kernel': Gaussian(bandwidth=2.0)}
    """
    import mercer

    if isinstance(wanted, dict):
        return {name: made(value) for name, value in wanted.items()}
    if isinstance(wanted, list) and wanted[:1] == ["make"]:
        _, name, arguments, settings = wanted
        kind = getattr(mercer, name)
        known = inspect.signature(kind).parameters
        # What is turned off does not exist in an older library.
        settings = {k: v for k, v in settings.items() if v is not None or k in known}
        return kind(*map(made, arguments), **made(settings))
    return wanted


class Worker:
    """Rows that were written to a folder, and the models that were fitted to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, dict[str, Any]] = {}
        self.fitted: dict[str, Any] = {}

    def do(self, name: str, rows: str, model: Any, action: str, value: bool) -> dict[str, Any]:
        """Fit, or predict by a model that was fitted before; return seconds, and predictions."""
        data = self._rows(rows)
        predicts = action in PREDICTIONS
        if name not in self.fitted:
            part = slice(None if predicts else FEW)
            self.fitted[name] = made(model).fit(data["X"][part], data["Y"][part])
            self.fitted[name].predict(data["new"][:FEW])
        fitted = self.fitted[name] if predicts else made(model)
        times, rows = PREDICTIONS.get(action, (1, None))
        gc.collect()
        start, used = time.perf_counter(), time.process_time()
        for _ in range(times):
            if predicts:
                fitted.predict(data["new"][:rows])
            else:
                fitted.fit(data["X"], data["Y"])
        found: dict[str, Any] = {
            "seconds": (time.perf_counter() - start) / times,
            "processor": (time.process_time() - used) / times,
        }
        if value:
            found["value"] = np.ravel(fitted.predict(data["new"][:200])).tolist()
        return found

    def _rows(self, name: str) -> dict[str, Any]:
        if name not in self.rows:
            parts = ("X", "Y", "new")
            self.rows[name] = {p: np.load(self.folder / f"{name}_{p}.npy") for p in parts}
        return self.rows[name]


def main(src: str, folder: str) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed does not get between them
    import mercer

    home = Path(mercer.__file__).resolve()
    if not home.is_relative_to(Path(src).resolve()):
        raise SystemExit(f"mercer was imported from {home}, not from {src}")
    warnings.simplefilter("ignore")
    worker = Worker(Path(folder))
    for line in sys.stdin:
        try:
            found = worker.do(**json.loads(line))
        except (AttributeError, TypeError, ValueError, RuntimeError, MemoryError) as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
