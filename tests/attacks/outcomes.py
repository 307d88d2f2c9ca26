"""Tables of every kind, fitted with all defaults, against the simplest model that a user could try.

A table is drawn, fitted, saved, loaded in a new process and predicted there, with intervals or
probabilities. The outcome is wrong if the loaded model predicts something else, or if the error on
new rows is larger than that of a baseline, the better by cross-validation of the mean of y in rows
that are alike and a ridge on indicators, by .05 in R2 or .03 in accuracy.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.attacks.harness import WrongError, refused_or

from mercer import KernelClassifier, KernelRegressor, load, save

Rng = np.random.Generator
#: New rows, by which models are compared.
NEW = 1000
#: How much worse than the baseline is wrong.
WORSE_R2, WORSE_ACCURACY = 0.05, 0.03
ALPHAS = np.logspace(-3, 3, 13)
#: Seconds after which a process has hung.
LIMIT = 120.0


@dataclass(frozen=True)
class Truth:
    """How rows are drawn: ``draw(n, rng)`` returns a table and the signal of each row."""

    draw: Callable[[int, Rng], tuple[pd.DataFrame, Any]]
    rows: int
    noise: float


def names(prefix: str, codes: Any) -> list[str]:
    """Return the names of levels."""
    return [f"{prefix}{code}" for code in codes]


def categories(rng: Rng) -> Truth:
    """One to three columns of categories whose effects add up."""
    levels = [int(rng.choice([3, 10, 30, 80, 200])) for _ in range(int(rng.integers(1, 4)))]
    effects = [rng.normal(size=L) for L in levels]

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        codes = [rng.integers(0, L, n) for L in levels]
        frame = pd.DataFrame({f"c{i}": names("L", part) for i, part in enumerate(codes)})
        return frame, sum(effect[part] for effect, part in zip(effects, codes, strict=True))

    return Truth(draw, max(200, 6 * max(levels)), float(rng.choice([0.1, 0.5, 1.0])))


def interactions(rng: Rng) -> Truth:
    """Two categories that say nothing alone."""
    shape = int(rng.integers(3, 25)), int(rng.integers(3, 7))
    cells = rng.normal(size=shape)

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        codes = [rng.integers(0, L, n) for L in shape]
        frame = pd.DataFrame({f"c{i}": names("L", part) for i, part in enumerate(codes)})
        return frame, cells[tuple(codes)]

    return Truth(draw, 6 * shape[0] * shape[1] + 100, float(rng.choice([0.1, 0.5])))


def rare_levels(rng: Rng) -> Truth:
    """Levels as frequent as words: a few common ones, and very many rare ones; and a number."""
    levels = int(rng.choice([30, 100, 300]))
    effects, share = rng.normal(size=levels), 1.0 / np.arange(1, levels + 1)

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        code, x = rng.choice(levels, n, p=share / share.sum()), rng.normal(size=n)
        return pd.DataFrame({"word": names("w", code), "x": x}), effects[code] + np.sin(x)

    return Truth(draw, int(rng.integers(200, 600)), 0.5)


def new_levels(rng: Rng) -> Truth:
    """A category of which new rows have other levels, beside a number that matters."""

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        first, x = 1000 * (n == NEW), rng.normal(size=n)
        code = first + rng.integers(0, 40, n)
        return pd.DataFrame({"site": names("s", code), "x": x}), x

    return Truth(draw, int(rng.integers(150, 400)), 0.3)


def repeats(rng: Rng) -> Truth:
    """Numbers of few values and a category: most rows are there several times."""
    effects = rng.normal(size=4)

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        a, b, code = rng.integers(0, 5, n), rng.integers(0, 3, n), rng.integers(0, 4, n)
        return pd.DataFrame({"a": a, "b": b, "c": names("L", code)}), np.sin(a) * b + effects[code]

    return Truth(draw, int(rng.integers(100, 500)), float(rng.choice([0.1, 1.0])))


def mixed(rng: Rng) -> Truth:
    """Numbers, gaps, dates, prices as text, a flag, an identifier and a category."""
    effects = rng.normal(size=12)

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        x, day, code = rng.gamma(3, 1, n), rng.integers(0, 700, n), rng.integers(0, 12, n)
        frame = pd.DataFrame(
            {
                "id": rng.choice(10**9, n, replace=False),
                "size": np.where(rng.random(n) < 0.1, np.nan, x),
                "price": [f"${value:,.2f}" for value in 1e4 * rng.random(n)],
                "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(day, "D"),
                "flag": rng.random(n) < 0.3,
                "kind": names("k", code),
            }
        )
        return frame, np.log(x + 1) + day / 500 + effects[code] + frame.flag

    return Truth(draw, int(rng.integers(150, 500)), 0.3)


def linear(rng: Rng) -> Truth:
    """A linear truth in some of the columns."""
    columns = int(rng.integers(2, 12))
    slopes = rng.normal(size=columns) * (rng.random(columns) < 0.7)
    slopes[0] = 1.0

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        X = rng.normal(size=(n, columns))
        return pd.DataFrame(X).add_prefix("x"), X @ slopes

    return Truth(draw, int(rng.integers(100, 500)), float(rng.choice([0.1, 1.0])))


def copies(rng: Rng) -> Truth:
    """Every row is there several times, as after a join or upsampling."""
    plain, times = linear(rng), int(rng.integers(2, 5))

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        X, signal = plain.draw(n // times + 1, rng)
        again = np.arange(n) % len(X)
        return X.iloc[again].reset_index(drop=True), np.asarray(signal)[again]

    return Truth(draw, plain.rows, plain.noise)


def imbalance(rng: Rng) -> Truth:
    """A signal that is seldom large, so that its upper class is rare."""

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        X = rng.normal(size=(n, 3))
        frame = pd.DataFrame(X).add_prefix("x").assign(kind=names("k", rng.integers(0, 3, n)))
        return frame, np.exp(1.5 * X[:, 0]) + X[:, 1] ** 2

    return Truth(draw, int(rng.integers(300, 600)), 0.3)


def groups(rng: Rng) -> Truth:
    """Rows of groups that have a level, and a range of x, of their own."""
    size = int(rng.integers(10, 60))
    level, center = 2 * rng.normal(size=size), rng.normal(size=size)

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        code = rng.integers(0, size, n)
        x = center[code] + 0.3 * rng.normal(size=n)
        return pd.DataFrame({"group": names("g", code), "x": x}), level[code] + x

    return Truth(draw, 10 * size, 0.5)


def few_rows(rng: Rng) -> Truth:
    """So few rows that hardly anything is searched."""
    return replace(linear(rng), rows=int(rng.integers(20, 60)))


def wide(rng: Rng) -> Truth:
    """More columns than rows, of which few matter."""
    rows = int(rng.integers(50, 120))
    columns = rows + int(rng.integers(1, 200))
    slopes = np.where(np.arange(columns) < 5, 1.0, 0.0)

    def draw(n: int, rng: Rng) -> tuple[pd.DataFrame, Any]:
        X = rng.normal(size=(n, columns))
        return pd.DataFrame(X).add_prefix("x"), X @ slopes

    return Truth(draw, rows, 0.3)


STRATEGIES: dict[str, Callable[[Rng], Truth]] = {
    "categories": categories,
    "interactions": interactions,
    "rare levels": rare_levels,
    "new levels": new_levels,
    "repeats": repeats,
    "mixed": mixed,
    "linear": linear,
    "copies": copies,
    "imbalance": imbalance,
    "groups": groups,
    "few rows": few_rows,
    "more columns than rows": wide,
}


def alike(X: pd.DataFrame) -> Any:
    """Return a key of every row that equal rows share."""
    return pd.util.hash_pandas_object(X, index=False).to_numpy()


def group_means(X: pd.DataFrame, y: Any, Z: pd.DataFrame) -> Any:
    """Return the mean of y in the rows that are alike in all columns, or in all rows."""
    means = pd.Series(y).groupby(alike(X)).mean()
    return pd.Series(alike(Z)).map(means).fillna(np.mean(y)).to_numpy()


def ridge(classes: bool) -> Any:
    """Return a ridge on standardized numbers and indicators."""
    text = make_column_selector(dtype_include=[object, "string", "category"])
    numbers = make_column_selector(dtype_include=["number", "bool"])
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), text),
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    )
    return make_pipeline(columns, (RidgeClassifierCV if classes else RidgeCV)(ALPHAS))


def baseline(X: pd.DataFrame, y: Any, Z: pd.DataFrame, classes: bool) -> Any:
    """Return predictions of the better of group means and ridge, by cross-validation."""
    target = (y == "up").astype(float) if classes else y
    model, half = ridge(classes), len(X) // 2

    def means(rows: Any, values: Any, new: Any) -> Any:
        found = group_means(rows, values, new)
        return np.where(found > 0.5, "up", "down") if classes else found

    ahead = means(X[:half], target[:half], X[half:])
    fitted = cross_val_predict(model, X, y, cv=3)
    if score(y[half:], ahead, classes) > score(y, fitted, classes):
        return means(X, target, Z)
    return model.fit(X, y).predict(Z)


def score(y: Any, predicted: Any, classes: bool) -> float:
    """Return accuracy, or R2."""
    if classes:
        return float(np.mean(y == predicted))
    return float(1 - np.mean((y - predicted) ** 2) / np.var(y))


@dataclass(frozen=True)
class Case:
    """A fitted table: what it is, new rows with their targets, and the score of the baseline."""

    what: str
    folder: Path
    predicted: Any
    z: Any
    classes: bool
    theirs: float
    warned: bool = False  # that held-out rows are known to the fit

    def lag(self) -> float:
        """Return by how much of what is wrong the loaded model is behind the baseline.

        Raise WrongError if it is not the model, or has no intervals or probabilities.
        """
        found, more = pickle.loads((self.folder / "found.pkl").read_bytes())
        same = np.array_equal if self.classes else np.allclose
        if not same(found, self.predicted):
            raise WrongError(f"{self.what}: a loaded model predicts something else")
        ordered = self.classes or np.all(more[:, 0] <= more[:, 1])
        if not (np.isfinite(more).all() and ordered):
            raise WrongError(f"{self.what}: intervals or probabilities are not such")
        behind = self.theirs - score(self.z, found, self.classes)
        return behind / (WORSE_ACCURACY if self.classes else WORSE_R2)

    def check(self) -> str:
        """Raise WrongError unless the loaded model is the model, and as good as the baseline."""
        lag = self.lag()
        if lag > 1 and not self.warned:
            what = "accuracy" if self.classes else "R2"
            raise WrongError(
                f"{self.what}: behind a baseline of {what} {self.theirs:.3f} by {lag:.1f} times "
                f"what is allowed"
            )
        return "right"


def fitted(name: str, rng: Rng, folder: Path) -> Case:
    """Draw a table, fit and save it, and predict new rows."""
    truth, classes = STRATEGIES[name](rng), bool(rng.random() < 0.4)
    parts = []
    for n in (truth.rows, NEW):
        X, signal = truth.draw(n, rng)
        _, first, again = np.unique(alike(X), return_index=True, return_inverse=True)
        noise = rng.normal(size=n)
        # Copies are copies of y as well.
        y = signal + truth.noise * (noise[first][again] if name == "copies" else noise)
        parts += [X, y]
    X, y, Z, z = parts
    if classes:
        middle = np.quantile(y, 0.9 if name == "imbalance" else 0.5)
        y, z = (np.where(part > middle, "up", "down") for part in (y, z))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = (KernelClassifier if classes else KernelRegressor)(random_state=0).fit(X, y)
    warned = any("copies of others" in str(one.message) for one in found)
    save(model, folder / "model")
    (folder / "new.pkl").write_bytes(pickle.dumps(Z))
    theirs = score(z, baseline(X, y, Z, classes), classes)
    what = f"{name}: {len(X)} rows, {X.nunique().to_dict()}, noise {truth.noise}"
    return Case(what, folder, model.predict(Z), z, classes, theirs, warned)


def predicted_elsewhere(folders: list[Path]) -> None:
    """Predict new rows by saved models, in a process that has not fitted them."""
    how = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    context = get_context(how)
    context.set_forkserver_preload([__name__])  # workers start at once, where there is one
    process = context.Process(target=predict_in, args=(folders,))
    process.start()
    process.join(LIMIT)
    if process.exitcode != 0:
        process.kill()
        raise WrongError(f"a new process cannot predict: it ends with {process.exitcode}")


def attack(name: str) -> Callable[[Rng, Path], str]:
    """Return the attack by tables of one kind."""

    def whole(rng: Rng, folder: Path) -> str:
        case = fitted(name, rng, folder)
        predicted_elsewhere([folder])
        return case.check()

    def run(rng: Rng, folder: Path) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return refused_or(lambda: whole(rng, folder))

    return run


def predict_in(folders: list[Path]) -> None:
    """Predict new rows by saved models."""
    warnings.simplefilter("ignore")
    for folder in folders:
        model, Z = load(folder / "model"), pickle.loads((folder / "new.pkl").read_bytes())
        classes = hasattr(model, "predict_proba")
        more = model.predict_proba(Z) if classes else np.asarray(model.predict_interval(Z))
        (folder / "found.pkl").write_bytes(pickle.dumps((model.predict(Z), more)))
