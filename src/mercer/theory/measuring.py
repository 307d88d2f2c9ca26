"""Measured errors: moments of several bases in folds, and means over training sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.bases import BasisTransformer, Landmarks, RandomFeatures
from mercer.contracts import Array, Reading, Targets
from mercer.kernels import Kernel
from mercer.moments import Moments, sum_moments
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.theory.functions import functions_for_sums
from mercer.theory.learning_surface import Point
from mercer.theory.sub_sums import FOLDS, Measured, total_of

#: Fewer functions, as shares of the most; random features are measured with the last two.
SHARES = (0.25, 0.5, 1.0)


def families(request: Request, n_features: int, most: int) -> list[tuple[str, int]]:
    """Return the bases to measure: landmarks, and random features where the kernel has them."""
    found = [("landmarks", max(4, int(share * most))) for share in SHARES]
    if has_random_features(request.kernel, n_features):
        found += [("random features", max(4, int(share * most))) for share in SHARES[1:]]
    return found


def has_random_features(kernel: Kernel, n_features: int) -> bool:
    """Return whether random features of a kernel can be drawn."""
    try:
        kernel.feature_map(2, n_features, np.random.default_rng(0))
    except ValueError:
        return False
    return True


def sums_by_fold(
    rows: RowSet,
    targets: Targets,
    request: Request,
    family: str,
    size: int,
    seed: int,
    rng: np.random.Generator,
) -> tuple[BasisTransformer, list[Moments], Reading]:
    """Return functions, and their moments in folds."""
    basis = Landmarks(size) if family == "landmarks" else RandomFeatures(size)
    fitted, whole = functions_for_sums(rows, replace(request, targets=targets), basis, rng)
    reading = replace(whole, folds=FOLDS)
    moments = sum_moments(rows, targets, fitted, reading, seed, record="moments by fold")
    return fitted, moments, reading


def points_of(measured: list[tuple[str, Measured, float]]) -> list[Point]:
    """Return means and standard errors over the training sets of one size."""
    groups: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    for family, one, error in measured:
        groups.setdefault((family, one.functions, one.folds), []).append((one.rows, error))
    means = {key: np.mean(group, axis=0) for key, group in groups.items()}
    # Deviations of few training sets are uncertain: take the mean of all, relative to the error.
    relative = [
        np.std(group, axis=0, ddof=1)[1] / means[key][1]
        for key, group in groups.items()
        if len(group) > 1 and means[key][1] > 0
    ]
    common = float(np.mean(relative)) if relative else 0.0
    return [
        Point(
            float(means[key][0]),
            key[1],
            float(means[key][1]),
            common * float(means[key][1]) / float(np.sqrt(len(group))),
            key[0],
        )
        for key, group in groups.items()
    ]


def alphas_by_rows(measured: list[Measured]) -> list[tuple[float, float]]:
    """Return the geometric mean of the chosen alphas for every number of rows."""
    groups: dict[int, list[Measured]] = {}
    for one in measured:
        groups.setdefault(one.folds, []).append(one)
    return [
        (
            float(np.mean([one.rows for one in group])),
            float(np.exp(np.mean(np.log([one.alpha for one in group])))),
        )
        for group in groups.values()
    ]


def spread_of(folds: list[Moments], request: Request) -> float:
    """Return the mean square of y around its mean, in the units of y."""
    total = total_of(folds)
    by_column: Array = total.sum_yy / total.target_weight - (total.sum_y / total.target_weight) ** 2
    return float(np.maximum(by_column, 0.0) @ request.units)
