"""A fit in words: what was chosen and why."""

from __future__ import annotations

import numpy as np

from mercer.bases import Landmarks
from mercer.columns import TableEncoding
from mercer.contracts import Penalty, Targets
from mercer.kernels import InMetric, Kernel
from mercer.metric import SearchRecord
from mercer.plan import human_bytes
from mercer.report import Summary
from mercer.result import Fit
from mercer.selection import GCV

#: Columns of a table that a summary lists.
SHOWN = 30


def summarize(
    name: str,
    fit: Fit,
    selection: str,
    targets: Targets,
    encoding: TableEncoding | None = None,
    probabilities: str = "",
) -> Summary:
    """Build the summary of a fit."""
    outputs, factor = targets.outputs, targets.alpha_factor
    basis, plan = fit.basis, fit.plan
    functions = f"{type(basis).__name__} with {basis.size:,} functions"
    if getattr(basis, "n_dropped_", 0):
        functions += f"; {basis.n_dropped_:,} more depend on these and were left out"
    if isinstance(basis, Landmarks) and basis.how_scored():
        functions += f", {basis.how_scored(factor)}"
    rows = [
        ("rows", f"{fit.n_rows:,}"),
        ("outputs", f"{outputs}"),
        *table_rows(encoding),
        ("kernel", describe(basis.kernel_)),
        *search_rows(fit.search),
        ("basis", f"{functions} ({plan.reason})"),
        ("precision", precision_reason(fit)),
        ("alpha", alpha_reason(fit, selection, factor)),
    ]
    if fit.effective_dimension is not None:
        rows.append(("effective dimension", range_of(fit.effective_dimension, ",.1f")))
    rows.append(("solve", f"{fit.solution.status.value}: {fit.solution.reason}"))
    if plan.solver_reason:
        way = "products with kernel blocks" if plan.sample else "moments"
        rows.append(("solver", f"{way} ({plan.solver_reason})"))
    rows += interval_rows(fit)
    if fit.communication is not None:
        sent = fit.communication
        size = f"{sent.numbers:,} numbers to and from each, {human_bytes(sent.bytes)} in all"
        rows.append(("shards", f"{sent.shards:,} ({fit.combination}; {size})"))
    elif fit.combination:
        rows.append(("shards", fit.combination))
    if probabilities:
        rows.append(("probabilities", probabilities))
    rows.append(("memory", f"estimated {human_bytes(plan.memory)} above the data"))
    spent = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in fit.seconds.items())
    rows.append(("time", f"{sum(fit.seconds.values()):.2f} s ({spent})"))
    return Summary(name, tuple(rows))


def interval_rows(fit: Fit) -> list[tuple[str, str]]:
    """Return how intervals are made, and how many left-out rows are in theirs."""
    intervals = fit.intervals
    if intervals is None:
        return []
    measured = [(level, intervals.left_out_coverage(level)) for level in (0.5, 0.9)]
    known = [f"{share:.1%} at {level:.0%}" for level, share in measured if share == share]
    inside = f"; inside: {', '.join(known)}" if known else ""
    return [("intervals", f"{intervals.label}, {intervals.rows.number:,} rows{inside}")]


def table_rows(encoding: TableEncoding | None) -> list[tuple[str, str]]:
    """Return what became of the columns of a table, if any is not a plain number."""
    if encoding is None or (encoding.is_identity and not any(encoding.gaps)):
        return []
    described = encoding.describe()
    special = [(name, words) for name, words in described if words != "number"]
    total = f"{len(described):,} columns became {len(encoding.feature_names):,}"
    plain = len(described) - len(special)
    if plain:
        total += f"; {plain:,} are numbers without gaps"
    rows = [("table", total)]
    rows += [(f"  {name}", words) for name, words in special[:SHOWN]]
    if len(special) > SHOWN:
        rows.append(("  ...", f"and {len(special) - SHOWN:,} more: columns_.encoding_.describe()"))
    return rows


def search_rows(search: SearchRecord | None) -> list[tuple[str, str]]:
    """Return how columns are scaled, and which metric was learned."""
    if search is None:
        return []
    words = {
        "none": "as given",
        "standard": "centered, divided by their standard deviations",
        "quantile": "mapped to normal quantiles",
    }
    columns = words[search.scale]
    constant = 0 if search.constant is None else len(search.constant)
    if constant:
        columns += f"; {constant:,} constant ones left out"
    return [("columns", columns), ("metric", search.describe())]


def describe(kernel: Kernel) -> str:
    """Return a kernel with its parameters as text, with long arrays shortened."""
    if isinstance(kernel, InMetric):
        return describe(kernel.kernel)
    if hasattr(kernel, "left"):
        sign = "+" if type(kernel).__name__ == "Sum" else "*"
        return f"({describe(kernel.left)} {sign} {describe(kernel.right)})"
    shown = []
    for key, value in kernel.get_params(deep=False).items():
        if isinstance(value, np.ndarray):
            text = f"one per column, {value.min():.4g} to {value.max():.4g}"
        elif isinstance(value, float):
            text = f"{value:.6g}"
        else:
            text = repr(value)
        shown.append(f"{key}={text}")
    return f"{type(kernel).__name__}({', '.join(shown)})"


def precision_reason(fit: Fit) -> str:
    """Return which precision was used, and why."""
    precision = fit.basis.precision_
    if precision == "float32":
        return "float32 blocks, float64 sums"
    if fit.plan.precision == "float32":
        return "float64 (the functions are too similar for float32)"
    return precision


def range_of(values: Penalty, form: str) -> str:
    """Return a number as text, or the least and the largest of those of outputs.

    >>> range_of(0.5, ".4g"), range_of(np.array([2.0, 0.5, 1.0]), ".4g")
    ('0.5', '0.5 to 2')
    """
    least, most = float(np.min(values)), float(np.max(values))
    return f"{least:{form}}" + (f" to {most:{form}}" if most > least else "")


def alpha_reason(fit: Fit, selection: str, factor: float) -> str:
    """Return which alpha was used, how it was chosen, and whether the path was long enough."""
    text = range_of(factor * fit.alpha, ".4g")
    if np.ndim(fit.alpha):
        text += ", one for each output"
    if np.all(fit.alpha == 0) and fit.solution.steps and (fit.path is not None or fit.combination):
        return f"{text} (the number of steps regularizes)"
    if fit.alphas is None:
        return f"{text} (given)"
    text += f" (best of {len(fit.alphas)} values by {selection}"
    if len(fit.alphas) > 1 and np.any(fit.alpha == fit.alphas[0]):
        text += "; the smallest tried: "
        if selection.startswith(GCV.label):
            text += "GCV may overfit where rows are few or far from others; compare selection='loo'"
        else:
            text += "hardly any penalty is best; alphas= can have smaller ones"
    elif len(fit.alphas) > 1 and np.any(fit.alpha == fit.alphas[-1]):
        text += "; the largest tried: there may be little to learn"
    return text + ")"
