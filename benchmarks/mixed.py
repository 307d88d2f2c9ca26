"""Tables with categories, dates and gaps: all defaults, against trees with native categories.

And what the encoding costs: a fit from a Parquet file of a million rows, with and without text.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from experiments.scaffold.data import load
from experiments.scaffold.tables import Table

from benchmarks.child import run_child

SPLITS = 3
FLIGHTS, COVTYPE = (20_000, 10_000), (20_000, 20_000)  # rows to train on and to test on
DAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
BIKE_LEAKS = (15, 16)
ROWS, NUMBERS, CATEGORIES, LANDMARKS = 1_000_000, 15, 5, 1000
GROUPS = 20
#: A table, its targets, the number of rows to train on, and whether the targets are classes.
Mixed = tuple[pd.DataFrame, Any, int, bool]


def flights(seed: int) -> Mixed:
    """Return delays by date, weekday, time of day, distance, and the codes of two airports."""
    data = load("us_flights_2001")
    train, test = FLIGHTS
    rows = np.random.default_rng(seed).permutation(len(data.y))[: train + test]
    month, day, weekday, minute, distance = data.X[rows].T
    dates = [f"2001-{int(m):02d}-{int(d):02d}" for m, d in zip(month, day, strict=True)]
    codes = data.airport_code.astype(str)
    table = pd.DataFrame(
        {
            "date": dates,
            "weekday": DAYS[(weekday - weekday.min()).astype(int)],
            "minute": minute,
            "distance": distance,
            "origin": codes[data.origin[rows]],
            "destination": codes[data.destination[rows]],
        }
    )
    return table, data.y[rows].astype(float), train, False


def covtype(seed: int) -> Mixed:
    """Return cover types by ten numbers, the wilderness area and the type of soil."""
    data = load("covtype")
    train, test = COVTYPE
    rows = np.random.default_rng(seed).permutation(len(data.y))[: train + test]
    X = data.X[rows]
    table = pd.DataFrame(X[:, :10].astype(float)).rename(columns="n{}".format)
    table["wilderness"] = [f"W{area}" for area in X[:, 10:14].argmax(axis=1)]
    table["soil"] = [f"S{kind}" for kind in X[:, 14:].argmax(axis=1)]
    return table, data.y[rows].astype(int), train, True


def california(seed: int) -> Mixed:
    """Return prices with a region in place of coordinates, and gaps in the median income."""
    data = load("california_housing")
    order = np.random.default_rng(seed).permutation(len(data.y))
    X = data.X[order]
    table = pd.DataFrame(X[:, :-2]).rename(columns="n{}".format)
    places = np.floor(2 * X[:, -2:]).astype(int)
    table["region"] = [f"R{north}/{east}" for north, east in places]
    table.loc[np.random.default_rng(7).random(len(X)) < 0.05, "n0"] = np.nan
    return table, data.y[order].astype(float), round(0.8 * len(X)), False


def bike(seed: int) -> Mixed:
    """Return counts of rented bikes, with every column of 3 to 24 values as text."""
    data = load("bike")
    order = np.random.default_rng(seed).permutation(len(data.y))
    table = pd.DataFrame(np.delete(data.X, BIKE_LEAKS, axis=1)[order]).rename(columns="n{}".format)
    for name in table.columns:
        values = np.unique(table[name])
        if 3 <= len(values) <= 24:
            table[name] = [f"L{at}" for at in np.searchsorted(values, table[name])]
    return table, data.y[order].astype(float).ravel(), round(0.8 * len(table)), False


SETS: dict[str, Callable[[int], Mixed]] = {
    "flights": flights,
    "covtype": covtype,
    "california_housing": california,
    "bike": bike,
}


def text_columns(table: pd.DataFrame) -> list[str]:
    return [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]


def mercer(train: pd.DataFrame, y: Any, test: pd.DataFrame, classes: bool, seed: int) -> Any:
    made = import_module("mercer")
    kind = made.KernelClassifier if classes else made.KernelRegressor
    return kind(random_state=seed).fit(train, y).predict(test)


def catboost(train: pd.DataFrame, y: Any, test: pd.DataFrame, classes: bool, seed: int) -> Any:
    made = import_module("catboost")
    kind = made.CatBoostClassifier if classes else made.CatBoostRegressor
    model = kind(
        random_seed=seed,
        thread_count=joblib.cpu_count(),
        cat_features=text_columns(train),
        verbose=False,
        allow_writing_files=False,
    )
    return np.ravel(model.fit(train, y).predict(test))


def lightgbm(train: pd.DataFrame, y: Any, test: pd.DataFrame, classes: bool, seed: int) -> Any:
    made = import_module("lightgbm")
    kind = made.LGBMClassifier if classes else made.LGBMRegressor
    train, test = train.copy(), test.copy()
    for name in text_columns(train):
        train[name] = train[name].astype("category")
        test[name] = pd.Categorical(test[name], categories=train[name].cat.categories)
    model = kind(random_state=seed, n_jobs=joblib.cpu_count(), verbose=-1)
    return model.fit(train, y).predict(test)


METHODS = {"mercer": mercer, "CatBoost": catboost, "LightGBM": lightgbm}


def run() -> list[object]:
    """Return the comparison, and what the encoding costs."""
    table = Table(["table", *(f"{name}: error, seconds" for name in METHODS), "ratio to the best"])
    ratios = []
    for name, make in SETS.items():
        errors = {method: np.zeros(SPLITS) for method in METHODS}
        seconds = {method: np.zeros(SPLITS) for method in METHODS}
        for split in range(SPLITS):
            rows, y, train, classes = make(split)
            for method, fit in METHODS.items():
                start = time.perf_counter()
                found = fit(rows[:train], y[:train], rows[train:], classes, split)
                seconds[method][split] = time.perf_counter() - start
                errors[method][split] = error(found, y[train:], classes)
                print(f"{name} {split} {method} {errors[method][split]:.4g}", flush=True)
        mean = {method: float(values.mean()) for method, values in errors.items()}
        best = min(value for method, value in mean.items() if method != "mercer")
        ratios.append(mean["mercer"] / best)
        cells = [f"{mean[m]:.4g}, {np.median(seconds[m]):.1f} s" for m in METHODS]
        table.add([name, *cells, f"{ratios[-1]:.3f}"])
    overall = float(np.exp(np.mean(np.log(ratios))))
    return [
        f"All defaults on tables with text and gaps, {SPLITS} random splits each: flights with "
        f"dates, weekdays and the codes of airports; covtype with wilderness area and soil type as "
        f"text; California with a region of half a degree in place of coordinates, and 5 % of the "
        f"incomes missing; bike with columns of 3 to 24 values as text. Trees are told which "
        f"columns are categories. Errors are root mean squared errors, or shares of wrong classes; "
        f"seconds are of fit and predict.",
        table,
        f"Geometric mean of mercer's error to that of the better of the two: **{overall:.3f}**.",
        *cost(),
    ]


def error(found: Any, y: Any, classes: bool) -> float:
    if classes:
        return float(np.mean(np.ravel(found) != y))
    return float(np.sqrt(np.mean((found - y) ** 2)))


def cost() -> list[object]:
    """Return the time and memory of a fit from Parquet with and without categories."""
    table = Table(["columns", "fit", "table and look", "peak"])
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for kind in ("numbers", "categories"):
            path = written(Path(name) / f"{kind}.parquet", kind == "categories")
            for _ in range(2):  # the faster of two
                one = run_child("table_fit", path=str(path), landmarks=LANDMARKS)
                if kind not in found or one["seconds"] < found[kind]["seconds"]:
                    found[kind] = one
            one = found[kind]
            table.add(
                [
                    "20 of numbers" if kind == "numbers" else "15 of numbers, 5 of text",
                    f"{one['seconds']:.1f} s",
                    f"{one['columns']:.1f} s",
                    f"{one['peak'] / 1e6:.0f} MB",
                ]
            )
    ratio = found["categories"]["seconds"] / found["numbers"]["seconds"]
    return [
        f"What the encoding costs: {ROWS:,} rows from Parquet, {LANDMARKS:,} landmarks, the same "
        f"numbers written as numbers, and five columns of them as text of 50 levels, which become "
        f"means of y.",
        table,
        f"Ratio of the two fits: **{ratio:.2f}**.",
    ]


def written(path: Path, categories: bool) -> Path:
    """Write a million rows in row groups; five columns are codes, as numbers or as text."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    rng = np.random.default_rng(0)
    effects = rng.standard_normal((CATEGORIES, 50))
    levels = np.array([f"level {code}" for code in range(50)])
    writer = None
    for _ in range(GROUPS):
        n = ROWS // GROUPS
        X, codes = rng.standard_normal((n, NUMBERS)), rng.integers(0, 50, (n, CATEGORIES))
        y = np.sin(2 * X[:, 0]) + sum(effects[j, codes[:, j]] for j in range(CATEGORIES))
        columns = {f"x{j}": X[:, j] for j in range(NUMBERS)}
        for j in range(CATEGORIES):
            columns[f"c{j}"] = levels[codes[:, j]] if categories else effects[j, codes[:, j]]
        block = pa.table({**columns, "y": y + 0.1 * rng.standard_normal(n)})
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block)
    assert writer is not None
    writer.close()
    return path
