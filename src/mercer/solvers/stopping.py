"""Stopping rules: the number of steps t regularizes an iteration ``v_t``."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from mercer.contracts import Array
from mercer.rates.krylov_rates import discrepancy
from mercer.validation import check_count, check_number, from_alias


class StoppingRule(BaseEstimator):
    """Chooses the number of steps from residuals or from held-out errors."""

    #: Number of folds that the rule needs.
    folds = 1
    #: The share of rows in the last fold; None means folds of equal size.
    held_out: float | None = None
    #: Stop the search after this many steps without improvement of the validation error.
    patience = 0
    #: Whether the number of steps is given, so that reaching it is a success.
    counts = False
    #: The penalty that steps of a known size are to act like; None if the rule has none.
    penalty: float | None = None

    @property
    def counts_rows(self) -> bool:
        """Whether the rule depends on the number of rows."""
        return False

    @property
    def label(self) -> str:
        """A short description, for reports."""
        raise TypeError(f"{type(self).__name__} does not define label")

    def check(self) -> None:
        """Validate the parameters."""

    def scaled(self, ratio: float) -> StoppingRule:
        """Return the rule that stops ``(ratio A, ratio b)`` where this one stops (A, b)."""
        return self

    def limit(self, max_steps: int) -> int:
        """Return the maximum number of steps."""
        return max_steps

    def satisfied(self, residuals: Array, rows: float) -> Array:
        """Return which columns may stop, given their residuals for targets of mean square 1."""
        return np.zeros(len(residuals), dtype=bool)


class StopAfter(StoppingRule):
    """Stop after a fixed number of steps.

    Parameters
    ----------
    steps : int
        The number of steps.
    """

    counts = True

    def __init__(self, steps: int = 10) -> None:
        self.steps = steps

    @property
    def label(self) -> str:
        """A short description, for reports."""
        return f"{self.steps} steps"

    def check(self) -> None:
        """Validate the parameters."""
        check_count(self.steps, "steps of StopAfter")

    def limit(self, max_steps: int) -> int:
        """Return the requested number of steps, regardless of ``max_steps``."""
        return check_count(self.steps, "steps of StopAfter")


class StopAtPenalty(StoppingRule):
    """Stop where gradient descent acts like a penalty.

    .. math:: T = \\lceil 1 / (\\eta \\alpha) \\rceil

    (Murata and Suzuki, 2021, *Gradient Descent in RKHS with Importance Labeling*, definition 4.2),
    with the step size eta of the solver; accelerated steps need only the square root of that.

    Parameters
    ----------
    alpha : float or None
        The penalty. None is for a model in an :class:`mercer.ActiveLearner` with
        ``same_alpha=True``, which fills in that of the labeller.
    """

    def __init__(self, alpha: float | None = None) -> None:
        self.alpha = alpha

    @property
    def label(self) -> str:
        """A short description, for reports."""
        return "the penalty of the labeller" if self.alpha is None else f"penalty {self.alpha:.3g}"

    @property
    def penalty(self) -> float:  # type: ignore[override]
        """The penalty, as a number."""
        if self.alpha is None:
            raise ValueError(
                "alpha of StopAtPenalty must be a number, got None: only an ActiveLearner with "
                "same_alpha=True can fill it in"
            )
        return check_number(self.alpha, "alpha of StopAtPenalty", above=0.0)

    def check(self) -> None:
        """Validate the parameters."""
        assert self.penalty > 0

    def scaled(self, ratio: float) -> StoppingRule:
        """Return the rule with its penalty multiplied by ``ratio``."""
        return StopAtPenalty(None if self.alpha is None else self.penalty * ratio)


class StopAtDiscrepancy(StoppingRule):
    """Stop when the residual reaches the noise level (the discrepancy principle).

    .. math:: \\|A v_t - b\\| \\le \\tau, \\qquad
              \\tau = n^{-(\\zeta + 1/2) / \\max(1, 2\\zeta + \\gamma)} \\, b^{\\zeta + 1/2}

    by default, with b of order ``log n`` if ``2 zeta + gamma <= 1`` and 1 otherwise (Lin and
    Cevher, 2018, *Kernel conjugate gradient methods with random projections*, equations 24 to 26,
    up to their constants: :func:`mercer.rates.krylov_rates.discrepancy`). Residuals are in units of
    the root mean square of y, as the paper's bound on E y^2 asks: of ``y - mean(y)`` if the model
    has an intercept, which is its standard deviation, and of y itself if not. With several outputs,
    each stops separately.

    Parameters
    ----------
    tau : float or None
        The residual to reach.
    zeta : float or "auto"
        Smoothness of the target: the exponent of the source condition. 1/2 means only that the
        target has a finite norm. "auto" estimates it from nested subsamples
        (:mod:`mercer.theory.study`), before the fit.
    gamma : float or "auto"
        Decay of the kernel's eigenvalues: the capacity exponent, in [0, 1]. "auto" estimates it
        from the effective dimension.
    """

    def __init__(
        self,
        tau: float | None = None,
        zeta: float | str = 0.5,
        gamma: float | str = 1.0,
    ) -> None:
        self.tau = tau
        self.zeta = zeta
        self.gamma = gamma

    @property
    def label(self) -> str:
        """A short description, for reports."""
        if self.tau is not None:
            return f"residual below {self.tau:g}"
        shown = [v if isinstance(v, str) else f"{v:g}" for v in (self.zeta, self.gamma)]
        return f"discrepancy rule for zeta={shown[0]}, gamma={shown[1]}"

    @property
    def open(self) -> bool:
        """Whether an exponent has to be estimated from the rows."""
        return self.tau is None and "auto" in (self.zeta, self.gamma)

    def known(self, zeta: float, gamma: float) -> StopAtDiscrepancy:
        """Return the rule with these exponents where they are open.

        >>> StopAtDiscrepancy(zeta="auto").known(0.7, 0.4)
        StopAtDiscrepancy(zeta=0.7)
        """
        return StopAtDiscrepancy(
            self.tau,
            zeta if self.zeta == "auto" else self.zeta,
            gamma if self.gamma == "auto" else self.gamma,
        )

    def check(self) -> None:
        """Validate the parameters."""
        if self.tau is not None:
            check_number(self.tau, "tau of StopAtDiscrepancy", above=0.0)
        if self.zeta != "auto":
            check_number(self.zeta, "zeta of StopAtDiscrepancy", minimum=0.0)
        if self.gamma != "auto":
            gamma = check_number(self.gamma, "gamma of StopAtDiscrepancy", minimum=0.0)
            if gamma > 1:
                raise ValueError(f"gamma of StopAtDiscrepancy must be at most 1, got {gamma}")

    def scaled(self, ratio: float) -> StoppingRule:
        """Return the rule with a given tau multiplied by ``ratio``."""
        tau = None if self.tau is None else self.tau * ratio
        return StopAtDiscrepancy(tau, self.zeta, self.gamma)

    @property
    def counts_rows(self) -> bool:
        """Whether tau follows from the number of rows."""
        return self.tau is None

    def threshold(self, rows: float) -> float:
        """Return tau for the given number of rows.

        >>> round(StopAtDiscrepancy(zeta=0.5, gamma=0.5).threshold(1000), 4)
        0.01
        """
        if self.tau is not None:
            return float(self.tau)
        if self.open:
            raise ValueError(
                "zeta and gamma of StopAtDiscrepancy are estimated by an estimator before its fit: "
                "pass numbers here"
            )
        return discrepancy(max(1.0, rows), zeta=float(self.zeta), gamma=float(self.gamma))

    def satisfied(self, residuals: Array, rows: float) -> Array:
        """Return which columns are at or below tau."""
        return np.asarray(residuals <= self.threshold(rows))


class StopOnHeldOut(StoppingRule):
    """Stop at the lowest error on held-out rows; then take as many steps on all rows.

    Parameters
    ----------
    fraction : float
        The share of rows to hold out, drawn at random.
    patience : int
        Number of steps without improvement after which the search ends.
    """

    folds = 2

    def __init__(self, fraction: float = 0.2, patience: int = 10) -> None:
        self.fraction = fraction
        self.patience = patience

    @property
    def label(self) -> str:
        """A short description, for reports."""
        return f"lowest error on {self.fraction:.0%} of the rows, held out"

    @property
    def held_out(self) -> float:  # type: ignore[override]
        """The share of held-out rows."""
        return float(self.fraction)

    def check(self) -> None:
        """Validate the parameters."""
        fraction = check_number(self.fraction, "fraction of StopOnHeldOut", above=0.0)
        if fraction >= 1:
            raise ValueError(f"fraction of StopOnHeldOut must be below 1, got {fraction}")
        check_count(self.patience, "patience of StopOnHeldOut")


class StopByFolds(StoppingRule):
    """Stop at the lowest K-fold error; then take as many steps on all rows.

    Parameters
    ----------
    n_splits : int
        K; rows are assigned to folds at random.
    patience : int
        Number of steps without improvement after which the search ends.
    """

    def __init__(self, n_splits: int = 5, patience: int = 10) -> None:
        self.n_splits = n_splits
        self.patience = patience

    @property
    def label(self) -> str:
        """A short description, for reports."""
        return f"lowest {self.n_splits}-fold cross-validation"

    @property
    def folds(self) -> int:  # type: ignore[override]
        """K."""
        return check_count(self.n_splits, "n_splits of StopByFolds", minimum=2)

    def check(self) -> None:
        """Validate the parameters."""
        check_count(self.n_splits, "n_splits of StopByFolds", minimum=2)
        check_count(self.patience, "patience of StopByFolds")


#: Names that ``stop=`` accepts.
RULES: dict[str, type[StoppingRule]] = {
    "steps": StopAfter,
    "discrepancy": StopAtDiscrepancy,
    "held_out": StopOnHeldOut,
    "kfold": StopByFolds,
    "penalty": StopAtPenalty,
}


def as_rule(stop: str | StoppingRule) -> StoppingRule:
    """Turn a name into a stopping rule; pass objects through."""
    return from_alias(stop, RULES, StoppingRule, "stop")
