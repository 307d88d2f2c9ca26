"""The models without each single row, for jackknife+.

.. math:: f_{-i}(x) = f(x) - \\frac{w_i}{W}\\, e_i \\,\\big(1 + g(x)' F g_i\\big), \\qquad
          e_i = \\frac{y_i - f(x_i)}{1 - \\ell_i}, \\qquad
          \\ell_i = \\frac{w_i}{W} \\big(1 + g_i' F g_i\\big)

in the eigencoordinates ``g = T'(h - m)`` of the moments, with ``F = diag(1 / (s + lambda))`` and
without the 1 if there is no intercept; for the full kernel from its inverse
(:mod:`mercer.leaving_out.fold_models_by_inverse`). n models of M coefficients each: for few rows.
"""

from __future__ import annotations

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Targets
from mercer.leaving_out.fold_models import FoldModels, Model
from mercer.leaving_out.fold_models_by_inverse import DualInverse
from mercer.moments import Pass
from mercer.moments.by_fold import share_functions
from mercer.rows.labels import checked_blocks
from mercer.rows.shards import Shard
from mercer.systems import ABSENT, KernelMatrixSystem, MomentSystem

#: The smallest ``1 - leverage``: the errors of a row that nothing else determines are unknown.
ROOM = 1e-8


def without_rows_dual(system: KernelMatrixSystem, model: Model) -> FoldModels | None:
    """Return the models of the full kernel without each row."""
    assert isinstance(model.alpha, float)
    inverse = DualInverse.of(system, model.alpha)
    if inverse is None:
        return None
    a, P = inverse.a, inverse.P
    diagonal = np.maximum(P.diagonal(), ROOM * P.diagonal().max())
    errors = np.where(system.rows_weight[:, None] > ABSENT, a / diagonal[:, None], 0.0)
    coefficients = a - P[:, :, None] * errors[:, None, :]  # (i, :, k): P is symmetric
    intercept = np.broadcast_to(model.intercept, errors.shape)
    if inverse.ones is not None:
        intercept = intercept - inverse.ones[:, None] * errors / inverse.ones.sum()
    return FoldModels(np.arange(len(a)), coefficients, np.asarray(intercept))


def without_rows(system: MomentSystem, model: Model, again: Pass) -> FoldModels:
    """Return the models of moments without each row, from a pass over the rows."""
    rows, targets = again.rows, again.targets
    functions = share_functions(rows, system.basis)
    parts = rows.map(values_of_rows, targets, functions, record="values")
    H, Y, weight = (rows.by_number(part) for part in zip(*parts, strict=True))
    spectrum = system.spectrum
    kept = spectrum.values > 0
    T, F = system.directions[:, kept], spectrum.filter(model.alpha)[kept]
    shift = system.mean_h @ T
    G = H @ T - shift
    fitted = G @ (F[:, None] * spectrum.beta[kept]) + system.mean_y
    share = weight / system.weight
    leverage = share * (np.square(G) @ F + system.intercept)
    errors = (Y - fitted) / np.maximum(1.0 - leverage, ROOM)[:, None]
    change = share[:, None] * errors  # (n, k)
    moved = G * F
    orthogonal = system.basis.coefficients(T @ moved.T)  # (M, n)
    coefficients = model.coefficients - orthogonal.T[:, :, None] * change[:, None, :]
    constant = float(system.intercept) - moved @ shift
    intercept = model.intercept - constant[:, None] * change
    return FoldModels(np.arange(len(Y)), coefficients, intercept)


def values_of_rows(
    shard: Shard, targets: Targets, basis: BasisTransformer
) -> tuple[Array, Array, Array]:
    """Task: return the summed functions, the targets and the weights of a shard's rows."""
    source = shard.source
    with shard.naming():
        ((block, Y),) = checked_blocks(source, targets, max(1, source.n_rows))
    weight = np.ones(len(Y)) if block.weight is None else block.weight
    return np.asarray(basis.orthogonalized(block.X), dtype=np.float64), Y, weight
