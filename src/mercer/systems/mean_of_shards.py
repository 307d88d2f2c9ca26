"""The ridge system of one shard, and the mean over all shards.

With ``phi`` the whitened functions, followed by a constant if an intercept is fitted,

.. math:: H_j = \\frac1{W_j} \\sum_{i \\in j} w_i \\varphi_i \\varphi_i' + \\lambda
          \\begin{pmatrix} I & \\\\ & 0 \\end{pmatrix}, \\qquad
          b_j = \\frac1{L_j} \\sum_{i \\in j} w_i \\varphi_i y_i',

where the second sum is over rows with a label, of total weight L_j. The system of all rows is
``H = sum_j (W_j / W) H_j`` and ``b = sum_j (L_j / L) b_j``: the constant is an ordinary coordinate
here, because shards are not centered by the mean of all rows. If some rows have no label, ``(m -
m_L) ybar`` is added to b, where m and m_L are the means of ``phi`` over all rows and over labelled
rows.

In rankings that only count pairs within shards, ``phi`` and y are centered by the mean of the
shard's rows (of each query), there is no constant, and the shares are those of pairs: ``W_j^2``
instead of W_j if there are no queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from mercer.bases import BasisTransformer
from mercer.bases.whitening import Whitener
from mercer.contracts import Array, Reading, Solution, Targets
from mercer.engines import count_numbers
from mercer.moments import Moments
from mercer.moments.by_fold import moments_of
from mercer.moments.queries import PartialMoments
from mercer.rows.rowset import Placed
from mercer.rows.shards import Shard
from mercer.validation import check_total_weight

#: If H has no Cholesky factor, eigenvalues below this, relative to the largest, are rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class ShardSide:
    """What a shard sends before the rounds: b_j and weights.

    ``model`` is the shard's own solution, where rounds start at their average, and ``mass`` the
    weight of its pairs, where those between shards do not count. ``sum_yy`` is the sum of y^2, for
    the residuals of all rows; None if some rows have no label.
    """

    weight: float
    label_weight: float
    b: Array
    model: Array | None = None
    mass: float | None = None
    sum_yy: Array | None = None  # (k,)


class ShardSystem:
    """``H_j v = b_j``: the system that a shard stores between rounds, H_j as its Cholesky factor.

    Parameters
    ----------
    moments : Moments
        The moments of the shard's rows.
    whitener : Whitener
        The whitener of the shared basis.
    alpha : float
        The penalty.
    intercept : bool
        Whether to fit an intercept.
    mass : float or None
        The weight of its pairs, if those between shards do not count.
    """

    def __init__(
        self,
        moments: Moments,
        whitener: Whitener,
        alpha: float,
        intercept: bool,
        mass: float | None = None,
    ) -> None:
        self.weight, self.label_weight = moments.weight, moments.target_weight
        self.mass = mass
        A = whitener.matrix(moments.gram)
        b = whitener.vectors(moments.cross)
        if intercept:
            edge = whitener.vectors(moments.sum_h)
            A = np.block([[A, edge[:, None]], [edge[None, :], np.full((1, 1), self.weight)]])
            b = np.vstack([b, moments.sum_y[None, :]])
        A /= self.weight or 1.0  # a shard without pairs to rank has no weight
        size = len(A) - intercept
        A[np.arange(size), np.arange(size)] += alpha
        self.b = b / (self.label_weight or 1.0)
        self.means: Array | None = None
        self._partial = moments.target_rows != moments.rows
        self.sum_yy = None if self._partial else moments.sum_yy
        if intercept:
            labelled = whitener.vectors(moments.target_sum_h) / (self.label_weight or 1.0)
            self.means = np.stack([edge / (self.weight or 1.0), labelled])
        factor, info = lapack.dpotrf(np.asfortranarray(A), lower=1, clean=1)
        self._factor: Array | None = factor if info == 0 else None
        if self._factor is None:
            # alpha is (nearly) 0: directions without data in the shard stay unchanged
            self._matrix = A
            values, vectors = np.linalg.eigh(A)
            kept = values > ROUNDING * max(values[-1], 0.0)
            self._root = vectors[:, kept] / np.sqrt(values[kept])

    def product(self, V: Array) -> Array:
        """Return ``H_j V``."""
        if self._factor is None:
            return np.asarray(self._matrix @ V)
        half = blas.dtrmm(1.0, self._factor, V, lower=1, trans_a=1)
        return np.asarray(blas.dtrmm(1.0, self._factor, half, lower=1))

    def solve(self, R: Array) -> Array:
        """Return ``H_j^-1 R``."""
        if self._factor is None:
            return np.asarray(self._root @ (self._root.T @ R))
        return np.asarray(lapack.dpotrs(self._factor, R, lower=1)[0])

    @property
    def model(self) -> Array:
        """The shard's own solution ``H_j^-1 b_j``."""
        right = self.b
        if self._partial and self.means is not None:
            right = _shifted(right, self.means)
        return self.solve(right)


def _shifted(b: Array, means: Array) -> Array:
    """Add ``(m - m_L) ybar`` to the right-hand side, whose last row is the mean of y."""
    return np.vstack([b[:-1] + np.outer(means[0] - means[1], b[-1]), b[-1:]])


class MeanOfShards:
    """``H = sum_j share_j H_j`` by products, with ``sum_j share_j H_j^-1`` as preconditioner.

    Subclasses define how the answers of the shards are combined.

    Parameters
    ----------
    held : Placed
        The system of every shard, held by that shard.
    sides : sequence of ShardSide
        What each shard has sent.
    shares : tuple of arrays
        The weight of each shard in H and in b; each sums to 1.

    Attributes
    ----------
    gradients : list of float
        The norm of each preconditioned gradient, relative to that of b: one per round.
    """

    offers = frozenset({"products"})
    mixed = False

    def __init__(
        self, held: Placed, sides: Sequence[ShardSide], shares: tuple[Array, Array]
    ) -> None:
        self._held, self._shares = held, shares[0]
        self._label_shares = shares[1]
        self.b = self._combined([side.b for side in sides], self._label_shares)
        models = [side.model for side in sides if side.model is not None]
        self.start = self._combined(models, self._label_shares) if models else self.zero
        self.gradients: list[float] = []

    @property
    def zero(self) -> Array:
        """The zero function."""
        return np.zeros_like(self.b)

    def _combined(self, parts: Sequence[Array], shares: Array) -> Array:
        raise TypeError(f"{type(self).__name__} does not define _combined()")

    def _ask(self, question: str, V: Array) -> list[Array]:
        """Return every shard's product or solve with V, in shard order."""
        return self._held.map(
            answer_of, question, V, record=question, to_shard=count_numbers(V), light=True
        )

    def product(self, V: Array, exact: bool = True) -> Array:
        """Return ``H V``."""
        raise TypeError(f"{type(self).__name__} does not define product()")

    def precondition(self, R: Array) -> Array:
        """Return the mean of ``H_j^-1 R``, for a gradient R."""
        raise TypeError(f"{type(self).__name__} does not define precondition()")

    def average(self) -> Array:
        """Return the average of the shards' own solutions."""
        return self._combined(self._held.map(model_of_system, record="models"), self._label_shares)

    def start_gradient(self) -> Array:
        """Return the gradient at the start of the rounds."""
        return self.product(self.start) - self.b if np.any(self.start) else -self.b

    def residual_square(self, solution: Solution, alpha: float) -> Array | None:
        """Return ``sum_i w_i (y_i - f(x_i))^2``, of shape (k,); None if it is not known."""
        return None

    def objective(self, g: Array, gradient: Array) -> float:
        """Return ``g'Hg / 2 - b'g``, from the gradient ``Hg - b``."""
        return float(np.sum(g * (gradient - self.b))) / 2

    def relative(self, gradient: Array) -> float:
        """Return the norm of a gradient, relative to the gradient at zero."""
        scale = float(np.linalg.norm(self.b))
        return float(np.linalg.norm(gradient)) / scale if scale else 0.0


class MeanSystem(MeanOfShards):
    """``H = sum_j (W_j / W) H_j`` in the coordinates of a basis shared by all shards."""

    def __init__(self, held: Placed, sides: Sequence[ShardSide], intercept: bool) -> None:
        self.weight = float(sum(side.weight for side in sides))
        label_weight = float(sum(side.label_weight for side in sides))
        super().__init__(held, sides, shares_of(sides))
        self._intercept = intercept
        squares = [side.sum_yy for side in sides if side.sum_yy is not None and side.mass is None]
        self._sum_yy = np.sum(squares, axis=0) if len(squares) == len(sides) else None
        if intercept and label_weight != self.weight:
            means = held.map(means_of, record="means")
            of_all, of_labelled = (
                self._combined([mean[at] for mean in means], share)
                for at, share in enumerate((self._shares, self._label_shares))
            )
            self.b = _shifted(self.b, np.stack([of_all, of_labelled]))

    def _combined(self, parts: Sequence[Array], shares: Array) -> Array:
        total = np.zeros_like(parts[0])
        for share, part in zip(shares, parts, strict=True):
            total += share * part
        return total

    def product(self, V: Array, exact: bool = True) -> Array:
        """Return the mean of ``H_j V``."""
        return self._combined(self._ask("product", V), self._shares)

    def residual_square(self, solution: Solution, alpha: float) -> Array | None:
        """Return ``sum_i w_i (y_i - f(x_i))^2``, of shape (k,); None if it is not known.

        ``2 b'g - g'Ag`` is the gain of the rounds plus the penalty, without the constant.
        """
        if self._sum_yy is None or solution.gain is None:
            return None
        v = solution.value[: len(solution.value) - self._intercept]
        left = self._sum_yy / self.weight - solution.gain - alpha * np.einsum("ij,ij->j", v, v)
        return np.asarray(self.weight * np.maximum(left, 0.0))

    def precondition(self, R: Array) -> Array:
        """Return the mean of ``H_j^-1 R``, for a gradient R."""
        self.gradients.append(self.relative(R))
        return self._combined(self._ask("solve", R), self._shares)


def shares_of(sides: Sequence[ShardSide]) -> tuple[Array, Array]:
    """Return the share of each shard in H and in b: by weight of rows, or of pairs within shards.

    >>> none = np.zeros((1, 1))
    >>> shares_of([ShardSide(1.0, 1.0, none), ShardSide(3.0, 0.0, none)])
    (array([0.25, 0.75]), array([1., 0.]))
    >>> shares_of([ShardSide(w, w, none, mass=w**2) for w in (1.0, 3.0)])[0]
    array([0.1, 0.9])
    """
    masses = np.array([side.mass for side in sides if side.mass is not None])
    if len(masses):
        if not masses.sum() > 0:
            raise ValueError(
                "ranking needs two rows of one query in one shard, with positive weights, but no "
                "shard has them: use fewer shards, pairs='all', or combine='sum'"
            )
        return masses / masses.sum(), masses / masses.sum()
    check_total_weight(sum(side.weight for side in sides))
    weights = np.array([side.weight for side in sides])
    labels = np.array([side.label_weight for side in sides])
    if not labels.sum() > 0:
        raise ValueError("no row has a label: at least one y must not be NaN")
    return weights / weights.sum(), labels / labels.sum()


def system_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    alpha: float,
    intercept: bool,
    within: bool = False,
) -> ShardSystem:
    """Task: return the system of a shard, which it stores between rounds.

    ``within`` only counts pairs of its own rows.
    """
    if within:
        with shard.naming():
            targets = targets.pairs_within(shard.source)
    (moments,) = moments_of(shard, targets, basis, reading)
    if isinstance(moments, PartialMoments):
        moments = moments.moments
    mass = targets.share(moments.weight) if within else None
    return ShardSystem(moments, basis.whitener(), alpha, intercept, mass)


def side_of(system: Any, with_model: bool) -> ShardSide:
    """Task: return what a shard sends before the rounds."""
    return ShardSide(
        system.weight,
        system.label_weight,
        system.b,
        system.model if with_model else None,
        system.mass,
        getattr(system, "sum_yy", None),
    )


def means_of(system: ShardSystem) -> Array:
    """Return the means (2, r) of phi over all rows of a shard, and over labelled ones: a task."""
    assert system.means is not None
    return system.means


def model_of_system(system: ShardSystem) -> Array:
    """Task: return the shard's own solution."""
    model: Array = system.model
    return model


def answer_of(system: object, question: str, V: Array) -> Array:
    """Task: return the shard's product or solve with V."""
    found: Array = getattr(system, question)(V)
    return found
