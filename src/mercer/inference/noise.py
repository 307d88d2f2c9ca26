"""The variance of the noise in y, from the residuals of a fit.

.. math:: \\hat\\sigma^2 = \\frac{\\sum_i w_i (y_i - f(x_i))^2}{n - N(\\alpha) - 1}, \\qquad
          N(\\alpha) = \\operatorname{tr} A (A + \\alpha)^{-1}

(Wahba, 1983, *Bayesian confidence intervals for the cross-validated smoothing spline*, section 4);
the 1 is the intercept. It is the variance of a row of weight 1.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, Penalty

#: Below this share of the rows, what is left for residuals is rounding.
ROUNDING = 1e-9


def noise_variance(
    residual_square: Array, count: float, effective_dimension: Penalty, intercept: bool
) -> Array:
    """Return sigma^2 of each output, of shape (k,).

    Parameters
    ----------
    residual_square : array of shape (k,)
        ``sum_i w_i (y_i - f(x_i))^2``.
    count : float
        The number of rows.
    effective_dimension : float or array of shape (k,)
        ``N(alpha)``, for each alpha.
    intercept : bool
        Whether an intercept was fitted.

    Examples
    --------
    >>> noise_variance(np.array([8.0]), count=12.0, effective_dimension=3.0, intercept=True)
    array([1.])
    """
    most = float(np.max(effective_dimension))
    left = count - effective_dimension - float(intercept)
    if not np.all(left > ROUNDING * count):
        raise ValueError(
            f"the noise in y cannot be told from residuals: the fit uses {most:.6g} "
            f"effective parameters{' and an intercept' if intercept else ''} for {count:.6g} rows, "
            f"and so follows every row: use a larger alpha, alpha='auto', or more rows"
        )
    return np.asarray(residual_square / left)
