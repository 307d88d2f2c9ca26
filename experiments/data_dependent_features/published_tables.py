"""What the setting of the published code gives, as Markdown and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from experiments.data_dependent_features.eeg import PLAIN
from experiments.data_dependent_features.measured import Reading
from experiments.data_dependent_features.published import SMALLER, WEIGHED
from experiments.data_dependent_features.readings import COMPONENTS, PARTITIONS, UNLABELED, at
from experiments.scaffold.figures import BLUE, GRAY, ORANGE, log_x, panels, room
from experiments.scaffold.records import columns, select, values
from experiments.scaffold.tables import Table

METHODS = (PLAIN, SMALLER, WEIGHED)
LABEL = {
    PLAIN: "plain",
    SMALLER: "plain, $\\lambda$ over the median of 1/q",
    WEIGHED: "weighed by $\\sqrt{1/q}$",
}
LOOK: dict[str, Any] = {
    PLAIN: {"color": GRAY, "marker": "D"},
    SMALLER: {"color": ORANGE, "marker": "s"},
    WEIGHED: {"color": BLUE, "marker": "o"},
}


def published(found: Sequence[Reading]) -> list[str]:
    """Return accuracies of all three figures."""
    texts = [
        f"Figure 9, accuracy, {len(found[0].accuracies)} splits; M frequencies with a cosine and a "
        "sine each, rows standardized, lambda = 2^-4 against the sum of a shard."
    ]
    rows = select(found, figure=COMPONENTS)
    shards = values(rows, "shards")
    table = Table(["M", *(f"{method}, m = {m}" for m in shards for method in METHODS)])
    for M in values(rows, "components"):
        some = [
            select(rows, components=M, shards=m, method=one)[0] for m in shards for one in METHODS
        ]
        table.add([str(M), *map(_accuracy, some)])
    texts.append(str(table))
    for figure, varied, title in (
        (UNLABELED, "unlabeled", "Figure 10, accuracy against the rows without labels"),
        (PARTITIONS, "shards", "Figure 11, accuracy against m: supervised, semi-supervised (gap)"),
    ):
        rows = select(found, figure=figure)
        table = Table([varied, *METHODS])
        for x in values(rows, varied):
            cells = []
            for method in METHODS:
                here = at(rows, method=method, **{varied: x})
                cells.append(_both(here) if figure == PARTITIONS else _accuracy(here[0]))
            table.add([str(x), *cells])
        texts += [f"{title}, M = {rows[0].components}.", str(table)]
    return texts


def draw(parts: Mapping[str, Sequence[Any]]) -> Figure | None:
    """Draw figures 9 to 11, with one standard deviation over splits."""
    found = parts["published"]
    if not found:
        return None
    figure, (left, middle, right) = panels((15.5, 4.6), columns=3, dpi=120)
    shards = values(select(found, figure=COMPONENTS), "shards")
    for method in METHODS:
        for m, line in zip(shards, ("-", "--"), strict=False):
            rows = at(found, figure=COMPONENTS, method=method, shards=m)
            _curve(left, rows, "components", f"{LABEL[method]}, m = {m}", line, LOOK[method])
        rows = at(found, figure=UNLABELED, method=method)
        _curve(middle, rows, "unlabeled", LABEL[method], "-", LOOK[method])
        for count, line in zip((0, max(values(found, "unlabeled"))), ("--", "-"), strict=True):
            rows = at(found, figure=PARTITIONS, method=method, unlabeled=count)
            name = LABEL[method] if count else None
            _curve(right, rows, "shards", name, line, LOOK[method])
    first = select(found, figure=UNLABELED)[0]
    left.set_title("Figure 9: features")
    log_x(left, [14, 56, 224, 896])
    left.set_xlabel("frequencies M, a cosine and a sine each")
    middle.set_title(f"Figure 10: M = {first.components}, m = {first.shards}")
    middle.set_xlabel("rows without labels")
    right.set_title("Figure 11 (dashed: supervised)")
    right.set_xlabel("shards m")
    for axes in (left, middle, right):
        axes.set_ylabel("share of test rows in the right class")
        room(axes, 0.45 if axes is left else 0.3)
        axes.legend(loc="upper left")
    return figure


def _curve(
    axes: Any, rows: Sequence[Reading], x: str, name: str | None, line: str, look: dict[str, Any]
) -> None:
    at_x, mean, sd = columns(rows, x, "accuracy", "accuracy_sd")
    axes.errorbar(at_x, mean, sd, capsize=2, label=name, linestyle=line, **look)


def _both(rows: Sequence[Reading]) -> str:
    alone, more = rows
    return f"{alone.accuracy:.3f}, {more.accuracy:.3f} ({more.over(alone)})"


def _accuracy(row: Reading) -> str:
    return f"{row.accuracy:.3f} ± {row.accuracy_sd:.3f}"
