"""The interface of iterative solvers: a right-hand side, one product, and an inner product.

Solutions live in a Hilbert space. In whitened coordinates its inner product is u'v and A a matrix.
With the full kernel a vector a stands for the function ``sum_i a_i K(x_i, .)``, and

.. math:: \\langle a, a' \\rangle = a'Ka', \\qquad
          A a = D\\,C\\,K a, \\qquad b = D\\,C\\,y, \\qquad D = \\operatorname{diag}(w / W),

where C subtracts the weighted mean if there is an intercept. Both need one large product per step,
either in ``metric`` (K a) or in ``apply`` (A v).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, IteratedSystem


@dataclass(frozen=True)
class MatrixSystem:
    """``(A + alpha) v = b`` with A a matrix, in coordinates where the penalty is the identity.

    >>> system = MatrixSystem(np.array([[2.0]]), np.array([[3.0]]), alpha=1.0)
    >>> v = np.array([[1.0]])
    >>> system.apply(v, system.metric(v))
    array([[3.]])
    """

    A: Array
    b: Array
    alpha: float = 0.0

    def metric(self, V: Array) -> Array:
        """Return V: the inner product is u'v."""
        return V

    def apply(self, V: Array, GV: Array) -> Array:
        """Return ``(A + alpha) V``."""
        return np.asarray(self.A @ V + self.alpha * V)


class KernelSystem:
    """``(D C K + alpha) a = D C y``: coefficients of ``K(x_i, .)``, with inner product ``a'Ka``.

    Rows with weight 0 are excluded although K contains them, so that all folds can share one K.
    """

    def __init__(
        self, K: Array, Y: Array, weight: Array, intercept: bool, alpha: float = 0.0
    ) -> None:
        self.K = K
        self.metric_norm = float(K.trace())
        self.alpha = alpha
        self.intercept = intercept
        self.share = (weight / weight.sum())[:, None]
        self.mean_y = self.share.T @ Y if intercept else np.zeros((1, Y.shape[1]))
        centered = Y - self.mean_y
        # A constant column leaves only rounding: set it to zero.
        rounding = 4 * np.finfo(float).eps * np.abs(self.mean_y)
        constant = np.all((np.abs(centered) <= rounding) | (self.share == 0), axis=0)
        self.b = self.share * np.where(constant, 0.0, centered)

    def metric(self, V: Array) -> Array:
        """Return K V."""
        return np.asarray(self.K @ V)

    def apply(self, V: Array, GV: Array) -> Array:
        """Return ``D C K V + alpha V``."""
        if self.intercept:
            GV = GV - self.share.T @ GV
        return np.asarray(self.share * GV + self.alpha * V)

    def constant(self, GV: Array) -> Array:
        """Return the intercept for coefficients V, given K V; shape (k,)."""
        if not self.intercept:
            return np.zeros(GV.shape[1])
        return np.asarray((self.mean_y - self.share.T @ GV)[0])


def inner(U: Array, GV: Array) -> Array:
    """Return the inner products of columns, ``U'GV``; shape (k,)."""
    return np.asarray(np.einsum("ij,ij->j", U, GV))


def lengths(system: IteratedSystem, V: Array, GV: Array) -> Array:
    """Return the norms ``sqrt(v'Gv)`` of columns, 0 if below rounding; shape (k,).

    A kernel matrix can be singular: large coefficients may then represent a zero function, whose
    squared norm is pure rounding. ``metric_norm`` of the system, if it exists, bounds ``||G||``.
    """
    scale = np.abs(V).max(axis=0, initial=0.0)
    scale = np.where(scale > 0, scale, 1.0)  # avoid underflow for far points
    V, GV = V / scale, GV / scale
    squares = inner(V, GV)
    rounding = 4 * np.finfo(float).eps * getattr(system, "metric_norm", 0.0)
    return np.asarray(scale * np.sqrt(np.where(squares > rounding * inner(V, V), squares, 0.0)))
