"""A model card: what a model is, what it was fitted to, what was chosen and how good it is.

The headings are those of Mitchell et al. (2019, *Model cards for model reporting*) and of model
hubs, as far as a fit can fill them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mercer.estimators import KernelClassifier, KernelEstimator, KernelRanker, KernelRegressor
from mercer.estimators.inputs import Given
from mercer.models.card_given_rows import of_rows
from mercer.models.card_markdown import escaped
from mercer.models.card_metrics import of_fit
from mercer.models.card_sections import (
    choices_section,
    data_section,
    importance_section,
    limits_section,
    metrics_section,
    usage_section,
    version_section,
)
from mercer.models.loading import find_model, load, written_by
from mercer.models.saving import check_saveable

#: What a model does, by its class.
TASKS: dict[type[KernelEstimator], str] = {
    KernelClassifier: "classification",
    KernelRanker: "ranking",
    KernelRegressor: "regression",
}
TO_FILL_IN = (
    "*To be filled in by the author: who should use the model, for what, and what it must not be "
    "used for.*"
)


def model_card(
    model: KernelEstimator | str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    qid: Any = None,
    sample_weight: Any = None,
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
    notes = dict(getattr(model, "_notes", {}))
    target = notes.pop("target", None) if target is None else target
    tested = None if X is None else of_rows(model, Given(X, y, sample_weight, qid))
    parts = [
        f"# Model card: {escaped(title or _name(model, file, target))}",
        _introduction(model, target),
        "## Intended use",
        TO_FILL_IN,
        "## Training data",
        data_section(model, target),
        "## Choices and why",
        choices_section(model),
        "## Metrics",
        *([] if tested is None else ["### On new rows", metrics_section(tested)]),
        "### On rows that the fit left out",
        _from_fit(model, notes),
        "## Importances",
        importance_section(model),
        "## How to use it",
        usage_section(model, None if file is None else file.name),
        "## Limitations",
        limits_section(model),
        "## Versions",
        version_section(version),
    ]
    return "\n\n".join(parts) + "\n"


def _name(model: KernelEstimator, file: Path | None, target: str | None) -> str:
    return file.stem if file is not None else target or type(model).__name__


def _introduction(model: KernelEstimator, target: str | None) -> str:
    """Return one sentence that says what the model is."""
    what = "" if target is None else f" that predicts **{escaped(target)}**"
    names = getattr(model, "feature_names_in_", None)
    rows, size = f"{model.fit_.n_rows:,} rows", model.n_features_in_
    of = f"{size:,} {'named ' if names is not None else ''}columns"
    return (
        f"A model for {TASKS[type(model)]}{what}: a mercer `{type(model).__name__}`, kernel least "
        f"squares, fitted to {rows} of {of}."
    )


def _from_fit(model: KernelEstimator, notes: dict[str, str]) -> str:
    """Return the metrics of left-out rows, and what was noted when the model was fitted."""
    found = of_fit(model)
    parts = [
        "The model keeps nothing of rows that its fit left out: give new rows, X and y."
        if found is None
        else metrics_section(found)
    ]
    if notes:
        listed = (f"- {escaped(name)}: {escaped(text)}" for name, text in notes.items())
        parts += ["Noted when the model was fitted:", "\n".join(listed)]
    return "\n\n".join(parts)
