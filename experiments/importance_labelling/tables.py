"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.importance_labelling.budget_figure import by_labels
from experiments.importance_labelling.descent import NAME, TASK
from experiments.importance_labelling.figures import TITLE
from experiments.importance_labelling.measured import Trial
from experiments.importance_labelling.plane import ALL_SCHEMES, SCHEMES
from experiments.importance_labelling.summary import (
    Results,
    gain,
    median,
    reach,
    scatter,
    select,
    settings,
    shrinkage,
    single_gains,
)
from experiments.importance_labelling.trials import METHODS, NOISES
from experiments.scaffold.tables import Table, marked, page


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    parts: list[str] = []
    found = {name: trials for name, trials in results.trials.items() if trials}
    if found:
        parts += [
            "## KRR over CRED with the least noise",
            f"Medians of the test RMSE at noise {NOISES[0]:g}, their ratio, and the least, the "
            "median and the largest ratio of single repeats, each of which has a split, a network "
            "and a true function of its own.",
            marked("least noise", least_noise(found)),
            "## How many times the error of CRED",
            "Medians of the test RMSE over repeats; each is the best of all draws and settings.",
            marked("ratios", ratios(found)),
            "## The same for a typical draw",
            "Of each repeat the median over draws (for CRED: over penalties of the scores), each "
            "at its best setting, instead of the best draw.",
            marked("typical", ratios(found, "typical")),
        ]
    for name, trials in found.items():
        parts += [
            f"## Figure 3, {TITLE[name]}: test RMSE",
            f"Medians over {1 + max(one.repeat for one in trials)} repeats, and the range.",
            marked(name, errors(trials)),
        ]
    if results.descents:
        parts += [
            f"## Gradient descent: {TITLE[NAME]}, {TASK}, one draw of the most labels",
            "Test RMSE after a number of steps; the analytic solution at its best penalty.",
            marked("descent", descents(results)),
        ]
    if results.budgets:
        parts += [
            "## Figure 4: errors by the number of labels",
            "Medians over repeats; in brackets, the geometric mean of the ratios to uniform rows "
            "of the same repeat, with its standard error. Errors are relative to the spread of "
            "what is predicted; that of letter is the share of wrong classes.",
            marked("budgets", by_labels(results.budgets)),
        ]
    if results.points:
        parts += [
            "## Figure 1: how far labeled points are spread",
            "The mean squared distance from 0, in standard deviations of the pool, whose own is 2.",
            marked("reach", reaches(results)),
        ]
    if results.estimates:
        parts += [
            "## Figure 2: coefficients from three labels",
            "The true ones are 1. Spreads are quantiles, as a variance does not exist for three "
            "Gaussian rows: IQR is the interquartile range, MAD the median absolute deviation from "
            "the median; beyond 1: the share of trials that miss by more than 1. In brackets: 95 % "
            "intervals of a bootstrap over trials.",
            marked("plane", plane(results)),
        ]
    return page("importance_labelling", "", *parts)


def least_noise(found: dict[str, list[Trial]]) -> Table:
    """Return the ratio at the least noise for each set and task."""
    head = ["KRR", "CRED", "ratio", "least", "median", "largest of single repeats"]
    table = Table(["set, task", "labels", *head])
    for name, trials in found.items():
        for task, n in settings(trials):
            ratio = gain(trials, task, n, NOISES[0], "KRR")
            krr, cred = (median(trials, task, n, NOISES[0], one) for one in ("KRR", "CRED"))
            single = np.percentile(single_gains(trials, task, n, NOISES[0], "KRR"), [0, 50, 100])
            cells = [f"{value:.3g}" for value in (krr, cred, ratio, *single)]
            table.add([f"{TITLE[name]}, {task}", str(n), *cells])
    return table


def ratios(found: dict[str, list[Trial]], what: str = "rmse") -> Table:
    """Return errors over those of CRED: one line a method, one column a noise."""
    table = Table(["set, task", "labels", "method", *(f"noise {noise:g}" for noise in NOISES)])
    for name, trials in found.items():
        for task, n in settings(trials):
            for method in METHODS:
                if method != "CRED":
                    cells = [f"{gain(trials, task, n, v, method, what):.3g}" for v in NOISES]
                    table.add([f"{TITLE[name]}, {task}", str(n), method, *cells])
    return table


def errors(trials: Sequence[Trial]) -> Table:
    """Return medians and ranges: one line a method, one column a noise."""
    table = Table(["task", "labels", "method", *(f"noise {noise:g}" for noise in NOISES)])
    for task, n in settings(trials):
        for method in METHODS:
            cells = []
            for noise in NOISES:
                values = [one.rmse for one in select(trials, task, n, noise, method)]
                middle = median(trials, task, n, noise, method)
                cells.append(f"{middle:.3g} ({min(values):.2g} to {max(values):.2g})")
            table.add([task, str(n), method, *cells])
    return table


def descents(results: Results) -> Table:
    """Return errors by method, number of steps and noise."""
    noises = list(dict.fromkeys(one.noise for one in results.descents))
    table = Table(["method", "steps", *(f"noise {noise:g}" for noise in noises)])
    found: dict[tuple[str, int], list[str]] = {}
    for one in results.descents:
        found.setdefault((one.method, one.steps), []).append(f"{one.rmse:.3g}")
    for (method, steps), cells in found.items():
        table.add([method, str(steps or "-"), *cells])
    return table


def reaches(results: Results) -> Table:
    """Return how far the labeled points of each scheme are spread."""
    table = Table(["labels", "points", "mean squared distance", "expected"])
    for scheme, expected in zip(SCHEMES, ("2", "3"), strict=True):
        number = sum(one.scheme == scheme for one in results.points)
        table.add([scheme, str(number), f"{reach(results.points, scheme):.2f}", expected])
    return table


def plane(results: Results) -> Table:
    """Return how far coefficients are from the true ones."""
    names = ["IQR", "over uniform", "MAD", "median of the error", "90th percentile", "beyond 1"]
    table = Table(["coefficient", "labels", *names])
    for which in ("beta1", "beta2"):
        for scheme in ALL_SCHEMES:
            one = scatter(results.estimates, scheme, which)
            against = shrinkage(results.estimates, scheme, which)
            ratio = f"{against.ratio:.2f} ({against.low:.2f} to {against.high:.2f})"
            values = (one.mad, one.typical, one.ninth, one.wrong)
            cells = [ratio if scheme != "uniform" else "", *(f"{v:.3g}" for v in values)]
            table.add([which, scheme, f"{one.middle_half:.3g}", *cells])
    return table
