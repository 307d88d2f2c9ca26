"""Criteria for alpha: a score for every alpha of a path, without refitting.

All scores are mean squared errors, summed over outputs, in the units of y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from mercer.contracts import Array
from mercer.systems import KernelMatrixSystem, MomentSystem
from mercer.validation import check_count, from_alias

#: The systems that a criterion can score, for any alpha.
Scored: TypeAlias = MomentSystem | KernelMatrixSystem


@dataclass(frozen=True)
class Scores:
    """Scores along a path: ``mean`` (alphas,), and by fold if there are folds."""

    mean: Array
    by_fold: Array | None = None

    def check_state(self, n_alphas: int) -> None:
        """Raise ValueError unless there is one score per alpha."""
        if self.mean.shape != (n_alphas,):
            raise ValueError("there must be one score per alpha")
        if self.by_fold is not None and self.by_fold.shape[1:] != (n_alphas,):
            raise ValueError("there must be one score per fold and alpha")


class Criterion(BaseEstimator):
    """Scores a path of alphas; lower is better."""

    #: Number of folds that the criterion needs.
    folds = 1
    #: Whether it needs a second pass over the rows.
    second_pass = False
    label = ""

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return a score for every alpha."""
        raise TypeError(f"{type(self).__name__} does not define score()")


class GCV(Criterion):
    """Generalized cross-validation (Golub, Heath and Wahba, 1979), from one pass.

    .. math:: \\mathrm{GCV}(\\lambda) =
              \\frac{\\frac1W \\sum_i w_i (y_i - f(x_i))^2}{(1 - \\mathcal{N}(\\lambda)/n)^2}

    with N(lambda) the effective dimension (plus one for an intercept). Weights count as repeated
    rows.
    """

    label = "generalized cross-validation"

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return GCV for every alpha."""
        spectrum = system.spectrum
        scores = np.empty(len(alphas))
        for i, alpha in enumerate(alphas):
            left = np.maximum(system.target_square - spectrum.explained(alpha), 0.0)
            freedom = spectrum.effective_dimension(alpha) + system.intercept
            share = 1.0 - freedom / system.count
            # An interpolating fit has no residual degrees of freedom.
            scores[i] = left @ system.units / share**2 if share > 1e-6 else np.inf
        return Scores(scores)


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
    def label(self) -> str:  # type: ignore[override]
        """A short description, for reports."""
        return f"{self.n_splits}-fold cross-validation"

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return the mean error over folds for every alpha."""
        by_fold = system.fold_errors(self.folds, alphas, rng)
        by_fold = by_fold[~np.isnan(by_fold).any(axis=1)]
        if len(by_fold) == 0:
            raise ValueError(
                f"{self.label} needs at least 2 rows, got n_samples={system.count:g}: use "
                f"selection='gcv' or a number for alpha"
            )
        return Scores(by_fold.mean(axis=0), by_fold)


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
    def label(self) -> str:  # type: ignore[override]
        """A short description, for reports."""
        rows = "all" if self.sample is None else f"{self.sample}"
        return f"leave-one-out on {rows} rows"

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return the weighted mean error over rows for every alpha."""
        if self.sample is not None:
            check_count(self.sample, "sample of LeaveOneOut")
        return Scores(system.left_out_errors(alphas, self.sample, rng))


#: Names that ``selection=`` accepts.
CRITERIA: dict[str, type[Criterion]] = {"gcv": GCV, "kfold": KFold, "loo": LeaveOneOut}


def as_criterion(selection: Any) -> Criterion:
    """Turn a name into a criterion; pass objects through."""
    return from_alias(selection, CRITERIA, Criterion, "selection")
