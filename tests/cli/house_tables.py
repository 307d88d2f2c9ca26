"""A table as people have it: categories, gaps, dates, an id, and a price that is text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

#: The kernel of a test that is about something else.
QUICK = ("--components", 20, "--alpha", 1e-4, "--metric", "none", "--kernel", "gaussian")


def houses(n: int = 150) -> pd.DataFrame:
    """Return rows whose price depends on size, kind and zip."""
    rng = np.random.default_rng(0)
    size = rng.uniform(50, 200, n).round(1)
    kind = rng.choice(["flat", "house", "villa"], n)
    price = 1000 * size + 20_000 * (kind == "villa")
    frame = pd.DataFrame(
        {
            "code": [f"{number:05d}" for number in rng.permutation(n) * 7],
            "size": np.where(np.arange(n) % 10 == 3, np.nan, size),
            "kind": kind,
            "zip": rng.choice([94103, 10001, 60601], n),
            "sold": pd.date_range("2020-01-01", periods=n, freq="D").strftime("%Y-%m-%d"),
        }
    )
    frame["amount"] = price.round(2)
    frame["price"] = [f"${value:,.0f}" for value in price]
    return frame


def write_german(frame: pd.DataFrame, path: str) -> Path:
    """Write semicolons, decimal commas and a byte order mark, as spreadsheets do."""
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    return Path(path)
