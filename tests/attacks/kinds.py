"""The attacks: tables, files of rows, model files, checkpoints, batches, signals, predictions."""

from __future__ import annotations

import signal
import string
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
from tests.attacks.harness import Attack, WrongError, refused_or
from tests.attacks.outcomes import STRATEGIES, attack

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    ModelFileError,
    load,
    save,
)

Rng = np.random.Generator
#: A fit of a table that takes milliseconds.
QUICK: dict[str, Any] = {"kernel": "gaussian", "metric": None, "scale": "standard"}
QUICK |= {"random_state": 0, "selection": "gcv"}
#: Characters that files are attacked with.
ODD = [*string.printable, "\x00", "\ufeff", "é", "\u202e", "🙂", "\x1b[31m"]


def column(rng: Rng, n: int) -> Any:
    """Return a column of a hostile table."""
    numbers = rng.standard_normal(n)
    kinds: list[Any] = [
        lambda: numbers * 10.0 ** rng.integers(-12, 13),
        lambda: rng.integers(-5, 5, n),
        lambda: np.where(rng.random(n) < rng.random(), np.nan, numbers),
        lambda: np.full(n, rng.choice([0.0, -1.0, 1e9, np.nan])),
        lambda: rng.choice(["a", "b", "", " a", "A", "nan", "None", "=1+1"], n),
        lambda: [f"{value:,.2f}" for value in 1e5 * numbers],
        lambda: pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(-(10**5), 10**5, n), "D"),
        lambda: np.where(rng.random(n) < 0.05, rng.choice([np.inf, -np.inf]), numbers),
        lambda: rng.integers(0, 2, n).astype(bool),
        lambda: np.array([rng.choice(ODD) * int(rng.integers(0, 9)) for _ in range(n)]),
        lambda: np.array([None if rng.random() < 0.5 else float(v) for v in numbers], dtype=object),
        lambda: np.arange(n) + 10**15,
    ]
    return kinds[rng.integers(len(kinds))]()


def tables(rng: Rng, folder: Path) -> str:
    """Fit a table of random columns of any kind, and predict it."""
    n = int(rng.integers(1, 80))
    frame = pd.DataFrame({f"c{i}": column(rng, n) for i in range(int(rng.integers(1, 6)))})
    y = np.asarray(column(rng, n))
    kind = KernelClassifier if rng.random() < 0.5 else KernelRegressor
    basis = rng.choice(["auto", "landmarks", "random_features"])
    weight = None if rng.random() < 0.7 else rng.integers(0, 3, n).astype(float)

    def fit() -> str:
        model = kind(basis=str(basis), **QUICK).fit(frame, y, weight)
        return finite(model, frame)

    return refused_or(fit)


def finite(model: Any, X: Any) -> str:
    """Return "right" if there is a finite prediction for every row."""
    found = model.predict(X)
    if len(found) != len(X):
        raise WrongError(f"{len(found)} predictions of {len(X)} rows")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise WrongError("predictions are not finite")
    return "right"


def mutated(rng: Rng, data: bytes) -> bytes:
    """Return bytes with a few of them flipped, overwritten, cut out, doubled or moved."""
    found = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        at = int(rng.integers(len(found)))
        length = int(rng.integers(1, 40))
        how = rng.integers(5)
        if how == 0:
            found[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            found[at : at + length] = rng.bytes(len(found[at : at + length]))
        elif how == 2:
            del found[at : at + length]
        elif how == 3:
            found[at:at] = found[at : at + length]
        else:
            other = int(rng.integers(len(found)))
            found[at : at + length] = found[other : other + len(found[at : at + length])]
        if not found:
            break
    return bytes(found)


def rows(rng: Rng, n: int = 60) -> tuple[Any, Any]:
    """Return rows whose target is a smooth function."""
    X = rng.random((n, 2))
    return X, np.sin(4 * X[:, 0]) + X[:, 1]


def model_files(rng: Rng, folder: Path) -> str:
    """Damage a model file: it is refused, or predicts as before."""
    X, y = rows(np.random.default_rng(0))
    basis = Landmarks(8)
    path = save(KernelRegressor(**QUICK, basis=basis).fit(X, y), folder / "model", moments=True)
    expected, data = load(path).predict(X), path.read_bytes()
    path.write_bytes(mutated(rng, data))
    try:
        found = load(path).predict(X)
    except ModelFileError:
        return "refused"
    if path.read_bytes() != data and not np.array_equal(found, expected):
        raise WrongError("a damaged file predicts something else")
    return "right"


def csv_files(rng: Rng, folder: Path) -> str:
    """Damage a CSV file, and fit what is left of it."""
    X, y = rows(rng, 40)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(town=rng.choice(["Ashby", "Bray"], 40), y=y)
    path = folder / "rows.csv"
    path.write_bytes(mutated(rng, frame.to_csv(index=False).encode()))

    def whole() -> str:
        model = KernelRegressor(**QUICK).fit(str(path), "y")
        found = model.predict(str(path))
        if not np.isfinite(found).all():
            raise WrongError("predictions are not finite")
        return "right"

    return refused_or(whole)


def checkpoints(rng: Rng, folder: Path) -> str:
    """Damage a file of a checkpoint: it is computed again, or refused."""
    X, y = rows(np.random.default_rng(0))
    settings = {**QUICK, "basis": Landmarks(8), "shards": 3, "alpha": 1e-3}
    fit = KernelRegressor(**settings, checkpoint=folder / "kept").fit
    expected = fit(X, y).dual_coef_
    files = sorted(path for path in (folder / "kept").rglob("*") if path.is_file())
    chosen = files[int(rng.integers(len(files)))]
    chosen.write_bytes(mutated(rng, chosen.read_bytes() or b"x"))

    def again() -> str:
        found = KernelRegressor(**settings, checkpoint=folder / "kept").fit(X, y).dual_coef_
        if not np.array_equal(found, expected):
            raise WrongError(f"a damaged {chosen.name} changes the model")
        return "right"

    return refused_or(again)


def batches(rng: Rng, folder: Path) -> str:
    """Add and forget batches: the model is that of the rows that remain."""
    X, y = rows(rng, 90)
    settings = {**QUICK, "kernel": Gaussian(0.5), "scale": None, "alpha": 1e-4}
    settings["basis"] = Landmarks(sampling=X[:12].copy())
    parts = np.array_split(np.arange(90), 6)
    model = KernelRegressor(**settings).partial_fit(X[parts[0]], y[parts[0]])
    inside = {0}
    for _ in range(int(rng.integers(3, 9))):
        part = int(rng.integers(6))
        if part in inside and len(inside) > 1:
            model.forget(X[parts[part]], y[parts[part]])
            inside.remove(part)
        elif part not in inside:
            model.partial_fit(X[parts[part]], y[parts[part]])
            inside.add(part)
    left = np.concatenate([parts[part] for part in sorted(inside)])
    expected = KernelRegressor(**settings).fit(X[left], y[left]).predict(X)
    if not np.allclose(model.predict(X), expected, rtol=1e-6, atol=1e-6):
        raise WrongError("the model is not that of the rows that remain")
    return "right"


def signals(rng: Rng, folder: Path) -> str:
    """Interrupt a fit at a random moment: the model is the old one, or a whole new one."""
    X, y = rows(rng, 400)
    model = KernelRegressor(**QUICK, basis=Landmarks(40)).fit(X[:200], y[:200])
    before = model.predict(X)

    def ring(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, float(rng.uniform(1e-4, 0.1)))
    finished = False
    try:
        model.fit(X, y)
        finished = True
    except (
        KeyboardInterrupt,
        TypeError,
    ):  # a comparison inside NumPy turns the former into the latter
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
    after = model.predict(X)
    whole = KernelRegressor(**QUICK, basis=Landmarks(40)).fit(X, y).predict(X)
    if np.array_equal(after, whole) or (not finished and np.array_equal(after, before)):
        return "right"
    raise WrongError("an interrupted fit leaves a model that is neither old nor new")


def predictions(rng: Rng, folder: Path) -> str:
    """Predict rows that are not like those of the fit."""
    X, y = rows(np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(town=np.where(X[:, 0] > 0.5, "A", "B"))
    model = KernelRegressor(**QUICK).fit(frame, y)
    n = int(rng.integers(0, 20))
    names = rng.permutation(["a", "b", "town", "more"])[: int(rng.integers(1, 5))]
    hostile = pd.DataFrame({str(name): column(rng, n) for name in names})
    return refused_or(lambda: finite(model, hostile))


ATTACKS: dict[str, Attack] = {
    "tables": tables,
    "model files": model_files,
    "CSV files": csv_files,
    "checkpoints": checkpoints,
    "batches": batches,
    "predictions": predictions,
}
ATTACKS |= {f"outcome: {name}": attack(name) for name in STRATEGIES}
if hasattr(signal, "SIGVTALRM"):
    ATTACKS["signals"] = signals
