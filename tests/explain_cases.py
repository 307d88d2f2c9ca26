"""Rows and a table for tests of explanations, and differences to compare these with."""

import numpy as np
import pandas as pd

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 100.0]
Y = np.sin(X[:, 0]) + 0.05 * X[:, 1] + 3 * (X[:, 2] - 100) * X[:, 0]
Y = Y + 0.2 * RNG.standard_normal(300)
SD = X.std(axis=0)
#: Off the rows of the fit, where quantiles have knots and Laplacian kernels kinks.
ROWS = X[:40] + 1e-3 * SD


def slopes(function, X, steps):
    """The central differences of a function of rows, column by column."""
    found = []
    for column, step in enumerate(steps):
        up, down = X.copy(), X.copy()
        up[:, column] += step
        down[:, column] -= step
        found.append((function(up) - function(down)) / (2 * step))
    return np.stack(found, axis=1)


def steps_of(function, X, spread):
    """The change over a standard deviation, column by column."""
    return slopes(function, X, spread / 2) * spread


def assert_slopes(found, function, rows=ROWS, step=1e-5, atol=1e-5):
    """Derivatives are differences of predictions, in units of standard deviations."""
    expected = slopes(function, rows, step * SD)
    np.testing.assert_allclose(found.derivative * SD, expected * SD, rtol=1e-5, atol=atol)


def houses(rows=400):
    """A table with every kind of column, and gaps."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "size": 50 + 20 * rng.random(rows),
            "price": [f"${1000 + 500 * value:,.2f}" for value in rng.random(rows)],
            "color": rng.choice(["red", "green", "blue"], rows, p=[0.6, 0.3, 0.1]),
            "zip": [f"z{number:03d}" for number in rng.integers(0, 60, rows)],
            "sold": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, rows), unit="D"),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True
            ),
            "same": "x",
        }
    )
    frame.loc[rng.random(rows) < 0.1, "size"] = np.nan
    frame.loc[rng.random(rows) < 0.1, "color"] = None
    frame.loc[rng.random(rows) < 0.05, "sold"] = pd.NaT
    effect = frame["color"].map({"red": 1.0, "green": 0.0, "blue": -1.0}).fillna(0.5)
    day = frame["sold"].dt.day_of_year.fillna(100)
    y = 0.1 * frame["size"].fillna(70) + effect + np.sin(2 * np.pi * day / 365)
    return frame, np.asarray(y + 0.1 * rng.standard_normal(rows))
