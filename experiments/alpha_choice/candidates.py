"""Ways to choose an alpha from what one fit tells about all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.alpha_choice.paths import Path
from experiments.scaffold import Array
from mercer.leaving_out.leave_one_out import FEW

#: Rows of the sampled leave-one-out.
SAMPLE = 2000


def lowest(scores: Array) -> int:
    """Return the place of the lowest score, of the largest alpha where several are equal."""
    finite = np.where(np.isfinite(scores), scores, np.inf)
    return int(np.flatnonzero(finite <= finite.min() * (1 + 1e-9))[-1])


def gcv(path: Path, factor: float = 1.0) -> Array:
    """Return GCV; a factor above 1 on the degrees of freedom makes it the modified one."""
    share = 1 - factor * path.freedom / path.rows
    safe = share > 1e-6
    return np.where(safe, path.left / np.where(safe, share, 1.0) ** 2, np.inf)


def robust_gcv(path: Path, robustness: float = 0.3) -> Array:
    """Return robust GCV (Lukas, 2006): ``GCV (gamma + (1 - gamma) trace(H^2) / n)``."""
    return gcv(path) * (robustness + (1 - robustness) * path.squared_freedom / path.rows)


def guarded(path: Path, bound: float = 0.9) -> int:
    """Return the best by GCV of those with no leverage above a bound."""
    return lowest(np.where(path.leverage.max(axis=0) <= bound, gcv(path), np.inf))


def sampled(errors: Array, number: int = SAMPLE) -> Array:
    """Return the mean over some rows."""
    if len(errors) <= number:
        return np.asarray(errors.mean(axis=0))
    chosen = np.random.default_rng(0).choice(len(errors), number, replace=False)
    return np.asarray(errors[chosen].mean(axis=0))


def replaced(path: Path, ratio: float = 1.3) -> int:
    """Return the best by GCV, or by sampled leave-one-out where that disagrees with GCV."""
    by_gcv, by_rows = gcv(path), sampled(path.left_out)
    at = lowest(by_gcv)
    return at if by_rows[at] <= ratio * by_gcv[at] else lowest(by_rows)


def one_standard_error(errors: Array, factor: float = 1.0) -> int:
    """Return the largest alpha whose error is that of the best up to so many standard errors."""
    at = lowest(errors.mean(axis=0))
    more = errors - errors[:, [at]]
    limit = factor * more.std(axis=0, ddof=1) / np.sqrt(len(errors))
    while at + 1 < errors.shape[1] and more[:, at + 1].mean() <= limit[at + 1]:
        at += 1
    return at


def trimmed(errors: Array, quantile: float = 0.99) -> Array:
    """Return the mean of errors that are cut at a quantile."""
    return np.asarray(np.minimum(errors, np.quantile(errors, quantile, axis=0)).mean(axis=0))


def elsewhere(path: Path, fewest: int = 30) -> Array:
    """Return the leave-one-out errors of rows that are no landmarks, if there are enough."""
    kept = ~path.landmark
    return path.left_out[kept] if kept.sum() >= fewest else path.left_out


def averaged(path: Path) -> Array:
    """Return a mean of errors with and without landmarks, as ``selection="auto"`` has it."""
    kept = min(0.5, FEW / path.rows)
    return np.asarray(kept * path.left_out + (1 - kept) * path.without)


def by_folds(folds: Array) -> int | None:
    """Return the best by folds, where there are any."""
    return None if np.isnan(folds).any() else lowest(folds.mean(axis=0))


#: How each candidate chooses a place on the path; None where it was not run.
CANDIDATES: dict[str, Callable[[Path], int | None]] = {
    "GCV": lambda path: lowest(gcv(path)),
    "modified GCV, factor 1.4": lambda path: lowest(gcv(path, 1.4)),
    "robust GCV, gamma 0.3": lambda path: lowest(robust_gcv(path)),
    "GCV, no leverage above 0.9": guarded,
    "GCV, or leave-one-out where 1.3 times as large": replaced,
    "5 folds": lambda path: by_folds(path.fewer_folds),
    "10 folds": lambda path: by_folds(path.folds),
    "leave-one-out, all rows": lambda path: lowest(path.left_out.mean(axis=0)),
    "leave-one-out, 2,000 rows": lambda path: lowest(sampled(path.left_out)),
    "leave-one-out, 300 rows": lambda path: lowest(sampled(path.left_out, 300)),
    "leave-one-out, one standard error": lambda path: one_standard_error(path.left_out),
    "leave-one-out, errors cut at 99 %": lambda path: lowest(trimmed(path.left_out)),
    "leave-one-out, rows that are no landmarks": lambda path: lowest(elsewhere(path).mean(axis=0)),
    "row and landmark out, all rows": lambda path: lowest(path.without.mean(axis=0)),
    "row and landmark out, one standard error": lambda path: one_standard_error(path.without),
    "row and landmark out, 2,000 rows": lambda path: lowest(sampled(path.without)),
    "auto": lambda path: lowest(sampled(averaged(path))),
}
#: The default of the estimators.
CHOSEN = "auto"
