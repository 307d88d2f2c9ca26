"""Kernels of the user: values that are computed already, or a function of two blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.contracts import Array, BlockKernel, Precision, Rows
from mercer.kernels.kernel import Kernel, dense
from mercer.storage.state import Sizes


class Precomputed(Kernel):
    """``K(x_i, x_j) = X[i, j]``: X holds kernel values instead of columns.

    Fit on the square matrix K(train, train); predict on K(test, train).

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Precomputed()(K)
    array([[2., 1.],
           [1., 2.]])
    """

    pairwise = True
    may_scale = False

    def check_restored(self, sizes: Sizes) -> None:
        """Do nothing: there are no parameters to check."""

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> X: the columns of X stand for the rows of Z."""

        def block(X: Rows, out: Array | None = None) -> Array:
            values = dense(X)
            if out is None:
                return np.array(values, dtype=precision)
            out[...] = values
            return out

        return block

    def diag(self, X: Rows) -> Array:
        """Return the diagonal of the square kernel matrix."""
        return np.array(np.diagonal(dense(X)))


#: Rows that a function is tried with.
TRIED = 6
#: Relative to the largest value: how far values may be from symmetric, and eigenvalues below 0.
ROUNDING = 1e-6
#: Rows of a square block whose diagonal is taken.
DIAGONAL = 64


class FunctionKernel(Kernel):
    """``K(X, Z) = function(X, Z)``: a function of two blocks of rows.

    ``kernel=function`` is short for ``kernel=FunctionKernel(function)``. The function is called
    with arrays (n, d) and (m, d) and returns values (n, m), so those of
    ``sklearn.metrics.pairwise`` will do. It is tried with a few rows first, and refused if values
    are not finite, symmetric and positive semi-definite there. It has no gradient and no random
    features, so no metric is learned, and ``scale="auto"`` leaves the columns as they are.

    A function ``k(x, z)`` of two rows, as ``KernelRidge`` of scikit-learn takes it, is made one of
    blocks by ``lambda X, Z: pairwise_kernels(X, Z, metric=k)``. Models are pickled as far as the
    function is, but :func:`mercer.save` refuses them: a file never holds code.

    Parameters
    ----------
    function : callable
        The function. Bind its parameters with ``functools.partial``.

    Examples
    --------
    >>> overlap = FunctionKernel(lambda X, Z: np.minimum(X[:, None], Z).sum(axis=2))
    >>> overlap(np.array([[0.2, 0.8], [0.5, 0.5]]))
    array([[1. , 0.7],
           [0.7, 1. ]])
    """

    scratch = 3
    has_units = True

    def __init__(self, function: Callable[[Array, Array], Any]) -> None:
        self.function = function

    def check_parts(self) -> None:
        """Raise TypeError if the function cannot be called."""
        if not callable(self.function):
            raise TypeError(
                f"function of FunctionKernel must be callable with two blocks of rows, got "
                f"{self.function!r}"
            )

    def fitted(self, X: Rows) -> FunctionKernel:
        """Try the function with a few rows."""
        self.check_parts()
        rows = dense(X[: min(TRIED, X.shape[0])])
        self._values(rows, rows[: max(1, len(rows) // 2)])  # not square
        values = self._values(rows, rows)
        name = _name(self.function)
        if not np.isfinite(values).all():
            raise ValueError(
                f"the kernel {name} must be finite, got {values[~np.isfinite(values)][0]}"
            )
        allowed = ROUNDING * float(np.abs(values).max())
        gap = float(np.abs(values - values.T).max())
        if gap > allowed:
            i, j = np.unravel_index(int(np.abs(values - values.T).argmax()), values.shape)
            raise ValueError(
                f"the kernel {name} must be symmetric, got K(x, z) = {values[i, j]:g} and "
                f"K(z, x) = {values[j, i]:g}: try (K(X, Z) + K(Z, X).T) / 2"
            )
        lowest = float(np.linalg.eigvalsh((values + values.T) / 2)[0])
        if lowest < -allowed:
            raise ValueError(
                f"the kernel {name} must be positive semi-definite, got the eigenvalue "
                f"{lowest:.3g} on {len(rows)} rows: a kernel is an inner product of features; for "
                f"a distance d, exp(-d^2) often is one, -d never"
            )
        return self

    def check_restored(self, sizes: Sizes) -> None:
        """Check the function."""
        self.check_parts()

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)

        def block(X: Rows, out: Array | None = None) -> Array:
            values = self._values(dense(X), points)
            if out is None:
                return np.array(values, dtype=precision)  # not the function's own array
            out[...] = values
            return out

        return block

    def diag(self, X: Rows) -> Array:
        """Return K(x, x), from square blocks of a few rows."""
        rows = dense(X)
        parts = [
            np.diagonal(self._values(rows[at : at + DIAGONAL], rows[at : at + DIAGONAL]))
            for at in range(0, len(rows), DIAGONAL)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _values(self, X: Array, Z: Array) -> Array:
        wanted, name = (len(X), len(Z)), _name(self.function)
        hint = (
            f"kernel={name} must be a function of blocks, (n, d) and (m, d) -> (n, m): for one of "
            f"two rows, lambda X, Z: sklearn.metrics.pairwise_kernels(X, Z, metric={name})"
        )
        try:
            values = np.asarray(self.function(X, Z), dtype=np.float64)
        except (ValueError, TypeError, IndexError) as error:
            error.add_note(hint)
            raise
        if values.shape != wanted:
            raise ValueError(f"{hint}; for {wanted[0]} and {wanted[1]} rows, got {values.shape}")
        return values


def _name(function: object) -> str:
    """Return a name for messages."""
    return str(getattr(function, "__name__", type(function).__name__))
