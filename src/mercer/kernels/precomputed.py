"""A kernel whose values are computed by the user."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, BlockKernel, Precision, Rows
from mercer.kernels.kernel import Kernel, dense


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

    def check_state(self, n_features: int) -> None:
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
