"""Means of y by level, shrunk by the ratio of two variances, with a fold of rows left out.

With an effect for each level, :math:`y_i = \\mu + u_{l(i)} + e_i`, of variance :math:`\\sigma_u^2`
between levels and noise of variance :math:`\\sigma_e^2` within them, the best linear prediction of
y in a level of :math:`n_l` rows is

.. math:: e(l) = \\mu + \\frac{n_l}{n_l + \\sigma_e^2 / \\sigma_u^2} (\\bar y_l - \\mu).

The variances are those of the analysis of variance (Henderson, 1953), from three sums by level:
:math:`n_l`, :math:`s_l = \\sum y`, :math:`q_l = \\sum y^2`. The sums of a fold are subtracted from
those of all rows; what is left predicts y in that fold with slope 1 for any :math:`n_l`, so that
rows of the fit and new rows, which no fold leaves out, are encoded alike. New rows stay within the
values that rows of the fit have: a level of a single extreme row has the mean there.
"""

from __future__ import annotations

import numpy as np

from mercer.columns.column_statistics import LevelSums
from mercer.columns.level_encoders import TargetColumn
from mercer.columns.row_folds import DEALS
from mercer.contracts import Array


def target_means(column: LevelSums, deal: str, smooth: float | str) -> TargetColumn:
    """Return the shrunk means of y by level, of all rows and without each fold.

    Weights below 1 on average cannot be how often rows are there, and are scaled to an average
    of 1.

    Parameters
    ----------
    column : LevelSums
        The sums of y, and of its squares, by fold and level.
    deal : {"content", "number"}
        How rows are dealt to folds.
    smooth : float or "auto"
        The ratio of the variances, as a number of rows; "auto" estimates it.
    """
    sums = column.sums[DEALS.index(deal)]
    total = sums.sum(axis=0)
    weight = total[:, 1].sum()
    unit = max(1.0, column.rows / weight) if weight > 0 else 1.0
    if isinstance(smooth, str):
        noise, effects, prior = variance_components(unit * total)
    else:
        outputs = (total.shape[1] - 2) // 2
        noise, effects = np.full(outputs, float(smooth)), np.ones(outputs)
        prior = total[:, 2 : 2 + outputs].sum(axis=0) / max(weight, 1e-300)

    def shrunk(part: Array) -> tuple[Array, Array]:
        count, y = part[:, 1:2], part[:, 2 : 2 + len(prior)]
        known = unit * count * effects
        kept = np.divide(known, known + noise, out=np.zeros_like(known), where=known > 0)
        mean = np.divide(y, count, out=np.tile(prior, (len(y), 1)), where=count > 0)
        return prior + kept * (mean - prior), kept

    values, kept = shrunk(total)
    # A level whose rows are all in one fold has none left; rounding must not bring some back.
    rest = np.where(sums[..., 1:2] >= (1 - 1e-12) * total[:, 1:2], 0.0, total - sums)
    by_fold = np.stack([shrunk(part)[0] for part in rest])
    seen = by_fold[sums[..., 1] > 0]
    if len(seen):
        values = np.clip(values, seen.min(axis=0), seen.max(axis=0))
    share = float(total[:, 1] @ kept.mean(axis=1) / max(weight, 1e-300))
    return TargetColumn(column.levels, values, by_fold, prior, column.hashed, deal, share)


def noise_ratio(sums: Array) -> float:
    """Return the variance within levels by that between them; of several outputs, the smallest.

    It is the number of rows from which on the mean of a level says more of it than that of all.

    >>> noise_ratio(np.array([[2, 2, 2.0, 2.0], [2, 2, 0.0, 2.0]]))
    inf
    """
    noise, effects, _ = variance_components(sums)
    ratios = np.divide(noise, effects, out=np.full(len(noise), np.inf), where=effects > 0)
    return float(ratios.min())


def variance_components(sums: Array) -> tuple[Array, Array, Array]:
    """Return the variances within and between levels, and the mean of a level, each (k,).

    .. math:: \\sigma_e^2 = \\frac{\\sum_l (q_l - s_l^2 / n_l)}{n - L}, \\qquad
              \\sigma_u^2 = \\max\\Bigl(0, \\frac{\\sum_l n_l (\\bar y_l - \\bar y)^2
              - (L - 1) \\sigma_e^2}{n - \\sum_l n_l^2 / n}\\Bigr),

    and :math:`\\mu` the mean of levels, weighted by :math:`1 / (\\sigma_u^2 + \\sigma_e^2 / n_l)`.
    If every level has a single row, all of the variance counts as noise.

    >>> rng = np.random.default_rng(0)
    >>> level = np.repeat(np.arange(2000), 5)
    >>> y = 3 + 2 * rng.standard_normal(2000)[level] + rng.standard_normal(10_000)
    >>> n, s, q = (np.bincount(level, part) for part in (np.ones(10_000), y, y**2))
    >>> noise, effects, mean = variance_components(np.stack([n, n, s, q], axis=1))
    >>> [round(float(part[0]), 1) for part in (noise, effects, mean)]
    [1.0, 4.0, 3.0]
    """
    sums = sums[sums[:, 1] > 0]
    outputs = (sums.shape[1] - 2) // 2
    n, s, q = sums[:, 1:2], sums[:, 2 : 2 + outputs], sums[:, 2 + outputs :]
    weight, levels = float(n.sum()), len(n)
    if not levels:
        return np.ones(outputs), np.zeros(outputs), np.zeros(outputs)
    mean, level_mean = s.sum(axis=0) / weight, s / n
    within = q - n * level_mean**2
    within[within < 1e-14 * q] = 0.0  # rounding of a constant y within a level is no variance
    free = weight - levels
    between = (n * (level_mean - mean) ** 2).sum(axis=0)
    if free <= 0:
        return between / weight, np.zeros(outputs), mean
    noise = within.sum(axis=0) / free
    spread = weight - float((n**2).sum()) / weight
    effects = np.zeros(outputs)
    if levels > 1 and spread > 0:
        effects = np.maximum(0.0, (between - (levels - 1) * noise) / spread)
    total = n * effects + noise
    share = np.divide(n, total, out=np.broadcast_to(n, total.shape).copy(), where=total > 0)
    return noise, effects, (share * level_mean).sum(axis=0) / share.sum(axis=0)
