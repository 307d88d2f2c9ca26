"""How good probabilities are: log loss, Brier score, and observed frequencies by bins.

.. math:: -\\frac1W \\sum_i w_i \\log p_{y_i}(x_i), \\qquad
          \\frac1W \\sum_i w_i \\sum_c (p_c(x_i) - 1_{y_i = c})^2

Both are proper: no other probabilities have a smaller expectation than the true ones (Gneiting and
Raftery 2007). Of two classes the Brier score counts one, as scikit-learn does. Probabilities are
calibrated if among rows with ``p_c(x) = p`` a share p is of class c, which the bins show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.storage.state import Count, Number, Numbers, State

#: Bins of equal width.
BINS = 20


@dataclass(frozen=True)
class Reliability:
    """Sums over rows that no model or map has seen, by class and by bins of the probability.

    Attributes
    ----------
    log_loss, brier : float
        The two scores; less is better.
    n_rows : int
        How many rows.
    by_class : array of shape (classes, bins, 3)
        Sums of ``w``, ``w p_c`` and ``w 1_{y = c}``.
    confidence : array of shape (bins, 3)
        The same for the most probable class of each row.
    standard_errors : array of shape (3,) or None
        Those of the log loss, the Brier score and the accuracy, if rows are independent.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> found = reliability_of(np.log(p), np.array([0, 0, 1]), np.ones(3))
    >>> round(found.brier, 4), found.n_rows
    (0.0467, 3)
    """

    state = State(
        log_loss=Number(0.0),
        brier=Number(0.0),
        n_rows=Count(),
        confidence=Numbers("bins 3"),
        by_class=Numbers("classes bins 3"),
        standard_errors=Numbers("3", optional=True),
    )
    log_loss: float
    brier: float
    n_rows: int
    by_class: Array
    confidence: Array
    standard_errors: Array | None = None

    @property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is theirs."""
        weight, _, observed = self.confidence.sum(axis=0)
        return float(observed / weight)

    @property
    def calibration_error(self) -> float:
        """Mean difference of confidence and accuracy over bins (ECE, Guo et al. 2017)."""
        weight, predicted, observed = self.confidence.T
        return float(np.abs(predicted - observed).sum() / weight.sum())

    def curve(self, number: int | None = None) -> tuple[Array, Array, Array]:
        """Return mean probability, observed frequency and share of rows of each bin with rows.

        ``number`` is that of a class; None takes the most probable class of each row.
        """
        table = self.confidence if number is None else self.by_class[number]
        weight, predicted, observed = table[table[:, 0] > 0].T
        return predicted / weight, observed / weight, weight / weight.sum()


def reliability_of(logs: Array, codes: Array, weight: Array, bins: int = BINS) -> Reliability:
    """Return the record of logarithms of probabilities (n, classes) and the classes of rows."""
    rows, classes = logs.shape
    P, at = np.exp(logs), np.arange(rows)
    total = weight.sum()
    hit = np.zeros_like(P)
    hit[at, codes] = 1.0
    squares = ((P - hit) ** 2).sum(axis=1)
    top = P.argmax(axis=1)
    halved = 2 if classes == 2 else 1
    with np.errstate(invalid="ignore"):  # a probability of 0 has an infinite loss
        parts = np.column_stack([-logs[at, codes], squares / halved, hit[at, top]])
        away = weight[:, None] * (parts - weight @ parts / total)
    errors = np.sqrt((away**2).sum(axis=0)) / total
    return Reliability(
        log_loss=max(0.0, -float(weight @ logs[at, codes] / total)),
        brier=float(weight @ squares / total) / halved,
        n_rows=rows,
        by_class=np.array([_binned(P[:, c], hit[:, c], weight, bins) for c in range(classes)]),
        confidence=_binned(P[at, top], hit[at, top], weight, bins),
        standard_errors=errors if np.isfinite(errors).all() else None,
    )


def _binned(p: Array, hit: Array, weight: Array, bins: int) -> Array:
    where = np.minimum((p * bins).astype(int), bins - 1)
    parts = (weight, weight * p, weight * hit)
    return np.stack([np.bincount(where, part, minlength=bins) for part in parts], axis=1)
