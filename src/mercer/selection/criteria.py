"""Criteria for alpha: a score for every alpha of a path, without refitting.

All scores are mean squared errors, summed over outputs, in the units of y; where every output has
an alpha of its own, also by output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from mercer.contracts import Array, Penalty
from mercer.leaving_out import fold_errors, left_out, left_out_errors, prepare_left_out
from mercer.storage.state import Numbers, State
from mercer.systems import KernelMatrixSystem, MomentSystem
from mercer.validation import check_count, from_alias

#: The systems that a criterion can score, for any alpha.
Scored: TypeAlias = MomentSystem | KernelMatrixSystem


@dataclass(frozen=True)
class Scores:
    """Scores along a path: ``mean`` (alphas,), and by fold if there are folds.

    ``label`` says how they were computed, where the criterion only decides that with the rows.
    ``by_output`` (alphas, k) adds up to ``mean``, if outputs were kept apart.
    """

    state = State(
        mean=Numbers("alphas", finite=False, must="there must be one score per alpha"),
        by_fold=Numbers(
            "folds alphas",
            finite=False,
            optional=True,
            must="there must be one score per fold and alpha",
        ),
        by_output=Numbers(
            "alphas k",
            finite=False,
            optional=True,
            must="there must be one score per alpha and output",
        ),
    )
    mean: Array
    by_fold: Array | None = None
    label: str = ""
    by_output: Array | None = None

    @classmethod
    def of(cls, errors: Array, label: str = "") -> Scores:
        """Return the scores of errors (alphas,), or (alphas, k) by output.

        >>> Scores.of(np.array([[1.0, 2.0]])).mean
        array([3.])
        """
        if errors.ndim == 1:
            return cls(errors, label=label)
        return cls(errors.sum(axis=1), label=label, by_output=errors)

    def at(self, alphas: Array, alpha: Penalty) -> float:
        """Return the score of one alpha of the path, or of one of each output.

        >>> Scores.of(np.array([[1.0, 5.0], [2.0, 3.0]])).at(np.array([0.1, 1.0]), [0.1, 1.0])
        4.0
        """
        place = np.searchsorted(alphas, alpha)
        if self.by_output is None:
            return float(self.mean[place])
        outputs = np.arange(self.by_output.shape[1])
        return float(self.by_output[place, outputs].sum())


class Criterion(BaseEstimator):
    """Scores a path of alphas; lower is better."""

    #: Number of folds that the criterion needs.
    folds = 1
    #: Whether it needs a second pass over the rows.
    second_pass = False
    #: Whether it has another way where leave-one-out has no shortcut.
    falls_back = False
    #: Whether scores depend on the number of rows, not only on means over them.
    counts_rows = False

    @property
    def label(self) -> str:
        """A short description, for reports."""
        return ""

    def prepare(self, system: Scored) -> None:
        """Decompose the system if the criterion needs another form than the usual one."""

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return a score for every alpha."""
        raise TypeError(f"{type(self).__name__} does not define score()")


class GCV(Criterion):
    """Generalized cross-validation (Golub, Heath and Wahba, 1979), from one pass.

    .. math:: \\mathrm{GCV}(\\lambda) =
              \\frac{\\frac1W \\sum_i w_i (y_i - f(x_i))^2}{(1 - \\mathcal{N}(\\lambda)/n)^2}

    with N(lambda) the effective dimension (plus one for an intercept). Weights count as repeated
    rows, unless ``weight_type`` of the estimator says otherwise.
    """

    label = "generalized cross-validation"
    counts_rows = True

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return GCV for every alpha."""
        shifted = system.decomposition.shifted(alphas)
        left = np.maximum(system.target_square - shifted.explained, 0.0) @ system.units
        share = 1.0 - (shifted.effective_dimension + system.intercept) / system.count
        # An interpolating fit has no residual degrees of freedom.
        share = share.reshape(-1, *[1] * (left.ndim - 1))
        scores = np.full(left.shape, np.inf)
        np.divide(left, share**2, out=scores, where=share > 1e-6)
        return Scores.of(scores)


class KFold(Criterion):
    """K-fold cross-validation, from the one pass that builds the moments.

    .. math:: \\frac1K \\sum_k \\frac{1}{W_k} \\sum_{i \\in k} w_i (y_i - f_{-k}(x_i))^2

    where :math:`f_{-k}` is fitted to the total moments minus those of fold k.

    Parameters
    ----------
    n_splits : int
        K; rows are assigned to folds at random.
    """

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = n_splits

    @property
    def folds(self) -> int:  # type: ignore[override]
        """K."""
        return check_count(self.n_splits, "n_splits of KFold", minimum=2)

    @property
    def label(self) -> str:
        """A short description, for reports."""
        return f"{self.n_splits}-fold cross-validation"

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return the mean error over folds for every alpha."""
        by_fold = fold_errors(system, self.folds, alphas, rng)
        by_fold = by_fold[~np.isnan(by_fold.reshape(len(by_fold), -1)).any(axis=1)]
        if len(by_fold) == 0:
            raise ValueError(
                f"{self.label} needs at least 2 rows, got n_samples={system.count:g}: use "
                f"selection='gcv' or a number for alpha"
            )
        summed = by_fold if by_fold.ndim == 2 else by_fold.sum(axis=2)
        return replace(Scores.of(by_fold.mean(axis=0)), by_fold=summed)


class LeaveOneOut(Criterion):
    """Exact leave-one-out, from a second pass over all rows or a sample of them.

    .. math:: \\frac1W \\sum_i w_i \\Big(\\frac{y_i - f(x_i)}{1 - \\ell_i(\\lambda)}\\Big)^2

    where l_i is the leverage of row i. It equals n refits, each without one row and with the same
    total penalty ``lambda W``.

    Parameters
    ----------
    sample : int or None
        How many rows to leave out, one at a time; None means all.
    """

    second_pass = True

    def __init__(self, sample: int | None = None) -> None:
        self.sample = sample

    @property
    def label(self) -> str:
        """A short description, for reports."""
        rows = "all" if self.sample is None else f"{self.sample}"
        return f"leave-one-out on {rows} rows"

    def prepare(self, system: Scored) -> None:
        """Decompose the system as leaving out so many rows needs it."""
        prepare_left_out(system, self.sample)

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return the weighted mean error over rows for every alpha."""
        if self.sample is not None:
            check_count(self.sample, "sample of LeaveOneOut")
        return Scores.of(left_out_errors(system, alphas, self.sample, rng))


class AutoSelection(Criterion):
    """Leave-one-out on a sample of rows, each left out with the landmark at it; GCV if need be.

    .. math:: \\frac{1}{W_S} \\sum_{i \\in S} w_i
              \\Big(\\frac{y_i - g_i' P_i \\beta}{1 - g_i' P_i g_i\\, w_i / W}\\Big)^2, \\qquad
              P_i = F - \\frac{F t_i t_i' F}{t_i' F t_i}

    (centered, with an intercept) in the eigencoordinates of the moments, where
    ``F = diag(1 / (s + lambda))`` and ``c_i = t_i'v`` is the coefficient of the landmark at row i;
    ``P_i = F`` where there is none. It equals refits without the row and without its landmark, so
    the row is as new to the model as a row to predict. Rankings leave out whole queries. If some
    rows have no label, the labels are left out and the rows stay.

    The full kernel leaves out all rows, since that costs nothing there. GCV takes over where
    leave-one-out has no shortcut: after ``partial_fit`` or ``forget``, when rows cannot be read
    again; for ``solver="cutoff"``; and for rankings with fewer than 10 queries.
    ``cv_results_["criterion"]`` and ``summary()`` say what was done.

    Parameters
    ----------
    sample : int
        About how many rows to leave out, one at a time; all if there are no more. They do not
        depend on ``random_state``.

    Examples
    --------
    >>> from mercer import KernelRegressor, Landmarks
    >>> X = np.linspace(0.0, 6.0, 3000)[:, None]
    >>> model = KernelRegressor(basis=Landmarks(50), selection="auto", random_state=0)
    >>> model.fit(X, np.sin(X[:, 0])).cv_results_["criterion"]
    'leave-one-out on 2,000 of 3,000 rows'
    """

    second_pass = True
    falls_back = True
    label = "leave-one-out"

    def __init__(self, sample: int = 2000) -> None:
        self.sample = sample

    def prepare(self, system: Scored) -> None:
        """Decompose the system as leaving out so many rows needs it."""
        prepare_left_out(system, self.sample)

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return the weighted mean error over left-out rows, or GCV, for every alpha."""
        check_count(self.sample, "sample of AutoSelection")
        found = left_out(system, alphas, self.sample)
        if found.errors is None:
            label = f"{GCV.label} ({found.note})"
            return replace(GCV().score(system, alphas, rng), label=label)
        return Scores.of(found.errors, found.label)


#: Names that ``selection=`` accepts.
CRITERIA: dict[str, type[Criterion]] = {
    "auto": AutoSelection,
    "gcv": GCV,
    "kfold": KFold,
    "loo": LeaveOneOut,
}


def as_criterion(selection: str | Criterion) -> Criterion:
    """Turn a name into a criterion; pass objects through."""
    return from_alias(selection, CRITERIA, Criterion, "selection")


def choose_alpha(
    system: Scored, alphas: Array | None, criterion: Criterion, rng: np.random.Generator
) -> tuple[Penalty, Array, Scores]:
    """Return the best alpha, the path, and its scores; the best of each output if kept apart."""
    criterion.prepare(system)
    path = default_alphas(system) if alphas is None else alphas
    scores = criterion.score(system, path, rng)
    scale = system.target_square @ system.units
    if scores.by_output is None:
        return best_alpha(path, scores.mean, float(scale)), path, scores
    columns = zip(scores.by_output.T, scale, strict=True)
    return np.array([best_alpha(path, *column) for column in columns]), path, scores


def default_alphas(system: Scored, number: int = 20) -> Array:
    """Return a path of alphas from the largest eigenvalue of A down to 1e-9 times it.

    It ends earlier if the smallest eigenvalue is larger, because an alpha well below it changes
    nothing.
    """
    smallest, largest = system.decomposition.extremes
    if not largest > 0:
        return np.geomspace(1e-9, 1.0, number)
    return np.geomspace(max(1e-9 * largest, 0.03 * smallest), largest, number)


def best_alpha(alphas: Array, scores: Array, scale: float) -> float:
    """Return the alpha with the lowest score; the largest alpha if no score is finite.

    Scores that differ by less than rounding count as equal, and the largest such alpha is chosen,
    so that rounding does not decide when the data are fitted perfectly. ``scale`` is the mean
    square of y.
    """
    finite = np.where(np.isfinite(scores), scores, np.inf)
    lowest = max(float(finite.min()) * (1 + 1e-9), 1e-12 * scale)
    return float(alphas[np.flatnonzero(finite <= lowest)[-1]])
