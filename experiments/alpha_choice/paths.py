"""What one fit tells about all alphas: errors on test rows, and what criteria need to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.scaffold import Array
from experiments.scaffold.data import Split
from mercer import FullKernel, KernelClassifier, KernelRegressor, KFold, Landmarks
from mercer.kernels import Kernel
from mercer.leaving_out import fold_errors
from mercer.leaving_out.leave_one_out import RowFormula
from mercer.refit import system_of_fit
from mercer.request import Request
from mercer.selection import default_alphas
from mercer.systems import KernelMatrixSystem, MomentSystem

#: Folds that are kept; 5 folds are pairs of them.
FOLDS = 10
#: Test rows evaluated at a time.
BLOCK = 2000


@dataclass(frozen=True)
class Path:
    """A path of alphas: what a fit knows of each, and the errors on test rows."""

    alphas: Array
    left: Array  # (alphas,) mean squared error on the rows of the fit
    freedom: Array  # (alphas,) trace of the hat matrix H, the intercept included
    squared_freedom: Array  # (alphas,) trace of H^2
    leverage: Array  # (rows, alphas) diagonal of H
    left_out: Array  # (rows, alphas) squared error of a row that is left out
    folds: Array  # (folds, alphas) mean squared error on folds
    fewer_folds: Array  # (half as many folds, alphas)
    without: Array  # (rows, alphas) the same, where the landmark at the row is left out as well
    landmark: Array  # (rows,) whether the row is a landmark
    errors: Array  # (alphas,) root mean squared error on test rows
    wrong: Array  # (alphas,) share of test rows in a wrong class, nan for numbers

    @property
    def rows(self) -> int:
        """The number of rows of the fit."""
        return len(self.leverage)


def measure(
    part: Split, kernel: Kernel, size: int, seed: int, classes: bool, folds: bool = True
) -> Path:
    """Fit once with ``size`` landmarks, or the full kernel for 0, and look at all alphas.

    Folds, most of the work, are nan where they are not asked for.
    """
    basis = Landmarks(size) if size else FullKernel()
    kind = KernelClassifier if classes else KernelRegressor
    settings: dict[str, Any] = {"solver": "ridge", "dtype": "float64", "random_state": seed}
    if size and folds:  # a full kernel keeps no folds: they are fitted again below
        settings |= {"alphas": [1.0], "selection": KFold(FOLDS)}
    else:
        settings |= {"alpha": 1.0}
    model = kind(kernel, basis, **settings).fit(part.X, part.y)
    targets = model._targets
    system = system_of_fit(model.fit_, Request(targets))
    alphas = default_alphas(system)
    Y, Y_test = targets.encode(part.y, 0), targets.encode(part.y_test, 0)
    rows = matrix_rows if isinstance(system, KernelMatrixSystem) else moment_rows
    leverage, left_out, predicted = rows(system, model.basis_, alphas, part, Y)
    without = without_landmarks(system, alphas, part, Y, left_out) if size else left_out
    spectrum = system.spectrum
    shrunk = np.stack([spectrum.values * spectrum.filter(alpha) for alpha in alphas], axis=1)
    squared = np.sum((Y_test[:, None] - predicted) ** 2 @ system.units, axis=0)
    by_fold = np.full((2, 1, len(alphas)), np.nan)
    many, fewer = fold_paths(system, alphas, seed) if folds else by_fold
    return Path(
        alphas,
        np.mean(left_out * (1 - leverage) ** 2, axis=0),
        shrunk.sum(axis=0) + system.intercept,
        np.sum(shrunk**2, axis=0) + system.intercept,
        leverage,
        left_out,
        many,
        fewer,
        without,
        np.isin(np.arange(len(Y)), model.basis_.indices_) if size else np.zeros(len(Y), dtype=bool),
        np.sqrt(squared / len(Y_test)),
        wrong(predicted, Y_test) if classes else np.full(len(alphas), np.nan),
    )


@dataclass(frozen=True)
class EigenFormula:
    """Rows in the eigencoordinates of a system, where ``F = diag(1 / (s + alpha))``."""

    directions: Array  # T, of shape (M, r)
    shift: Array  # m'T
    filters: Array  # (r, alphas), 1 / (s + alpha)
    solutions: Array  # (r, alphas * k)

    @classmethod
    def of(cls, system: MomentSystem, alphas: Array) -> EigenFormula:
        """Compute it from the eigendecomposition of a system."""
        spectrum = system.spectrum
        kept = spectrum.values > 0
        filters = np.stack([spectrum.filter(alpha)[kept] for alpha in alphas], axis=1)
        solutions = np.hstack([f[:, None] * spectrum.beta[kept] for f in filters.T])
        T = system.directions[:, kept]
        return cls(T, system.mean_h @ T, filters, solutions)

    def coordinates(self, H: Array) -> Array:
        """Return the coordinates of rows of summed functions."""
        return np.asarray(H @ self.directions - self.shift)


def moment_rows(
    system: MomentSystem, basis: Landmarks, alphas: Array, part: Split, Y: Array
) -> tuple[Array, Array, Array]:
    """Return leverages and left-out errors of rows, and predictions (rows, alphas, k) for tests."""
    formula = EigenFormula.of(system, alphas)
    H = basis.orthogonalized(part.X)
    G = formula.coordinates(H)
    leverage = (G**2 @ formula.filters + system.intercept) / system.weight
    predicted = [
        formula.coordinates(basis.orthogonalized(part.X_test[at : at + BLOCK])) @ formula.solutions
        for at in range(0, len(part.X_test), BLOCK)
    ]
    left_out = RowFormula.of(system, alphas).errors(H, Y, np.ones(len(Y)), np.full(len(Y), -1))
    shape = (len(part.X_test), len(alphas), Y.shape[1])
    return leverage, left_out, np.vstack(predicted).reshape(shape) + system.mean_y


def without_landmarks(
    system: MomentSystem, alphas: Array, part: Split, Y: Array, left_out: Array
) -> Array:
    """Leave out the landmark at a row together with the row: its coefficient c_i must be 0.

    With ``t_i`` the row of the map from eigencoordinates to coefficients, the inverse
    ``F = diag(1 / (s + alpha))`` becomes ``F - F t t'F / t'Ft``.
    """
    formula, basis = EigenFormula.of(system, alphas), system.basis
    at = basis.indices_
    t = basis.coefficients(formula.directions)
    G = formula.coordinates(basis.orthogonalized(part.X[at]))
    across, own = (G * t) @ formula.filters, t**2 @ formula.filters
    leverage = (G**2 @ formula.filters - across**2 / own + system.intercept) / system.weight
    shape = (len(at), len(alphas), -1)
    fitted = (G @ formula.solutions).reshape(shape)
    fitted -= (across / own)[:, :, None] * (t @ formula.solutions).reshape(shape)
    residual = (Y[at] - system.mean_y)[:, None] - fitted
    found = left_out.copy()
    found[at] = (residual / np.maximum(1 - leverage, 1e-12)[:, :, None]) ** 2 @ system.units
    return found


def matrix_rows(
    system: KernelMatrixSystem, basis: FullKernel, alphas: Array, part: Split, Y: Array
) -> tuple[Array, Array, Array]:
    """Return the same for the full kernel."""
    spectrum, n = system.spectrum, len(Y)
    shrunk = np.stack([spectrum.values * spectrum.filter(alpha) for alpha in alphas], axis=1)
    leverage = spectrum.vectors**2 @ shrunk + system.intercept / n
    centered = Y - system.mean_y
    left_out = np.empty((n, len(alphas)))
    pieces = []
    for column in range(len(alphas)):
        hat = spectrum.vectors * shrunk[:, column]
        residual = centered - hat @ (spectrum.vectors.T @ centered)
        room = np.maximum(1 - leverage[:, column : column + 1], 1e-12)
        left_out[:, column] = (residual / room) ** 2 @ system.units
        pieces.append(system.coefficients(system.by_spectrum(alphas[column])))
    stacked = np.hstack([a for a, _ in pieces])
    constants = np.stack([constant for _, constant in pieces])
    predicted = basis.evaluate(part.X_test) @ stacked
    return leverage, left_out, predicted.reshape(len(part.X_test), len(alphas), -1) + constants


def fold_paths(
    system: MomentSystem | KernelMatrixSystem, alphas: Array, seed: int
) -> tuple[Array, Array]:
    """Return the errors on folds, and on half as many folds of twice the size."""
    rng = np.random.default_rng(seed)
    many = fold_errors(system, FOLDS, alphas, rng)
    if isinstance(system, MomentSystem):
        pairs = [a + b for a, b in zip(system.folds[::2], system.folds[1::2], strict=True)]
        system = MomentSystem(pairs, system.basis, system.intercept, system.units)
    return many, fold_errors(system, FOLDS // 2, alphas, rng)


def wrong(predicted: Array, Y: Array) -> Array:
    """Return the share of rows in a wrong class for every alpha."""
    if Y.shape[1] == 1:
        return np.asarray(np.mean(np.sign(predicted) != np.sign(Y)[:, None], axis=(0, 2)))
    return np.asarray(np.mean(predicted.argmax(axis=2) != Y.argmax(axis=1)[:, None], axis=0))
