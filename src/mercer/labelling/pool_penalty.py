"""The penalty of leverage scores by theory: lambda_q = lambda_* of Murata and Suzuki (2021).

.. math:: \\lambda_* = \\Big(\\frac{\\sigma^2 T}{n}\\Big)^{1/(2r+\\gamma)}
          + \\Big(\\frac{R^2 T}{n}\\Big)^{1/\\gamma} + \\lambda_N, \\qquad
          T = \\operatorname{tr}(\\Sigma^\\gamma)

(definition 4.2, up to constants) for n labels of a pool of N rows. The pool gives gamma and T; the
smoothness r, the noise and the radius R of the target are given, or come from a labelled pilot. All
are in units in which y has a standard deviation of one, as the two terms need a common unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.estimators.regressor import KernelRegressor
from mercer.kernels import as_kernel
from mercer.labelling.pool_scores import PoolDimension
from mercer.rates.labelling_rates import Labelling, labelling_penalty
from mercer.theory import PowerLaw
from mercer.theory.study import FEWEST
from mercer.validation import check_number

#: The largest gamma: the theory leaves out 1.
LARGEST = 0.99
#: Penalties of the curve that gamma is taken from.
ALPHAS = 40


@dataclass(frozen=True)
class TargetFacts:
    """Smoothness r, variance of the noise and radius R of a target with unit variance."""

    r: float = 0.5
    noise: float = 1.0
    radius: float = 1.0

    def penalty(self, pool: PoolDimension, budget: int) -> float:
        """Return lambda_* for ``budget`` labels of a pool.

        >>> from mercer.systems import Spectrum
        >>> s = np.sort(np.arange(1, 200.0) ** -2)
        >>> spectrum = Spectrum(s, np.eye(len(s)), np.zeros((len(s), 1)))
        >>> few = TargetFacts(0.5, 0.1).penalty(PoolDimension(spectrum), 100)
        >>> many = TargetFacts(0.5, 0.1).penalty(PoolDimension(spectrum), 1000)
        >>> bool(0 < many < few < 1)
        True
        """
        values = pool.spectrum.values[pool.spectrum.values > 0]
        if not len(values):
            return 1.0
        gamma = capacity(pool)
        problem = Labelling(
            self.r,
            gamma,
            noise=self.noise,
            trace=float(np.sum(values**gamma)),
            radius=self.radius,
            pool=float(pool.n_rows),
        )
        # Beyond the largest eigenvalue all rows have about the same score.
        return min(labelling_penalty(budget, problem), float(values[-1]))


def capacity(pool: PoolDimension) -> float:
    """Return gamma of a pool, from its effective dimension along the penalty."""
    values = pool.spectrum.values[pool.spectrum.values > 0]
    alphas = np.geomspace(values[-1], max(values[0], 1e-12 * values[-1]), ALPHAS)
    dimension = np.array([pool.effective_dimension(float(alpha)) for alpha in alphas])
    usable = (dimension >= 3) & (dimension <= 0.4 * len(values))
    law = PowerLaw.of(alphas[usable], dimension[usable])
    return float(np.clip(-law.exponent if law.known else LARGEST, 0.0, LARGEST))


def facts_for(labeller: Any, pilot: tuple[Any, Any] | None) -> TargetFacts:
    """Return what a labeller knows of the target: what it is given, or what a pilot says."""
    if pilot is None:
        return given_facts(labeller.r, labeller.noise, labeller.radius)
    kernel = clone(as_kernel(labeller.kernel))
    kernel.set_params(**dict.fromkeys(kernel.parameters_with("auto"), "median"))
    model = KernelRegressor(
        kernel, metric=None, scale=None, columns=labeller.columns, missing=labeller.missing
    )
    return facts_of_pilot(model.set_params(random_state=0), *pilot, labeller.r)


def given_facts(r: float | None, noise: float | None, radius: float | None) -> TargetFacts:
    """Return facts as given by the user; raise ValueError where one is missing or invalid."""
    missing = [name for name, v in (("r", r), ("noise", noise), ("radius", radius)) if v is None]
    if missing:
        raise ValueError(
            f"alpha='theory' needs {', '.join(missing)}: pass r=, noise= and radius= (for y of "
            f"unit variance), or labelled rows with fit(pool, pilot=(X, y))"
        )
    smooth = check_number(r, "r", above=0.0)
    if smooth > 1:
        raise ValueError(f"r must be in (0, 1], got {smooth:g}: a larger one is worth no more")
    return TargetFacts(
        smooth, check_number(noise, "noise", minimum=0.0), check_number(radius, "radius", above=0.0)
    )


def facts_of_pilot(model: Any, X: Any, y: Any, r: float | None) -> TargetFacts:
    """Return facts from a fit of an unfitted model to a labelled pilot.

    The noise is the leave-one-out error, an upper bound; R is the norm of the fit in the space of
    the kernel, which is that of the source condition for r = 1/2. r is estimated from at least 320
    rows, and is 1/2 for fewer.
    """
    labels = np.asarray(y, dtype=float)
    if labels.ndim != 1 or len(labels) < 10 or not np.std(labels) > 0:
        raise ValueError(
            f"a pilot needs at least 10 rows with labels that are numbers and differ, got y of "
            f"shape {labels.shape}"
        )
    scaled = (labels - labels.mean()) / labels.std()
    if r is None:
        r = 0.5
        if len(labels) >= FEWEST:
            study = model.plan(X, scaled, n_components=max(16, len(labels) // 8)).forecast.study
            r = study.r.value
    fitted = model.fit(X, scaled)
    noise = float(np.min(fitted.cv_results_["mean_squared_error"]))
    c = fitted.dual_coef_
    radius = float(np.sqrt(max(float(np.sum(c * fitted.basis_.penalty(c, exact=True))), 1e-12)))
    return TargetFacts(r, min(noise, 1.0), radius)
