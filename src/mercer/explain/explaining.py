"""Explain predictions: which columns of the user's table move them, at given rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.columns import TableEncoding
from mercer.columns.column_encoders import ColumnEncoder, NumberColumn
from mercer.columns.level_encoders import CategoryColumn
from mercer.columns.scaling import StandardScaling
from mercer.columns.table_sums import as_table
from mercer.contracts import Array, RowSource
from mercer.explain.column_effects import (
    ColumnAtRows,
    Effect,
    effect_of,
    has_sign,
    spread_of,
)
from mercer.explain.explained_function import ExplainedFunction
from mercer.explain.explanation import Explanation
from mercer.kernels import InMetric
from mercer.kernels.kernel import dense
from mercer.opening.inputs import FittedModel, Known
from mercer.opening.rows_to_predict import (
    encoded_to_predict,
    encoding_to_predict,
    names_of_columns,
    rows_to_predict,
)
from mercer.rows.table import Coded, Column, Table
from mercer.validation import check_count

#: Rows that are read at a time.
BLOCK = 4096
#: Columns whose effects are measured by steps, each of which takes two predictions of all rows.
STEPPED = 500
#: Fewest rows that standard deviations are taken from.
FEWEST = 2


@dataclass(frozen=True)
class Chosen:
    """What is explained at each row: an output, and whether it or its negative.

    ``label`` names it in a table; ``targets`` are the classes of the rows, or None.
    """

    outputs: Array  # (n,)
    signs: Array  # (n,)
    label: str
    targets: Array | None = None
    intercept: bool = True


Choice = Callable[[Array], Chosen]


def explain(self: Any, X: object, target: object = None) -> Explanation:
    """Return how the prediction moves with each column, at each row of X.

    For a number or a date, that is the derivative of the prediction per unit of the column (a day),
    and its change over a standard deviation of the column, from half of it below the value of the
    row to half of it above. For a category, it is the change to each other level. All other
    columns keep the values of the row. Of more than 500 columns, only those 500 with the largest
    derivatives, per standard deviation, take such steps; the changes of others are derivatives
    times the step. See :doc:`/howto/explaining`.

    Parameters
    ----------
    X : array, data frame, sparse rows, path or row source
        Rows, as in :meth:`predict`.
    target : class, int or None
        The class whose ``decision_function`` is explained; None means the one predicted for each
        row. If y has several columns, the number of one.

    Returns
    -------
    Explanation
        Prints as a table, largest effects first; ``derivative``, ``effect`` and ``levels`` have the
        figures, and ``plot()`` draws them.
    """
    check_is_fitted(self, "fit_")
    if self.kernel_.pairwise:
        raise ValueError(
            "a precomputed kernel has no columns to explain: fit one of mercer.kernels to the "
            "rows themselves"
        )
    choice: Choice = self._explained(target)
    rows = rows_to_predict(self, X)  # once, so that it warns once
    return explanation_of(self, rows, choice(self._decide(rows)))


def explanation_of(model: Any, source: RowSource, chosen: Chosen) -> Explanation:
    """Measure what every column does at every row."""
    encoding, table, rows = encoded_table(model, source)
    means, spread = column_moments(model, rows)
    n, d = len(rows), len(encoding.names)
    prediction, derivative, effect = np.empty(n), np.empty((n, d)), np.empty((n, d))
    levels = {
        name: encoder.alternatives(table.columns[name])
        for name, encoder in zip(encoding.names, encoding.encoders, strict=True)
        if isinstance(encoder, CategoryColumn)
    }
    changes = {name: np.empty((n, len(labels))) for name, (labels, _) in levels.items()}
    places = [
        slice(*np.searchsorted(encoding.origins, [column, column + 1])) for column in range(d)
    ]
    for output, sign in sorted(set(zip(chosen.outputs, chosen.signs, strict=True))):
        at = np.flatnonzero((chosen.outputs == output) & (chosen.signs == sign))
        f = ExplainedFunction(
            model.basis_,
            sign * model.dual_coef_[:, [output]],
            sign * float(model.intercept_[output]) if chosen.intercept else 0.0,
        )
        values, gradients = f.values(rows[at]), f.gradients(rows[at], spread)
        prediction[at] = values
        slopes = encoding.by_column((gradients**2).mean(axis=0) * spread**2)
        stepped = set(np.argsort(-slopes, kind="stable")[:STEPPED].tolist())
        for column, (name, place) in enumerate(zip(encoding.names, places, strict=True)):
            one = ColumnAtRows(
                table.columns[name][at],
                f,
                rows[at],
                values,
                gradients,
                place,
                means[place],
                spread[place],
                levels[name][1] if name in levels else np.zeros((0, 0)),
                linear=column not in stepped,
            )
            found = checked_effect(encoding.encoders[column], one, name)
            derivative[at, column], effect[at, column] = found.derivative, found.effect
            if found.changes is not None:
                changes[name][at] = found.changes
    return Explanation(
        names=encoding.names,
        kinds=tuple(encoder.kind for encoder in encoding.encoders),
        values=tuple(shown(table.columns[name]) for name in encoding.names),
        prediction=prediction,
        derivative=derivative,
        effect=effect,
        spread=np.array(list(map(spread_of, encoding.encoders, (spread[at] for at in places)))),
        signed=np.array(list(map(has_sign, encoding.encoders))),
        levels={name: (labels, changes[name]) for name, (labels, _) in levels.items()},
        label=chosen.label,
        targets=chosen.targets,
        exact=model.basis_.has_gradient,
    )


def checked_effect(encoder: ColumnEncoder, at: ColumnAtRows, name: str) -> Effect:
    """Measure what a column does; name it where a step leaves the domain of the kernel."""
    try:
        return effect_of(encoder, at)
    except ValueError as error:
        raise ValueError(
            f"the effect of column {name!r} cannot be measured by steps of half a standard "
            f"deviation to each side: {error}; explain rows further inside, or use a kernel that "
            f"is defined everywhere, such as Gaussian()"
        ) from error


def encoded_table(model: FittedModel, source: RowSource) -> tuple[TableEncoding, Table, Array]:
    """Return the map of the columns, the rows as they were given, and as numbers."""
    encoded, _ = encoded_to_predict(model, source)
    rows = np.concatenate([dense(block.X) for block in encoded.blocks(BLOCK)])
    known = Known.of(model)
    encoding = encoding_to_predict(known, source)
    if encoding is None:
        names = known.features.names or names_of_columns(source)
        names = names or [f"x{at}" for at in range(rows.shape[1])]
        encoding = TableEncoding(tuple(names), (NumberColumn(0.0),) * rows.shape[1])
    parts = [
        as_table(block.X, source.feature_names or list(encoding.names))
        for block in source.blocks(BLOCK)
    ]
    table = Table.joined(parts)
    absent = [name for name in encoding.names if name not in table.columns]
    # Files may lack columns that were dropped.
    nothing = dict.fromkeys(absent, np.full(table.n_rows, np.nan))
    return encoding, encoding.table(Table({**table.columns, **nothing}, table.n_rows)), rows


def shown(column: Column) -> Array:
    """Return a column as an array, text for categories."""
    return column.values() if isinstance(column, Coded) else np.asarray(column)


def basis_points(model: FittedModel) -> Array | None:
    """Return the points of the basis, of shape (M, D), in encoded columns; None if it has none.

    They are all rows for the full kernel, and the landmarks, or the rows of a sketch. Random
    features keep no rows, and a precomputed kernel has no columns.

    >>> import numpy as np
    >>> from mercer import KernelRegressor, RandomFeatures
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> basis_points(KernelRegressor("gaussian").fit(X, X[:, 0])).shape
    (6, 2)
    >>> basis_points(KernelRegressor("gaussian", RandomFeatures(5)).fit(X, X[:, 0])) is None
    True
    """
    basis = model.fit_.basis
    if basis.kernel_.pairwise:
        return None
    return None if basis.kept_points is None else dense(basis.kept_points)


def column_moments(model: FittedModel, rows: Array) -> tuple[Array, Array]:
    """Return the means and standard deviations of the encoded columns.

    Those of all rows of the fit if columns were standardized; otherwise those of the points that
    the model keeps, which are rows of the fit; otherwise those of the rows given.

    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0], [5.0, 20.0]])
    >>> model = KernelRegressor("gaussian", scale="standard", metric=None).fit(X, X[:, 0])
    >>> means, deviations = column_moments(model, X[:1])
    >>> bool(np.allclose(means, [3, 20]) and np.allclose(deviations**2, [8 / 3, 200 / 3]))
    True
    """
    kernel = model.fit_.basis.kernel_
    scaling = kernel.metric.scaling if isinstance(kernel, InMetric) else None
    if isinstance(scaling, StandardScaling):
        return scaling.center, scaling.scale
    points = basis_points(model)
    points = rows if points is None or len(points) < FEWEST else points
    if len(points) < FEWEST:
        raise ValueError(
            f"standard deviations of the columns are needed, but {type(model.fit_.basis).__name__} "
            f"keeps no rows of the fit, and columns were not standardized: explain at least "
            f"{FEWEST} rows, or fit with scale='standard' or basis='landmarks'"
        )
    return points.mean(axis=0), points.std(axis=0)


# -- what is explained -------------------------------------------------------------------------


def explained_number(self: Any, target: object) -> Choice:
    """Explain the prediction of a regressor; ``target`` is the number of an output."""
    outputs = self.dual_coef_.shape[1]
    if target is None and outputs > 1:
        raise ValueError(
            f"y has {outputs} columns, explained one at a time: set target to one of 0 to "
            f"{outputs - 1}"
        )
    number = check_count(0 if target is None else target, "target", minimum=0)
    if number >= outputs:
        raise ValueError(f"target must be the number of an output, below {outputs}, got {target!r}")
    label = "prediction" if outputs == 1 else f"prediction of output {number}"
    return lambda values: Chosen(np.full(len(values), number), np.ones(len(values)), label)


def explained_class(self: Any, target: object) -> Choice:
    """Explain the decision function of a class, or of the predicted one."""
    classes = self.classes_
    known = {label: code for code, label in enumerate(classes.tolist())}
    if target is not None and (not np.isscalar(target) or target not in known):
        raise ValueError(
            f"target must be one of the classes {classes.tolist()}, or None for the predicted "
            f"one, got {target!r}"
        )

    def choice(values: Array) -> Chosen:
        if target is not None:
            codes = np.full(len(values), known[target])
        elif len(classes) == 2:
            codes = (values[:, 0] > 0).astype(int)
        else:
            codes = values.argmax(axis=1)
        label = "decision for the predicted class" if target is None else f"decision for {target!r}"
        if len(classes) == 2:  # one function, of the second class
            return Chosen(np.zeros_like(codes), 2.0 * codes - 1.0, label, classes[codes])
        return Chosen(codes, np.ones(len(codes)), label, classes[codes])

    return choice


def explained_score(self: object, target: object) -> Choice:
    """Explain the score of a ranker, which has no other output."""
    if target is not None:
        raise ValueError(f"a ranker has one score: target must be None, got {target!r}")
    return lambda values: Chosen(
        np.zeros(len(values), dtype=int), np.ones(len(values)), "score", intercept=False
    )
