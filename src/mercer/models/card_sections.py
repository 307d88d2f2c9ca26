"""The sections of a model card, each as Markdown.

Everything that a section says was learned by the fit, or is in the model file. What neither knows
is said to be unknown.
"""

from __future__ import annotations

import platform
from inspect import signature
from typing import Any

import numpy as np
import scipy
import sklearn

from mercer.columns.scaling import QuantileScaling
from mercer.estimators import KernelClassifier, KernelRanker, KernelRegressor
from mercer.estimators.kept_rows import kept_rows
from mercer.inference.reliability import Reliability
from mercer.kernels import InMetric
from mercer.models.card_columns import column_facts
from mercer.models.card_intervals import Metric
from mercer.models.card_markdown import bar, code, escaped, number, percent, table
from mercer.models.card_metrics import Evaluation
from mercer.version import VERSION

#: Columns, classes and importances that are listed.
COLUMNS, CLASSES, IMPORTANCES = 50, 30, 30
#: Rows of a summary that other sections have, or that say nothing of the model.
ELSEWHERE = {"rows", "outputs", "table", "memory", "time"}
#: Parameters of where a model was fitted, not of the model.
OF_THE_PLACE = {"verbose", "memory_limit", "engine", "checkpoint"}
#: What a choice is, by its name in a summary.
CHOICES = {
    "kernel": "how alike two rows are",
    "columns": "how columns are scaled before distances are taken",
    "metric": "which columns and directions distances are measured in",
    "basis": "the functions that the model is a sum of",
    "precision": "of the values that are summed",
    "alpha": "the penalty for a function that is not smooth",
    "effective dimension": "how many parameters are as flexible as the penalized fit",
    "solve": "how the coefficients were computed, and whether that succeeded",
    "solver": "why this way of solving",
    "intervals": "where prediction intervals come from, and how many left-out rows are in theirs",
    "shards": "how parts of the rows were combined",
    "probabilities": "how scores become probabilities",
}
#: What a metric is.
METRICS = {
    "RMSE": "root of the mean squared error, in the units of y",
    "mean absolute error": "in the units of y",
    "R\N{SUPERSCRIPT TWO}": "share of the variance of y that is explained; 1 is perfect",
    "accuracy": "share of rows whose most probable class is right",
    "log loss": "of the probabilities; 0 is perfect",
    "Brier score": "squared error of the probabilities; 0 is perfect",
    "calibration error": "mean difference of confidence and accuracy",
    "pairs in the wrong order": "share of pairs of rows of one query; 0 is perfect",
    "log loss of pairs": "of the probability that one row is above another",
    "NDCG@10": "mean over queries; 1 is perfect",
}


def data_section(model: Any, target: str | None) -> str:
    """Return what is known of the rows that the model was fitted to."""
    fit = model.fit_
    rows = f"- {fit.n_rows:,} rows"
    if fit.weight and not np.isclose(fit.weight, fit.n_rows):
        rows += f", of total weight {number(fit.weight)}"
    lines = [rows, f"- {model.n_features_in_:,} columns", *_target_lines(model, target)]
    facts = column_facts(model, COLUMNS)
    parts = ["\n".join(lines)]
    if facts:
        header = ["Column", "Kind", "Values", "Gaps", "What became of it"]
        parts.append(table(header, [fact.cells() for fact in facts]))
        if len(facts) < model.n_features_in_:
            parts.append(f"{model.n_features_in_ - len(facts):,} more columns are not listed.")
        parts.append(_source_of_ranges(model))
    else:
        parts.append("The rows were kernel values, so there are no columns to describe.")
    if isinstance(model, KernelClassifier):
        parts.append(_classes(model))
    return "\n\n".join(parts)


def _target_lines(model: Any, target: str | None) -> list[str]:
    named = "the target" if target is None else f"the target, {escaped(target)},"
    if isinstance(model, KernelClassifier):
        return [f"- {named} is one of {len(model.classes_):,} classes"]
    if isinstance(model, KernelRanker):
        lines = [f"- {named} is a relevance, compared within queries"]
        if model._targets.by_query:
            return [*lines, f"- {model.n_queries_:,} queries"]
        return [*lines, "- no queries: all rows are compared"]
    targets, known = model._targets, model.fit_.intervals
    lines = [f"- {named} is {'a number' if targets.outputs == 1 else f'{targets.outputs} numbers'}"]
    if known is None:
        return [*lines, "- the model keeps no targets, so their range is not known"]
    for output in range(targets.outputs):
        scale, origin = targets.scale[output], targets.origin[output]
        words = f"mean {number(known.mean[output] * scale + origin)}"
        words += f", sd {number(known.spread[output] * scale)}"
        if known.rows.count is None:
            y = known.rows.targets[:, output] * scale + origin
            words += f", from {number(y.min())} to {number(y.max())} in rows that were left out"
        lines.append(f"- target{f' {output}' if targets.outputs > 1 else ''}: {words}")
    return lines


def _source_of_ranges(model: Any) -> str:
    points = kept_rows(model)
    if points is None:
        return (
            "The model keeps no rows of the data, so ranges are given only where its scaling of "
            "columns has them."
        )
    size = len(points)
    if size == model.fit_.n_rows:
        return f"Ranges are those of all {size:,} rows."
    words = f"Ranges are those of the {size:,} {_kept_words(model)} that the model keeps"
    return f"{words}; those of all rows may be wider."


def _kept_words(model: Any) -> str:
    """Return what the points of a basis are; they may be means of rows, or given."""
    basis = model.fit_.basis
    drawn = basis.dual or getattr(basis, "indices_", None) is not None
    return "rows of the data" if drawn else "points like those of the data"


def _classes(model: KernelClassifier) -> str:
    """Return the classes, with their shares if the model knows them."""
    labels = [escaped(str(label), 60) for label in model.classes_.tolist()]
    more = len(labels) - CLASSES
    known, rest = model.calibration_, f"\n\n{more:,} more classes are not listed."
    if known is None:
        text = ", ".join(labels[:CLASSES])
        return f"Classes: {text}." + (rest if more > 0 else "") + " Their shares are not known."
    sums = known.reliability.by_class.sum(axis=1)  # of w, w p and w 1
    rows = [
        [label, percent(observed / weight), percent(mean / weight)]
        for label, (weight, mean, observed) in zip(labels, sums, strict=True)
    ]
    header = ["Class", f"Share of rows {known.rows}", "Mean probability"]
    return table(header, rows[:CLASSES], numbers=[1, 2]) + (rest if more > 0 else "")


def choices_section(model: Any) -> str:
    """Return what the fit chose and why, and which parameters were set."""
    rows = [
        [name, escaped(value, 400), CHOICES.get(name, "")]
        for name, value in model.summary().rows
        if name not in ELSEWHERE and not name.startswith("  ")
    ]
    parts = [table(["Choice", "What and why", "What it is"], rows)]
    tried = _tried(model)
    if tried:
        final = any(row[2] for row in tried)
        header = ["Kernel", "Error in the search", "With more functions"][: 2 + final]
        words = (
            "Kernels that were tried, with their errors on held-out rows, relative to the spread "
            "of y. A candidate takes the place of the one before only if it is clearly better."
        )
        parts += [words, table(header, [row[: 2 + final] for row in tried], numbers=[1, 2])]
    given = set_parameters(model)
    if given:
        listed = "\n".join(f"{name}={value}" for name, value in given.items())
        parts += ["Parameters that were set, all others have their defaults:", code(listed)]
    else:
        parts.append("All parameters have their defaults.")
    return "\n\n".join(parts)


def set_parameters(model: Any) -> dict[str, str]:
    """Return the parameters that differ from their defaults, as short text."""
    found = {}
    for name, parameter in signature(type(model)).parameters.items():
        value = getattr(model, name)
        same = value is parameter.default or (
            isinstance(value, (str, int, float, bool)) and value == parameter.default
        )
        if same or name in OF_THE_PLACE:
            continue
        generator = isinstance(value, (np.random.Generator, np.random.RandomState))
        text = type(value).__name__ if generator else " ".join(repr(value).split())
        found[name] = text if len(text) <= 200 else text[:199] + "\N{HORIZONTAL ELLIPSIS}"
    return found


def _tried(model: Any) -> list[list[str]]:
    """Return the kernels of a search with their least errors, the best first.

    The last choice is between a few of them, with more functions.
    """
    search = model.fit_.search
    first, final = {}, {}  # type: dict[str, float], dict[str, float]
    for row in () if search is None else search.tried:
        errors = final if row.stage == "final" else first
        errors[row.kernel] = min(row.error, errors.get(row.kernel, np.inf))
    order = sorted(first, key=lambda kernel: (final.get(kernel, np.inf), first[kernel]))
    return [
        [escaped(kernel), f"{first[kernel]:.3g}", f"{final[kernel]:.3g}" if kernel in final else ""]
        for kernel in order
    ]


def metrics_section(found: Evaluation) -> str:
    """Return a table of metrics, with the calibration of probabilities below."""
    outputs = any(output for output, _ in found.metrics)
    header = ["Metric", "Value", "95 % interval", "What it is"]
    rows = []
    for output, metric in found.metrics:
        known = metric.low < metric.high
        ends = f"{_value(metric, metric.low)} to {_value(metric, metric.high)}" if known else ""
        words = METRICS.get(metric.name, "share of rows; it should be near that percentage")
        row = [metric.name, _value(metric, metric.value), ends or "not available", words]
        rows.append([output, *row] if outputs else row)
    header = ["Output", *header] if outputs else header
    parts = [f"On {found.rows}:", table(header, rows)]
    if found.reliability is not None:
        parts.append(_calibration(found.reliability))
    return "\n\n".join([*parts, *found.notes])


def _value(metric: Metric, value: float) -> str:
    shares = metric.name in ("accuracy", "pairs in the wrong order")
    return percent(value) if shares or metric.name.startswith("in the") else number(value)


def _calibration(found: Reliability) -> str:
    """Return how often the most probable class is right, by its probability."""
    pairs = found.confidence.reshape(-1, 2, 3).sum(axis=1)  # bins of a tenth
    total = pairs[:, 0].sum()
    rows = [
        [percent(p / weight), percent(right / weight), percent(weight / total)]
        for weight, p, right in pairs
        if weight > 0
    ]
    header = ["Mean probability of the predicted class", "How often it is right", "Share of rows"]
    return table(header, rows, numbers=[0, 1, 2])


def importance_section(model: Any) -> str:
    """Return the importances as a table with bars; or why there are none."""
    try:
        shares = model.feature_importances_
    except AttributeError as error:
        return f"Not available. {escaped(str(error), 400)}"
    names = getattr(model, "feature_names_in_", [f"x{at}" for at in range(len(shares))])
    order = [at for at in np.argsort(-shares, kind="stable") if shares[at] > 0]
    rows = [
        [escaped(str(names[at]), 60), percent(shares[at]), bar(shares[at], shares.max())]
        for at in order[:IMPORTANCES]
    ]
    parts = [
        "The mean squared derivative of the model by each column, in standard deviations of it, as "
        "a share of the sum. It says what predictions vary with, not what causes the target.",
        table(["Column", "Share", ""], rows, numbers=[1]),
    ]
    rest = order[IMPORTANCES:]
    if rest:
        parts.append(f"{len(rest):,} more columns have {percent(shares[rest].sum())} together.")
    return "\n\n".join(parts)


def usage_section(model: Any, file: str | None) -> str:
    """Return how to load the model and predict with it."""
    named = getattr(model, "feature_names_in_", None) is not None
    path = file or "model.mercer"
    rows = "table" if named else "X"
    lines = ["import mercer", "", f"model = mercer.load({path!r})", f"model.predict({rows})"]
    if isinstance(model, KernelClassifier):
        lines.append(f"model.predict_proba({rows})")
    if isinstance(model, KernelRegressor) and model.fit_.intervals is not None:
        lines.append(f"model.predict_interval({rows}, coverage=0.9)")
    what = (
        "`table` is a data frame with the columns above."
        if named
        else f"`X` is an array with {model.n_features_in_:,} columns."
    )
    return f"{code(chr(10).join(lines), 'python')}\n\n{what}"


def limits_section(model: Any) -> str:
    """Return what follows from how the model was made, and what nobody has told it."""
    fit, lines = model.fit_, []
    if not fit.solution.status.succeeded:
        lines.append(f"**The solve did not succeed: {escaped(fit.solution.status.value)}.**")
    kernel = fit.basis.kernel_
    if isinstance(kernel, InMetric) and isinstance(kernel.metric.scaling, QuantileScaling):
        lines.append(
            "A value beyond the range of its column in the fit is taken as the end of that range: "
            "the model knows nothing there."
        )
    elif kernel.bounded:
        lines.append(
            "Far from the rows of the fit, predictions go to a constant: the model knows nothing "
            "there."
        )
    else:
        lines.append("Outside of the ranges of the data, predictions are extrapolated.")
    lines.append(
        "Metrics and intervals hold for new rows from where the rows of the fit came from. Rows "
        "that depend on each other, such as those of one person or day, make them too optimistic."
    )
    lines.append(
        "Alpha, and what else was chosen, was chosen by the same rows, which makes metrics of "
        "left-out rows slightly better than those of new rows."
    )
    if getattr(model, "columns_", None) is not None and model.columns_.encoding_.needed:
        lines.append(
            "Levels of categories that the fit has not seen are taken as 'other', and gaps are "
            "filled; both are counted in a warning."
        )
    points = kept_rows(model)
    if points is not None:
        lines.append(
            f"The model contains {len(points):,} {_kept_words(model)}, as numbers: share it as you "
            f"would share these."
        )
    lines.append(
        "The model does not know who collected the data, when and for what, whether groups of "
        "people are treated alike, and when it was fitted."
    )
    return "\n".join(f"- {line}" for line in lines)


def version_section(written_by: str | None) -> str:
    """Return the versions of the model file and of what made the card."""
    lines = [] if written_by is None else [f"- model file written by mercer {escaped(written_by)}"]
    lines.append(
        f"- card by mercer {VERSION}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )
    return "\n".join(lines)
