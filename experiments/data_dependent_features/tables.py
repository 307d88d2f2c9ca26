"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.data_dependent_features.eeg import (
    INVERSE,
    LEVERAGE,
    LITERAL,
    NONE,
    PLAIN,
    REPEATED,
    UNBIASED,
)
from experiments.data_dependent_features.made_up import SHARED_ALPHA, break_even
from experiments.data_dependent_features.measured import Excess, Measured
from experiments.data_dependent_features.parts import PLAIN_SEMI, SEMI, SUPERVISED
from experiments.data_dependent_features.published_tables import published
from experiments.data_dependent_features.reading_tables import readings
from experiments.scaffold.records import select, values
from experiments.scaffold.tables import Table, page

METHODS = (PLAIN, LITERAL, UNBIASED, NONE, LEVERAGE)
MISSING = "Not run: EEG eye state was not at hand."


def markdown(found: Mapping[str, Sequence[Any]]) -> str:
    """Return all tables of the parts that were run, by the names of their files."""
    made_up = found.get("made_up", [])
    about = (
        "Means over "
        "splits ± standard deviations; the CSV files also say how many. [README.md](README.md) "
        "says what was run, and what agrees with the paper."
    )
    texts: list[str] = []
    sections: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
        "published": ("Figures 9 to 11 in the setting of the published code", published),
        "readings": ("Figures 9 to 11 by what the paper may mean", readings),
        "features": ("Features that rows choose, alpha = 2^-10, with an intercept", features),
        "unlabeled": ("Rows without labels, alpha = 2^-10, with an intercept", unlabeled),
        "partitions": ("Shards, alpha = 2^-10, with an intercept", partitions),
        "penalties": ("Other penalties, with an intercept", penalties),
    }
    for part, (title, tables) in sections.items():
        rows = found.get(part, [])
        texts += [f"## {title}", *(tables(rows) if rows else [MISSING])]
    texts += ["## Noise (made up)", *(noise(made_up) if made_up else ["Not run."])]
    return page("data_dependent_features", about, *texts)


def features(found: Sequence[Measured]) -> list[str]:
    """Return accuracy and seconds against M."""
    sizes = values(found, "components")
    texts = []
    for m in values(found, "shards"):
        table = Table(["M", *METHODS])
        for M in sizes:
            rows = [select(found, method=name, components=M, shards=m) for name in METHODS]
            table.add([str(M), *(_accuracy(row) for row in rows)])
        texts += [f"Test accuracy, m = {m}.", str(table)]
    table = Table(["M", UNBIASED, REPEATED, INVERSE, NONE])
    for M in sizes:
        names = (UNBIASED, REPEATED, INVERSE, NONE)
        rows = [select(found, method=name, components=M, shards=1) for name in names]
        table.add([str(M), *(_accuracy(row) for row in rows)])
    texts += [
        "Weights taken apart, m = 1: the first three have the same functions, drawn with "
        "replacement, and differ in weights; the last draws without replacement.",
        str(table),
    ]
    choosers, partitions = (PLAIN, NONE, LEVERAGE), values(found, "shards")
    table = Table(
        ["M", *(f"choosing, {name}" for name in choosers)]
        + [f"fitting, {name}, m = {m}" for name in (PLAIN, NONE) for m in partitions]
    )
    for M in sizes:
        one = [select(found, method=name, components=M, shards=1) for name in choosers]
        cells = [f"{rows[0].choosing:.3f}" if rows else "-" for rows in one]
        for name in (PLAIN, NONE):
            for m in partitions:
                (row,) = select(found, method=name, components=M, shards=m)
                cells.append(f"{row.fitting:.3f}")
        table.add([str(M), *cells])
    return [*texts, "Seconds of CPU, for all shards together.", str(table)]


def unlabeled(found: Sequence[Measured]) -> list[str]:
    """Return accuracy and seconds against the rows without labels."""
    table = Table(["rows without labels", "accuracy", "plain features", "CPU seconds for fitting"])
    for count in values(found, "unlabeled"):
        ours = select(found, method=SEMI, unlabeled=count)
        plain = select(found, method=PLAIN_SEMI, unlabeled=count)
        cells = [str(count), _accuracy(ours), _accuracy(plain), f"{ours[0].fitting:.2f}"]
        table.add(cells)
    first = found[0]
    return [
        f"M = {first.components}, m = {first.shards}; choosing the features by the labeled rows "
        f"takes {first.choosing:.2f} s of CPU, whatever the number of others.",
        str(table),
    ]


def partitions(found: Sequence[Measured]) -> list[str]:
    """Return accuracy and seconds of both methods against m."""
    head = [
        "m",
        SUPERVISED,
        SEMI,
        "difference",
        f"CPU seconds, {SUPERVISED}",
        f"CPU seconds, {SEMI}",
    ]
    table = Table([*head, "over m", "over m"])
    for m in values(found, "shards"):
        rows = [select(found, method=name, shards=m) for name in (SUPERVISED, SEMI)]
        alone, more = (row[0] for row in rows)
        cells = [str(m), *(_accuracy(row) for row in rows)]
        cells.append(f"{more.accuracy - alone.accuracy:+.3f}")
        cells += [f"{row.fitting:.2f}" for row in (alone, more)]
        cells += [f"{row.fitting / m:.3f}" for row in (alone, more)]
        table.add(cells)
    return ["Test accuracy, and seconds of CPU for fitting, all shards together.", str(table)]


def penalties(found: Sequence[Measured]) -> list[str]:
    """Return accuracies at other lambdas."""
    names = [name for name in METHODS if select(found, method=name)]
    chosen = [row for row in found if row.method in names]
    both = [row for row in found if row.method in (SUPERVISED, SEMI)]
    first = Table(["alpha", *names])
    columns = [(name, m) for m in values(both, "shards") for name in (SUPERVISED, SEMI)]
    second = Table(["alpha", *(f"{name}, m = {m}" for name, m in columns)])
    for alpha in values(found, "alpha"):
        title = f"2^{np.log2(alpha):.0f}"
        cells = [_accuracy(select(chosen, method=name, alpha=alpha)) for name in names]
        first.add([title, *cells])
        cells = [_accuracy(select(both, method=name, shards=m, alpha=alpha)) for name, m in columns]
        second.add([title, *cells])
    return [
        f"Figure 9 at M = {chosen[0].components}, m = 1; {chosen[0].trials} splits.",
        str(first),
        f"Figure 11, M = {both[0].components}; {both[0].trials} splits.",
        str(second),
    ]


def noise(found: Sequence[Excess]) -> list[str]:
    """Return excess risks of both methods by noise and shards."""
    texts = []
    titles = {
        SHARED_ALPHA: f"Excess risk, supervised / semi-supervised, alpha = {SHARED_ALPHA:g}.",
        0.0: "The same, for each method the alpha with the lowest mean (from 1e-8 to 1).",
    }
    shards = values(found, "shards")
    for alpha, title in titles.items():
        table = Table(["noise", *(f"m = {m}" for m in shards)])
        for level in values(found, "noise"):
            cells = []
            for m in shards:
                (row,) = select(found, alpha=alpha, shards=m, noise=level)
                sign = {-1: "**helps**", 0: "no clear difference", 1: "hurts"}[row.clear]
                cells.append(f"{row.supervised:.2g} / {row.semi:.2g}, {sign}")
            table.add([f"{level:g}", *cells])
        starts = [break_even(found, m, alpha) for m in shards]
        cells = ["none of these" if start is None else f"{start:g}" for start in starts]
        table.add(["lowest that helps", *cells])
        texts += [title, str(table)]
    about = "Clear is a mean difference of two standard errors or more, over the same rows."
    return [about, *texts]


def _accuracy(rows: Sequence[Measured]) -> str:
    if not rows:
        return "-"
    (row,) = rows
    return f"{row.accuracy:.3f} ± {row.accuracy_sd:.3f}"
