"""Errors of rows or queries that are left out one at a time, for every alpha and form of a system.

A row of the full kernel takes its function with it, and the eigenvectors give the leverages of all
rows at no cost:

.. math:: \\ell_i(\\lambda) = \\sum_j \\frac{s_j}{s_j + \\lambda} U_{ij}^2 + \\frac{w_i}{W}

(without the last term if there is no intercept). Moments read the rows again.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array
from mercer.leaving_out.leave_one_out import (
    ROUNDING,
    LeftOut,
    leave_landmark_out,
    leave_one_out,
    left_out_squares,
)
from mercer.leaving_out.leave_query_out import leave_query_out, some_queries_out
from mercer.systems import KernelMatrixSystem, MomentSystem

#: From this many left-out rows a function, eigenvectors repay their cost.
REPAID = 2


def needs_vectors(system: MomentSystem, sample: int | None) -> bool:
    """Whether leaving out ``sample`` rows (None: all) needs eigenvectors, or repays them.

    Eigenvectors make the leverages of a row for all alphas one product. A tridiagonal form makes
    them a few, and is computed in a third of the time.
    """
    if system.again is None:
        return False
    n_rows = system.again.rows.n_rows
    rows = n_rows if sample is None else min(sample, n_rows)
    return system.again.targets.pairs is not None or rows > REPAID * system.whitener.size


def prepare_left_out(system: MomentSystem | KernelMatrixSystem, sample: int | None) -> None:
    """Compute eigenvectors if leaving out ``sample`` rows (None: all) needs or repays them."""
    if isinstance(system, MomentSystem) and needs_vectors(system, sample):
        system.spectrum  # noqa: B018 - computed and kept


def left_out_errors(
    system: MomentSystem | KernelMatrixSystem,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> Array:
    """Return the mean squared error of left-out rows or queries, for every alpha.

    From a kernel matrix all rows are left out, and ``sample`` is ignored.
    """
    if isinstance(system, KernelMatrixSystem):
        return _of_kernel_matrix(system, alphas)
    if system.again is None:
        raise ValueError(
            "leave-one-out needs a second pass over the rows, which are not available "
            "after partial_fit: use selection='gcv', or a number for alpha"
        )
    leave_out = leave_one_out if system.again.targets.pairs is None else leave_query_out
    return leave_out(system, system.again, alphas, sample, rng)


def left_out(system: MomentSystem | KernelMatrixSystem, alphas: Array, sample: int) -> LeftOut:
    """Return the errors of about ``sample`` rows, each left out with the function at it."""
    if system.cutoff:
        return LeftOut(None, note="a cut-off has no shortcut for leave-one-out")
    if isinstance(system, KernelMatrixSystem):
        rows = int(np.count_nonzero(system.present))
        return LeftOut(_of_kernel_matrix(system, alphas), rows, rows)
    if system.again is None:
        return LeftOut(None, note="the rows cannot be read again")
    leave_out = leave_landmark_out if system.again.targets.pairs is None else some_queries_out
    return leave_out(system, system.again, alphas, sample)


def _of_kernel_matrix(system: KernelMatrixSystem, alphas: Array) -> Array:
    spectrum = system.spectrum
    filters = np.stack([spectrum.filter(alpha) for alpha in alphas], axis=1)
    kept = spectrum.values[:, None] * filters  # s / (s + alpha)
    leverage = spectrum.vectors**2 @ kept
    if system.intercept:
        leverage += (system.rows_weight / system.weight)[:, None]
    centered = system.root[:, None] * (system.Y - system.mean_y)
    rotated = spectrum.vectors.T @ centered
    errors = np.zeros((len(system.Y), len(alphas), *system.units.shape[1:]))
    for output in range(len(system.units)):
        fitted = spectrum.vectors @ (kept * rotated[:, output : output + 1])
        residual = (centered[:, output : output + 1] - fitted) / system.root[:, None]
        unit = system.units[output : output + 1]
        errors += left_out_squares(residual[:, :, None], 1.0 - leverage, unit, ROUNDING["float64"])
    return np.asarray(np.tensordot(system.rows_weight, errors, 1) / system.rows_weight.sum())
