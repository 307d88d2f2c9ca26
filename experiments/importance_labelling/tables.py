"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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

#: How many times better CRED is asked to be than uniform draws, at the least noise, most labels.
ASKED = 100


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    parts = [
        "# Results",
        "Written by `python -m experiments.importance_labelling`; do not edit.",
    ]
    found = {name: trials for name, trials in results.trials.items() if trials}
    if found:
        parts += [
            "## The requirement",
            f"KRR over CRED, medians of the test RMSE at noise {NOISES[0]:g}: at least {ASKED} "
            "with the most labels?",
            _marked("requirement", requirement(found)),
            "## How many times the error of CRED",
            "Medians of the test RMSE over repeats; each is the best of all draws and settings.",
            _marked("ratios", ratios(found)),
            "## The same for a typical draw",
            "Of each repeat the median over draws (for CRED: over penalties of the scores), each "
            "at its best setting, instead of the best draw.",
            _marked("typical", ratios(found, "typical")),
        ]
    for name, trials in found.items():
        parts += [
            f"## Figure 3, {TITLE[name]}: test RMSE",
            f"Medians over {1 + max(one.repeat for one in trials)} repeats, and the range.",
            _marked(name, errors(trials)),
        ]
    if results.splits:
        parts += [
            "## Other splits, linear tasks",
            "The best, and in brackets the median, of ten draws of each kind; one penalty of the "
            "scores.",
            _marked("splits", splits(results)),
        ]
    if results.descents:
        parts += [
            f"## Gradient descent: {TITLE[NAME]}, {TASK}, one draw of the most labels",
            "Test RMSE after a number of steps; the analytic solution at its best penalty.",
            _marked("descent", descents(results)),
        ]
    if results.estimates:
        parts += [
            "## Figure 2: coefficients from three labels",
            "The true ones are 1; beyond 1: the share of trials that miss by more than 1.",
            _marked("plane", plane(results)),
        ]
    return "\n\n".join(parts) + "\n"


def requirement(found: dict[str, list[Trial]]) -> list[str]:
    """Return the ratio at the least noise for each set and task."""
    lines = _header(["set, task", "labels", "KRR", "CRED", "ratio", f"at least {ASKED}"])
    for name, trials in found.items():
        most = max(n for _, n in settings(trials))
        for task, n in settings(trials):
            ratio = gain(trials, task, n, NOISES[0], "KRR")
            krr, cred = (median(trials, task, n, NOISES[0], one) for one in ("KRR", "CRED"))
            met = ("yes" if ratio >= ASKED else "**no**") if n == most else "not asked"
            cells = [str(n), f"{krr:.3g}", f"{cred:.3g}", f"{ratio:.3g}", met]
            lines.append(_row([f"{TITLE[name]}, {task}", *cells]))
    return lines


def ratios(found: dict[str, list[Trial]], what: str = "rmse") -> list[str]:
    """Return errors over those of CRED: one line a method, one column a noise."""
    lines = _header(["set, task", "labels", "method", *(f"noise {noise:g}" for noise in NOISES)])
    for name, trials in found.items():
        for task, n in settings(trials):
            for method in METHODS:
                if method != "CRED":
                    cells = [f"{gain(trials, task, n, v, method, what):.3g}" for v in NOISES]
                    lines.append(_row([f"{TITLE[name]}, {task}", str(n), method, *cells]))
    return lines


def errors(trials: Sequence[Trial]) -> list[str]:
    """Return medians and ranges: one line a method, one column a noise."""
    lines = _header(["task", "labels", "method", *(f"noise {noise:g}" for noise in NOISES)])
    for task, n in settings(trials):
        for method in METHODS:
            cells = []
            for noise in NOISES:
                values = [one.rmse for one in select(trials, task, n, noise, method)]
                middle = median(trials, task, n, noise, method)
                cells.append(f"{middle:.3g} ({min(values):.2g} to {max(values):.2g})")
            lines.append(_row([task, str(n), method, *cells]))
    return lines


def splits(results: Results) -> list[str]:
    """Return KRR and CRED on each split."""
    lines = _header(["set", "split", "labels", "noise", "KRR", "CRED", "ratio"])
    pairs = {(one.name, one.split, one.method): one for one in results.splits}
    for (name, split, method), krr in pairs.items():
        if method == "KRR":
            cred = pairs[name, split, "CRED"]
            cells = [f"{one.rmse:.3g} ({one.typical:.3g})" for one in (krr, cred)]
            ratio = f"{krr.rmse / cred.rmse:.3g} ({krr.typical / cred.typical:.3g})"
            fixed = [TITLE[name], str(split), str(krr.labels), f"{krr.noise:g}"]
            lines.append(_row([*fixed, *cells, ratio]))
    return lines


def descents(results: Results) -> list[str]:
    """Return errors by method, number of steps and noise."""
    noises = list(dict.fromkeys(one.noise for one in results.descents))
    lines = _header(["method", "steps", *(f"noise {noise:g}" for noise in noises)])
    found: dict[tuple[str, int], list[str]] = {}
    for one in results.descents:
        found.setdefault((one.method, one.steps), []).append(f"{one.rmse:.3g}")
    for (method, steps), cells in found.items():
        lines.append(_row([method, str(steps or "-"), *cells]))
    return lines


def plane(results: Results) -> list[str]:
    """Return how far coefficients are from the true ones."""
    names = ["standard deviation", "median of the error", "90th percentile", "beyond 1"]
    lines = _header(["coefficient", "labels", *names])
    for which in ("beta1", "beta2"):
        for scheme in ALL_SCHEMES:
            one = scatter(results.estimates, scheme, which)
            cells = [f"{v:.3g}" for v in (one.deviation, one.typical, one.ninth, one.wrong)]
            lines.append(_row([which, scheme, *cells]))
    return lines


def _marked(name: str, lines: Iterable[str]) -> str:
    return "\n".join([f"<!-- {name} -->", "", *lines, "", f"<!-- end of {name} -->"])


def _header(cells: Sequence[str]) -> list[str]:
    return [_row(cells), "|" + "---|" * len(cells)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
