"""A model card: what a model is, what it was fitted to, what was chosen and how good it is.

The headings are those of Mitchell et al. (2019, *Model cards for model reporting*) and of model
hubs, as far as a fit can fill them. Everything that a card says was learned by the fit, or is in
the model file. What neither knows is said to be unknown.
"""

from __future__ import annotations

import os
import platform
import re
from inspect import signature

import numpy as np
import scipy
import sklearn

from mercer.columns.scaling import QuantileScaling
from mercer.estimators import (
    KernelClassifier,
    KernelEstimator,
    KernelRanker,
    KernelRegressor,
)
from mercer.explain.explaining import basis_points
from mercer.inference.reliability import Reliability
from mercer.kernels import InMetric
from mercer.models.card_columns import HEADER, column_rows
from mercer.models.card_markdown import bar, code, escaped, number, percent, table
from mercer.models.loading import find_model, load, written_by
from mercer.models.model_classes import TASKS
from mercer.models.saving import check_saveable
from mercer.models.scores import Evaluation, Metric, left_out_scores, new_row_scores
from mercer.opening.fit_input import FitInput
from mercer.opening.inputs import columns_of_fit
from mercer.targets.number_targets import RegressionTargets
from mercer.version import VERSION

#: The card. A part that a model has nothing for is empty, and leaves no gap.
CARD = """\
# Model card: {title}

A model for {task}{predicts}: a mercer `{estimator}`, kernel least squares, fitted to {rows} rows \
of {columns} {named}columns.

## Intended use

*To be filled in by the author: who should use the model, for what, and what it must not be used \
for.*

## Training data

- {rows} rows{weight}
- {columns} columns
{target}

{facts}

{classes}

## Choices and why

{choices}

{tried}

{parameters}

## Metrics

{new_rows}

### On rows that the fit left out

{left_out_rows}

{noted}

## Importances

{importances}

## How to use it

{code}

{usage}

## Limitations

{unsolved}
- {beyond}
- Metrics and intervals hold for new rows from where the rows of the fit came from. Rows that \
depend on each other, such as those of one person or day, make them too optimistic.
- Alpha, and what else was chosen, was chosen by the same rows, which makes metrics of left-out \
rows slightly better than those of new rows.
{unseen}
{contains}
- The model does not know who collected the data, when and for what, whether groups of people are \
treated alike, and when it was fitted.

## Versions

{written_by}
- card by mercer {version}, Python {python}, NumPy {numpy}, SciPy {scipy}, scikit-learn {sklearn}
"""

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


def model_card(
    model: KernelEstimator | str | os.PathLike[str],
    X: object = None,
    y: object = None,
    *,
    qid: object = None,
    sample_weight: object = None,
    title: str | None = None,
    target: str | None = None,
) -> str:
    """Return a model card as Markdown: data, choices and why, metrics with intervals, importances.

    The metrics are those of rows that the fit left out, and of X and y if they are given. Those
    that are means or roots of means have intervals of 95 % by resampling rows (or queries) 1,000
    times with a fixed seed, shares have Wilson's; from left-out rows of a classifier or ranker they
    are by standard errors. What the model does not know, the card does not say: its section on the
    intended use is for the author.

    Parameters
    ----------
    model : KernelRegressor, KernelClassifier, KernelRanker, or path
        A fitted estimator, or a model file.
    X, y, qid, sample_weight
        Rows that the model has not seen, as in ``fit``; qid is for rankings.
    title : str or None
        The title; None takes the name of the file, or of the target.
    target : str or None
        What the model predicts; ``mercer fit`` stores it in the model file.

    Returns
    -------
    card : str
        The same for the same model and rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, model_card
    >>> X = np.random.default_rng(0).uniform(0, 6, (200, 2))
    >>> model = KernelRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> card = model_card(model, target="height")
    >>> card.splitlines()[0]
    '# Model card: height'
    >>> [line for line in card.splitlines() if line.startswith("## ")][:3]
    ['## Intended use', '## Training data', '## Choices and why']
    """
    file, version = None, None
    if isinstance(model, (str, os.PathLike)):
        path = find_model(model)
        model, file, version = load(path), path, written_by(path)
    check_saveable(model)
    if X is None and not (y is None and qid is None and sample_weight is None):
        raise ValueError("y, qid and sample_weight are those of the rows X, which is missing")
    notes = dict(model._notes)
    target = notes.pop("target", None) if target is None else target
    tested = None if X is None else new_row_scores(model, FitInput(X, y, sample_weight, qid))
    left_out = left_out_scores(model)
    name = file.stem if file is not None else target or type(model).__name__
    parts = {
        "title": escaped(title or name),
        "task": TASKS[type(model)],
        "predicts": "" if target is None else f" that predicts **{escaped(target)}**",
        "estimator": type(model).__name__,
        "rows": f"{model.fit_.n_rows:,}",
        "columns": f"{model.n_features_in_:,}",
        "named": "" if columns_of_fit(model)[0] is None else "named ",
        "target": "\n".join(_target_lines(model, target)),
        "classes": _classes(model) if isinstance(model, KernelClassifier) else "",
        "parameters": _parameters(model),
        "new_rows": "" if tested is None else f"### On new rows\n\n{_metrics(tested)}",
        "left_out_rows": _metrics(left_out)
        if left_out is not None
        else "The model keeps nothing of rows that its fit left out: give new rows, X and y.",
        "noted": _noted(notes),
        "importances": _importances(model),
        "written_by": f"- model file written by mercer {escaped(version)}" if version else "",
        "version": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        **_data(model),
        **_choices(model),
        **_usage(model, "model.mercer" if file is None else file.name),
        **_limits(model),
    }
    lines = [(line, line.format_map(parts)) for line in CARD.splitlines()]
    text = "\n".join(filled for line, filled in lines if filled or not line)
    return re.sub(r"\n{3,}", "\n\n", text) + "\n"


# Training data.


def _data(model: KernelEstimator) -> dict[str, str]:
    """Return the weight of the rows, and their columns as a table."""
    fit, facts = model.fit_, column_rows(model, COLUMNS)
    weighted = fit.weight and not np.isclose(fit.weight, fit.n_rows)
    weight = f", of total weight {number(fit.weight)}" if weighted else ""
    if not facts:
        words = "The rows were kernel values, so there are no columns to describe."
        return {"weight": weight, "facts": words}
    parts = [table(HEADER, facts)]
    if len(facts) < model.n_features_in_:
        parts.append(f"{model.n_features_in_ - len(facts):,} more columns are not listed.")
    return {"weight": weight, "facts": "\n\n".join([*parts, _source_of_ranges(model)])}


def _target_lines(model: KernelEstimator, target: str | None) -> list[str]:
    named = "the target" if target is None else f"the target, {escaped(target)},"
    if isinstance(model, KernelClassifier):
        return [f"- {named} is one of {len(model.classes_):,} classes"]
    if isinstance(model, KernelRanker):
        lines = [f"- {named} is a relevance, compared within queries"]
        if model._targets.by_query:
            return [*lines, f"- {model.n_queries_:,} queries"]
        return [*lines, "- no queries: all rows are compared"]
    targets, known = model._targets, model.fit_.intervals
    assert isinstance(targets, RegressionTargets)
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


def _source_of_ranges(model: KernelEstimator) -> str:
    points = basis_points(model)
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


def _kept_words(model: KernelEstimator) -> str:
    """Return what the points of a basis are; they may be means of rows, or given."""
    basis = model.fit_.basis
    drawn = basis.dual or basis.indices_ is not None
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


# Choices and why.


def _choices(model: KernelEstimator) -> dict[str, str]:
    """Return what the fit chose and why, and the kernels that it tried."""
    rows = [
        [name, escaped(value, 400), CHOICES.get(name, "")]
        for name, value in model.summary().rows
        if name not in ELSEWHERE and not name.startswith("  ")
    ]
    parts = {"choices": table(["Choice", "What and why", "What it is"], rows), "tried": ""}
    tried = _tried(model)
    if tried:
        columns = 2 + any(row[2] for row in tried)
        header = ["Kernel", "Error in the search", "With more functions"][:columns]
        parts["tried"] = (
            "Kernels that were tried, with their errors on held-out rows, relative to the spread "
            "of y. A candidate takes the place of the one before only if it is clearly better.\n\n"
            + table(header, [row[:columns] for row in tried], numbers=[1, 2])
        )
    return parts


def _tried(model: KernelEstimator) -> list[list[str]]:
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


def _parameters(model: KernelEstimator) -> str:
    """Return the parameters that differ from their defaults, as short text."""
    lines = []
    for name, parameter in signature(type(model)).parameters.items():
        value = getattr(model, name)
        same = value is parameter.default or (
            isinstance(value, (str, int, float, bool)) and value == parameter.default
        )
        if same or name in OF_THE_PLACE:
            continue
        generator = isinstance(value, (np.random.Generator, np.random.RandomState))
        text = type(value).__name__ if generator else " ".join(repr(value).split())
        short = text if len(text) <= 200 else text[:199] + "\N{HORIZONTAL ELLIPSIS}"
        lines.append(f"{name}={short}")
    if not lines:
        return "All parameters have their defaults."
    words = "Parameters that were set, all others have their defaults:"
    return f"{words}\n\n{code(chr(10).join(lines))}"


# Metrics and importances.


def _metrics(evaluation: Evaluation) -> str:
    """Return a table of metrics, with the calibration of probabilities below."""
    outputs = any(metric.output for metric in evaluation.metrics)
    header = ["Metric", "Value", "95 % interval", "What it is"]
    rows = []
    for metric in evaluation.metrics:
        known = metric.low < metric.high
        ends = f"{_value(metric, metric.low)} to {_value(metric, metric.high)}" if known else ""
        words = METRICS.get(metric.name, "share of rows; it should be near that percentage")
        row = [metric.name, _value(metric, metric.value), ends or "not available", words]
        rows.append([metric.output, *row] if outputs else row)
    header = ["Output", *header] if outputs else header
    parts = [f"On {evaluation.rows}:", table(header, rows)]
    if evaluation.reliability is not None:
        parts.append(_calibration(evaluation.reliability))
    return "\n\n".join([*parts, *evaluation.notes])


def _value(metric: Metric, value: float) -> str:
    shares = metric.name in ("accuracy", "pairs in the wrong order")
    return percent(value) if shares or metric.name.startswith("in the") else number(value)


def _calibration(reliability: Reliability) -> str:
    """Return how often the most probable class is right, by its probability."""
    pairs = reliability.confidence.reshape(-1, 2, 3).sum(axis=1)  # bins of a tenth
    total = pairs[:, 0].sum()
    rows = [
        [percent(p / weight), percent(right / weight), percent(weight / total)]
        for weight, p, right in pairs
        if weight > 0
    ]
    header = ["Mean probability of the predicted class", "How often it is right", "Share of rows"]
    return table(header, rows, numbers=[0, 1, 2])


def _noted(notes: dict[str, str]) -> str:
    """Return what was noted when the model was fitted."""
    lines = [f"- {escaped(name)}: {escaped(text)}" for name, text in notes.items()]
    return "\n".join(["Noted when the model was fitted:", "", *lines]) if lines else ""


def _importances(model: KernelEstimator) -> str:
    """Return the importances as a table with bars; or why there are none."""
    try:
        shares = model.feature_importances_
    except AttributeError as error:
        return f"Not available. {escaped(str(error), 400)}"
    names = columns_of_fit(model)[0] or [f"x{at}" for at in range(len(shares))]
    order = [at for at in np.argsort(-shares, kind="stable") if shares[at] > 0]
    rows = [
        [escaped(names[at], 60), percent(shares[at]), bar(shares[at], shares.max())]
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


# Use and limitations.


def _usage(model: KernelEstimator, file: str) -> dict[str, str]:
    """Return how to load the model and predict with it."""
    named = columns_of_fit(model)[0] is not None
    rows = "table" if named else "X"
    lines = ["import mercer", "", f"model = mercer.load({file!r})", f"model.predict({rows})"]
    if isinstance(model, KernelClassifier):
        lines.append(f"model.predict_proba({rows})")
    if isinstance(model, KernelRegressor) and model.fit_.intervals is not None:
        lines.append(f"model.predict_interval({rows}, coverage=0.9)")
    table_or_array = (
        "`table` is a data frame with the columns above."
        if named
        else f"`X` is an array with {model.n_features_in_:,} columns."
    )
    return {"code": code("\n".join(lines), "python"), "usage": table_or_array}


def _limits(model: KernelEstimator) -> dict[str, str]:
    """Return what follows from how the model was made."""
    status, points = model.fit_.solution.status, basis_points(model)
    kernel = model.fit_.basis.kernel_
    if isinstance(kernel, InMetric) and isinstance(kernel.metric.scaling, QuantileScaling):
        beyond = (
            "A value beyond the range of its column in the fit is taken as the end of that range: "
            "the model knows nothing there."
        )
    elif kernel.bounded:
        beyond = (
            "Far from the rows of the fit, predictions go to a constant: the model knows nothing "
            "there."
        )
    else:
        beyond = "Outside of the ranges of the data, predictions are extrapolated."
    encoding = columns_of_fit(model)[1]
    return {
        "unsolved": ""
        if status.succeeded
        else f"- **The solve did not succeed: {escaped(status.value)}.**",
        "beyond": beyond,
        "unseen": "- Levels of categories that the fit has not seen are taken as 'other', and gaps "
        "are filled; both are counted in a warning."
        if encoding is not None and encoding.needed
        else "",
        "contains": ""
        if points is None
        else f"- The model contains {len(points):,} {_kept_words(model)}, as numbers: share it as "
        f"you would share these.",
    }
