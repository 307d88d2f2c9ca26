"""Means of y by level, shrunk towards the mean of all rows, with a fold left out.

.. math:: e(l) = \\lambda_l \\bar y_l + (1 - \\lambda_l) \\bar y, \\qquad
          \\lambda_l = \\frac{n_l}{n_l + m_l},

where m is a number of rows, or the empirical Bayes estimate of Micci-Barreca (2001),
``m_l = (variance of y in l) / (variance of y)``, as in scikit-learn's ``TargetEncoder``. The sums
of a fold are subtracted from those of all rows.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array


def target_means(sums: Array, smooth: float | str) -> tuple[Array, Array, Array]:
    """Return means by level (L, k), those without each fold (folds, L, k), and the mean (k,).

    Parameters
    ----------
    sums : array of shape (folds, L, 2 + 2k)
        The weights of rows and of labelled rows, and the sums of y and of its squares.
    smooth : float or "auto"
        The number m of rows, or "auto" for the empirical Bayes estimate.
    """
    total = sums.sum(axis=0)
    values, prior = _means(total, smooth)
    by_fold = np.stack([_means(total - part, smooth)[0] for part in sums])
    return values, by_fold, prior


def _means(sums: Array, smooth: float | str) -> tuple[Array, Array]:
    outputs = (sums.shape[1] - 2) // 2
    count, y, square = sums[:, 1:2], sums[:, 2 : 2 + outputs], sums[:, 2 + outputs :]
    weight = max(float(count.sum()), 1e-300)
    prior = y.sum(axis=0) / weight
    mean = np.divide(y, count, out=np.zeros_like(y), where=count > 0)
    if smooth == "auto":
        spread = np.maximum(square.sum(axis=0) / weight - prior**2, 0.0)
        deviations = np.maximum(square - count * mean**2, 0.0)
        # Rounding of a constant y within a level is no variance.
        deviations[deviations < 1e-14 * square] = 0.0
        within = np.divide(deviations, count, out=np.zeros_like(y), where=count > 0)
        total = spread * count + within
        share = np.divide(spread * count, total, out=np.zeros_like(y), where=total > 0)
    else:
        share = np.divide(count, count + float(smooth), out=np.zeros_like(count), where=count > 0)
    return np.where(count > 0, share * mean + (1 - share) * prior, prior), prior
