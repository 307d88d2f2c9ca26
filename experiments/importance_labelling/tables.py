"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.importance_labelling.descent import NAME, TASK
from experiments.importance_labelling.figures import TITLE
from experiments.importance_labelling.measured import Trial
from experiments.importance_labelling.plane import ALL_SCHEMES
from experiments.importance_labelling.summary import (
    Results,
    gain,
    median,
    scatter,
    select,
    settings,
)
from experiments.importance_labelling.trials import METHODS, NOISES
from experiments.scaffold.tables import Table, marked, page

#: How many times better CRED is asked to be than uniform draws, at the least noise, most labels.
ASKED = 100


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    parts: list[str] = []
    found = {name: trials for name, trials in results.trials.items() if trials}
    if found:
        parts += [
            "## The requirement",
            f"KRR over CRED, medians of the test RMSE at noise {NOISES[0]:g}: at least {ASKED} "
            "with the most labels?",
            marked("requirement", requirement(found)),
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
    if results.splits:
        parts += [
            "## Other splits, linear tasks",
            "The best, and in brackets the median, of ten draws of each kind; one penalty of the "
            "scores.",
            marked("splits", splits(results)),
        ]
    if results.descents:
        parts += [
            f"## Gradient descent: {TITLE[NAME]}, {TASK}, one draw of the most labels",
            "Test RMSE after a number of steps; the analytic solution at its best penalty.",
            marked("descent", descents(results)),
        ]
    if results.estimates:
        parts += [
            "## Figure 2: coefficients from three labels",
            "The true ones are 1; beyond 1: the share of trials that miss by more than 1.",
            marked("plane", plane(results)),
        ]
    return page("importance_labelling", "", *parts)


def requirement(found: dict[str, list[Trial]]) -> Table:
    """Return the ratio at the least noise for each set and task."""
    table = Table(["set, task", "labels", "KRR", "CRED", "ratio", f"at least {ASKED}"])
    for name, trials in found.items():
        most = max(n for _, n in settings(trials))
        for task, n in settings(trials):
            ratio = gain(trials, task, n, NOISES[0], "KRR")
            krr, cred = (median(trials, task, n, NOISES[0], one) for one in ("KRR", "CRED"))
            met = ("yes" if ratio >= ASKED else "**no**") if n == most else "not asked"
            cells = [str(n), f"{krr:.3g}", f"{cred:.3g}", f"{ratio:.3g}", met]
            table.add([f"{TITLE[name]}, {task}", *cells])
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


def splits(results: Results) -> Table:
    """Return KRR and CRED on each split."""
    table = Table(["set", "split", "labels", "noise", "KRR", "CRED", "ratio"])
    pairs = {(one.name, one.split, one.method): one for one in results.splits}
    for (name, split, method), krr in pairs.items():
        if method == "KRR":
            cred = pairs[name, split, "CRED"]
            cells = [f"{one.rmse:.3g} ({one.typical:.3g})" for one in (krr, cred)]
            ratio = f"{krr.rmse / cred.rmse:.3g} ({krr.typical / cred.typical:.3g})"
            fixed = [TITLE[name], str(split), str(krr.labels), f"{krr.noise:g}"]
            table.add([*fixed, *cells, ratio])
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


def plane(results: Results) -> Table:
    """Return how far coefficients are from the true ones."""
    names = ["standard deviation", "median of the error", "90th percentile", "beyond 1"]
    table = Table(["coefficient", "labels", *names])
    for which in ("beta1", "beta2"):
        for scheme in ALL_SCHEMES:
            one = scatter(results.estimates, scheme, which)
            cells = [f"{v:.3g}" for v in (one.deviation, one.typical, one.ninth, one.wrong)]
            table.add([which, scheme, *cells])
    return table
