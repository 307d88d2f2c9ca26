"""The tables of the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.alpha_choice.candidates import CANDIDATES, CHOSEN
from experiments.alpha_choice.cost import Cost
from experiments.alpha_choice.trials import Found, ratios
from experiments.scaffold import Array
from experiments.scaffold.records import select, values
from experiments.scaffold.tables import Table, marked, page

#: A chosen alpha is good if its error is at most this times that of the best on the path.
GOOD, BAD = 1.1, 1.5
#: Error rates this close are equal: a tenth of a percent of the test rows.
CLOSE = 1e-3


def markdown(results: tuple[list[Found], list[Cost]]) -> str:
    """Return the page of results."""
    found, costs = results
    parts: list[object] = [
        "## Candidates",
        "Root mean squared test error at the chosen alpha over that of the best of the 20 alphas: "
        f"how often the ratio is at most {GOOD} and {BAD}, the largest, and the geometric mean. "
        "*Classes*: the same for error rates, of which a tenth of a percent counts as nothing. "
        "Folds were only run for some of the fits with up to 1,000 rows.",
        marked("candidates", candidates(found)),
        "## By set",
        f"The share of fits with a ratio of at most {GOOD}, and the largest ratio.",
        marked("sets", by(found, "problem")),
        "## By number of rows",
        marked("rows", by(found, "rows")),
        "## The worst fits",
        f"Of `{CHOSEN}`; for comparison GCV and leave-one-out.",
        marked("worst", worst(found)),
    ]
    if costs:
        parts += ["## Cost", marked("cost", cost_table(costs))]
    return page("alpha_choice", f"{len(found):,} fits.", *parts)


def candidates(found: Sequence[Found]) -> Table:
    """Return a row for each candidate."""
    table = Table(["", "fits", f"<= {GOOD}", f"<= {BAD}", "largest", "mean", "classes <= 1.1"])
    classes = [one for one in found if not np.isnan(one.wrong).any()]
    for name in CANDIDATES:
        ratio = ratios(found, name)
        ratio = ratio[~np.isnan(ratio)]
        if len(ratio):
            wrong = wrong_ratios(classes, name)
            bold = "**" if name == CHOSEN else ""
            table.add(
                [
                    f"{bold}{name}{bold}",
                    f"{len(ratio):,}",
                    percent(np.mean(ratio <= GOOD)),
                    percent(np.mean(ratio <= BAD)),
                    f"{ratio.max():.2f}",
                    f"{np.exp(np.log(ratio).mean()):.4f}",
                    percent(np.mean(wrong <= GOOD)) if len(wrong) else "",
                ]
            )
    return table


def wrong_ratios(classes: Sequence[Found], name: str) -> Array:
    """Return the ratios of error rates."""
    place = list(CANDIDATES).index(name)
    chosen = [(np.array(one.wrong), int(one.chosen[place])) for one in classes]
    return np.array([(w[at] + CLOSE) / (w.min() + CLOSE) for w, at in chosen if at >= 0])


def by(found: Sequence[Found], what: str) -> Table:
    """Return a row for each value of a field."""
    names = ["GCV", "leave-one-out, all rows", CHOSEN]
    table = Table([what, "fits", *names])
    for value in values(found, what):
        own = select(found, **{what: value})
        cells = [
            f"{percent(np.mean(ratio <= GOOD))}, {ratio.max():.2f}"
            for ratio in (ratios(own, name) for name in names)
        ]
        table.add([f"{value:,}" if isinstance(value, int) else value, f"{len(own):,}", *cells])
    return table


def worst(found: Sequence[Found], number: int = 10) -> Table:
    """Return the fits with the largest ratios."""
    names = [CHOSEN, "GCV", "leave-one-out, all rows"]
    table = Table(["set", "rows", "functions", "kernel", "columns", "split", *names])
    by_name = {name: ratios(found, name) for name in names}
    for at in np.argsort(-by_name[CHOSEN], kind="stable")[:number]:
        one = found[at]
        functions = f"{one.size:,}" if one.size else "full"
        numbers = [f"{by_name[name][at]:.2f}" for name in names]
        about = [one.problem, f"{one.rows:,}", functions, one.kernel, one.columns, f"{one.seed}"]
        table.add([*about, *numbers])
    return table


def cost_table(costs: Sequence[Cost]) -> Table:
    """Return the seconds of each way in units of a fit with one alpha."""
    table = Table(["", "seconds", "fits"])
    one = costs[0].seconds
    for cost in costs:
        table.add([cost.way, f"{cost.seconds:.2f}", f"{cost.seconds / one:.2f}"])
    return table


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.99123)
    '99.1 %'
    """
    return f"{100 * share:.1f} %"
