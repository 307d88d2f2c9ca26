"""The plan of a fit as tables: what to expect, what it takes, and the sizes of theorems."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from mercer.plan import human_bytes
from mercer.rates import tabulate
from mercer.report import Summary, html_table, text_table
from mercer.theory import Estimate, Forecast, SystemForecast


@dataclass(frozen=True, eq=False, repr=False)
class FitPlan:
    """What a fit of some rows would need, and what error to expect.

    Prints as a table, and shows as one in notebooks; :class:`mercer.PlanDisplay` draws it.

    Attributes
    ----------
    forecast : Forecast
        All figures: exponents with their intervals, and a row for every system.
    refused : str
        Why the estimator itself cannot be fitted to so many rows; empty if it can.
    """

    forecast: Forecast
    refused: str = ""

    @property
    def systems(self) -> tuple[SystemForecast, ...]:
        """What each system needs."""
        return self.forecast.systems

    @property
    def recommended(self) -> SystemForecast:
        """The fastest system that is nearly as good as any."""
        return self.forecast.recommended

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as numbers and text, for JSON."""
        return self.forecast.to_dict()

    def statements(self) -> str:
        """Return what every theorem of :mod:`mercer.rates` states for the estimated exponents."""
        return tabulate(self.forecast.n_rows, self.forecast.study.exponents)

    def summary(self) -> Summary:
        """Return the problem and the recommendation in a few lines."""
        return Summary("Plan", tuple(problem_rows(self.forecast)))

    def tables(self) -> list[Table]:
        """Return the tables of the plan: title, header and rows of text."""
        return [expected_table(self.forecast), needs_table(self.forecast)]

    def remarks(self) -> list[str]:
        """Return what there is to say of some systems."""
        by_note: dict[str, list[str]] = {}
        for one in self.systems:
            for text in filter(None, one.note.split("; ")):
                by_note.setdefault(text, []).append(one.name)
        found = [f"{', '.join(names)}: {text}" for text, names in by_note.items()]
        return [f"this estimator: {self.refused}", *found] if self.refused else found

    def __str__(self) -> str:
        parts = [str(self.summary())]
        parts += [f"{title}\n{text_table(header, rows)}" for title, header, rows in self.tables()]
        return "\n\n".join([*parts, "\n".join(self.remarks())]).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join([self.summary()._repr_html_(), *(html_table(*one) for one in self.tables())])


def problem_rows(found: Forecast) -> list[tuple[str, str]]:
    """Return what was measured of the problem, in words."""
    study, best = found.study, found.recommended
    surface = study.rate_surface or study.surface
    scale = 1.0 if found.classes else np.sqrt(study.spread)
    rows = [
        ("rows", f"{found.n_rows:,} of {found.n_features:,} columns; {study.n_rows:,} studied"),
        ("capacity gamma", f"{study.gamma}; {study.capacity.gamma.verdict}"),
        ("largest leverage", f"alpha {study.supremum}; {study.capacity.supremum.verdict}"),
        (
            "source r",
            f"{study.r}; {study.r_verdict} (the error above the noise falls as n^-{study.rate})",
        ),
    ]
    noise = [one if found.classes else scale * np.sqrt(one) for one in astuple(surface.noise)]
    what = "error rate" if found.classes else "RMSE"
    rows.append(("noise", f"{what} {Estimate(*noise)} cannot be learned"))
    rows.append(
        ("errors", f"noise + rows + functions fit within {surface.misfit:.0%} of those measured")
    )
    rows.append(("penalty", f"alpha about {study.alpha(found.n_rows):.2g}"))
    if found.search_seconds > 0.05:
        rows.append(("search", f"{found.search_seconds:.1f} s for kernel and metric, in every fit"))
    needs = f"{best.functions:,} functions" + (
        f", {best.shards:,} shards" if best.shards > 1 else ""
    )
    rows.append(
        (
            "recommended",
            f"{best.name}: {needs}, {what} {best.error}, {seconds(best.cluster_seconds)}",
        )
    )
    return rows


Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def expected_table(found: Forecast) -> Table:
    """Return sizes, seconds and the expected error of every system."""
    workers = f"{found.cluster.workers:,} worker{'s' * (found.cluster.workers > 1)}"
    error = "error rate" if found.classes else "RMSE"
    header = ("system", "M", "shards", "here", workers, error, "from", "to")
    rows = [
        (
            one.name,
            f"{one.functions:,}",
            f"{one.shards:,}",
            seconds(one.seconds),
            seconds(one.cluster_seconds),
            *(f"{value:.3g}" for value in astuple(one.error)),
        )
        for one in found.systems
    ]
    return "What to expect", header, rows


def needs_table(found: Forecast) -> Table:
    """Return memory and bytes of every system, and the sizes of its theorem."""
    header = ("system", "memory", "sent", "most shards", "M by theorem", "shards by theorem")
    rows: list[tuple[str, ...]] = [
        (
            one.name,
            human_bytes(one.memory),
            human_bytes(one.sent),
            "any" if one.most_shards is None else f"{one.most_shards:,}",
            _size(one.paper_functions),
            _size(one.paper_shards),
        )
        for one in found.systems
    ]
    return "What it takes, and the sizes of theorems, up to constants", header, rows


def _size(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def seconds(value: float) -> str:
    """Return a duration as text.

    >>> seconds(0.5), seconds(90), seconds(8000)
    ('0.5 s', '1.5 min', '2.2 h')
    """
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if value >= size:
            return f"{value / size:.2g} {unit}"
    return f"{value:.2g} s"
