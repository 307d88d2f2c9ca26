"""Random functions whose products average to the kernel."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from mercer.bases.basis import BLOCK, BasisTransformer, tile_rows
from mercer.bases.landmarks import DEFAULT_SIZE
from mercer.contracts import Array, Precision, RandomState, ReadableRows, Rows
from mercer.kernels import Kernel
from mercer.kernels.bandwidth import SAMPLE
from mercer.kernels.feature_maps import (
    Features,
    WeightedFeatures,
    chosen_features,
    has_gradient,
)
from mercer.rates import Exponents, fewest
from mercer.rates.feature_rates import features
from mercer.sampling import uniform_indices
from mercer.storage.state import State
from mercer.validation import (
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_number,
    check_same_length,
)

#: Names that ``sampling=`` accepts.
SAMPLINGS = ["plain", "labels", "leverage"]
#: Names that ``weighting=`` accepts, and the power of ``p / q`` in the weight of a feature that is
#: drawn with replacement; None draws without replacement, and weighs nothing.
WEIGHTINGS: dict[str, float | None] = {"none": None, "unbiased": 0.5, "paper": 1.0}
#: Integers with at most this many distinct values count as classes.
CLASSES = 20


class RandomFeatures(BasisTransformer):
    """Random features ``h_j(x) = psi(x, w_j) / sqrt(M)`` with ``E[psi(x, w) psi(z, w)] = K(x, z)``.

    Cosines for the Gaussian, Laplacian and Matern kernels (Rahimi and Recht, 2007), rectified units
    for the arc-cosine kernel, splines for the periodic spline. The functions do not depend on the
    rows (except for a bandwidth estimated from them), so shards only need to share a seed.

    Parameters
    ----------
    n_components : int, "theory" or None
        M, the number of features; None means 2000. "theory" is the size of theorem 2 of Li, Liu and
        Wang (2022), a power of n without constants, for exponents that the estimator estimates from
        the rows (:mod:`mercer.theory`); outside an estimator, the square root of n.
    orthogonal : bool
        Whether frequencies have orthogonal directions: the same mean, a lower variance.
    sampling : "plain", "labels" or "leverage"
        "plain" uses the functions as drawn. "labels" and "leverage" draw ``candidates`` times as
        many and select by a score: ``(sum_i w_i y_i psi(x_i))^2`` (Liu et al., 2020; Li, Liu and
        Wang, 2022), or the ridge leverage score, which needs no labels but the Gram matrix of all
        candidates.
    candidates : int
        Number of candidates per selected feature.
    weighting : "none", "unbiased" or "paper"
        "none" draws without replacement and uses the selected features unchanged. The others draw
        with replacement: "unbiased" multiplies psi_j by ``sqrt(p / q_j)``, so that products still
        average to the kernel, and "paper" by ``p / q_j`` (see the notes).
    alpha : float
        The penalty of the leverage scores.
    kernel : str, Kernel or None
        The kernel if the basis is used outside an estimator (None: Gaussian). Inside an estimator,
        leave it None.
    random_state : int, Generator, RandomState or None
        Seed of the draw. Inside an estimator, None means the estimator's seed.

    Notes
    -----
    ``sampling="labels", weighting="paper"`` is section 5.2 of Li, Liu and Wang (2022), *Towards
    Sharp Analysis for Distributed Learning with Random Features*, with its equation (14),

    .. math:: \\varphi(x) = \\frac1{\\sqrt M} \\Big[ \\frac{p(w_1)}{q(w_1)} \\psi(x, w_1), \\dots,
              \\frac{p(w_M)}{q(w_M)} \\psi(x, w_M) \\Big]', \\qquad
              \\frac{p(w_j)}{q(w_j)} = \\frac1{L q_j}, \\quad
              q_j = \\frac{(y'z_j)^2}{\\sum_{k=1}^L (y'z_k)^2},

    where M features are drawn from the L candidates by a multinomial distribution, candidate j with
    probability q_j. The text leaves room, and is read as follows. It defines q by the score over
    the sum of all L scores, but calls that ratio ``p / q`` where it draws, with M terms in the sum:
    here the definition holds. Its q has a total of 1/L, since z contains ``1 / sqrt(L)``: here p is
    1/L, the uniform law of the candidates, so that equal scores give plain features. Its X and y
    may be all rows or those of one machine: here all, since machines share the features, and
    "generating times for centralized learning and distributed learning are the same". With rows
    without labels, the y of its section 3.5 would be 0 for these, and for the others ``n*_j / n_j``
    times the label, by the share of labels in their shard. Here it is the label itself: scores do
    not depend on how rows are split, and where all shards have the same share of labels, they are
    proportional to those of the paper (for unequal shares these differ by a few percent). The
    paper has no intercept; an estimator that fits one scores centered y. Weights ``p / q`` do not
    keep the kernel, and the best features get the least; the others predict better in our
    experiments.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0]])
    >>> Z = RandomFeatures(20000, kernel=Gaussian(1.0), random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5)) < 0.02)
    True

    The same draw has the square of the "unbiased" weight in the weighting of the paper:

    >>> rows = np.linspace(0, 1, 20)
    >>> drawn = [
    ...     RandomFeatures(3, sampling="labels", weighting=name, random_state=0)
    ...     .fit(rows[:, None], np.sin(9 * rows) - np.sin(9 * rows).mean())
    ...     .features_
    ...     for name in ("unbiased", "paper")
    ... ]
    >>> bool(np.allclose(drawn[0].weights**2, drawn[1].weights))
    True
    """

    state = State(features_=Features("m"))

    _wanted: int | None = None  # features to select from candidates

    def __init__(
        self,
        n_components: int | str | None = None,
        orthogonal: bool = False,
        kernel: str | Kernel | None = None,
        random_state: RandomState = None,
        sampling: str = "plain",
        candidates: int = 5,
        weighting: str = "none",
        alpha: float = 1e-3,
    ) -> None:
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.sampling = sampling
        self.candidates = candidates
        self.weighting = weighting
        self.alpha = alpha
        self.kernel = kernel
        self.random_state = random_state

    def wanted_size(self, n_rows: int) -> int:
        """Return M before any memory limit."""
        return self._size_or(n_rows, DEFAULT_SIZE)

    def theory_size(self, n_rows: int, exponents: Exponents) -> int:
        """Return ``n^(((2r-1)_+ gamma + 1)/(2r+gamma))``, at most n.

        Li, Liu and Wang (2022), theorem 2: features that are drawn without a look at the rows.

        >>> RandomFeatures().theory_size(10_000, Exponents(0.5, 1.0))
        100
        """
        return min(fewest(features(n_rows, r=exponents.r, gamma=exponents.gamma)), n_rows)

    def fit_source(
        self,
        source: ReadableRows,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Self:
        """Resolve the kernel on a sample of rows and draw the functions."""
        check_flag(self.orthogonal, "orthogonal")
        check_choice(self.sampling, "sampling", SAMPLINGS)
        check_choice(self.weighting, "weighting", list(WEIGHTINGS))
        check_count(self.candidates, "candidates")
        check_number(self.alpha, "alpha of RandomFeatures", above=0.0)
        pilot = np.zeros((1, source.n_features))
        if kernel.needs_rows:
            pilot = self._taken(source, uniform_indices(source.n_rows, SAMPLE, rng))
        self.kernel_ = kernel.fitted(pilot)
        size = self.wanted_size(source.n_rows)
        self._wanted = None if self.sampling == "plain" else size
        drawn = size if self._wanted is None else size * self.candidates
        self.features_ = self.kernel_.feature_map(drawn, source.n_features, rng, self.orthogonal)
        if self._wanted is not None:
            chosen_features(self.features_, np.arange(1))  # raises if the kind does not support it
        self.precision_ = precision
        return self

    @property
    def has_candidates(self) -> bool:
        """Whether features still have to be selected from candidates."""
        return self._wanted is not None

    @property
    def needs_gram(self) -> bool:
        """Whether the selection needs the Gram matrix of the candidates."""
        return self.sampling == "leverage"

    def choose_features(self, moments: Any, rng: np.random.Generator) -> None:
        """Select features from the candidates by the moments of their values."""
        assert self._wanted is not None
        if self.sampling == "labels":
            scores = np.sum(moments.cross**2, axis=1)
        else:
            values, vectors = np.linalg.eigh(moments.gram / moments.weight)
            values = np.maximum(values, 0.0)
            scores = vectors**2 @ (values / (values + self.alpha))
        if not scores.sum() > 0:
            raise ValueError(
                "all candidates have a score of 0: y is constant, or there are no labels. Use "
                "sampling='plain' or 'leverage'"
            )
        share = scores / scores.sum()
        power = WEIGHTINGS[self.weighting]
        if power is None:
            positive = int(np.count_nonzero(share))
            chosen = rng.choice(
                len(share), size=min(self._wanted, positive), replace=False, p=share
            )
            self.features_ = chosen_features(self.features_, np.sort(chosen))
        else:
            chosen = np.sort(rng.choice(len(share), size=self._wanted, p=share))
            weights = (len(share) * share[chosen]) ** -power
            self.features_ = WeightedFeatures(chosen_features(self.features_, chosen), weights)
        self._wanted = None

    def fit(self, X: object, y: object = None) -> Self:
        """Draw the functions; ``sampling="labels"`` needs y (numbers or classes)."""
        if self.sampling == "labels" and y is None:
            raise ValueError("sampling='labels' needs y: fit(X, y)")
        self._labels = None if y is None else np.asarray(y)
        try:
            return super().fit(X, y)
        finally:
            del self._labels

    def _fit_transformer(
        self, source: ReadableRows, kernel: Kernel, rng: np.random.Generator
    ) -> None:
        super()._fit_transformer(source, kernel, rng)
        if not self.has_candidates:
            return
        gram = np.zeros((self.size, self.size) if self.needs_gram else (0, 0))
        columns = np.zeros((source.n_rows, 1))
        if self._labels is not None:
            columns = _columns(self._labels, source.n_rows, centered=self.weighting != "paper")
        cross = np.zeros((self.size, columns.shape[1]))
        for block in source.blocks(BLOCK):
            H = self.evaluate(block.X)
            if self.needs_gram:
                gram += H.T @ H
            cross += H.T @ columns[block.start : block.start + block.n_rows]
        self.choose_features(
            SimpleNamespace(gram=gram, cross=cross, weight=float(source.n_rows)), rng
        )

    @property
    def size(self) -> int:
        """M, the number of features (the columns of X for the linear kernel)."""
        return self.features_.size

    def evaluate(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``psi(x, w_j) / sqrt(M)``."""
        out = self.features_(X, self.precision_, out)
        out *= 1.0 / np.sqrt(self.size)
        return out

    @property
    def has_gradient(self) -> bool:
        """Whether the features have a gradient."""
        return has_gradient(self.features_)

    def gradients(self, coefficients: Array) -> Callable[[Rows], Array]:
        """Return the gradient of ``sum_j c_j psi(x, w_j) / sqrt(M)``, a few rows at a time."""
        if not self.has_gradient:
            raise ValueError(
                f"random features of the kernel {self.kernel_!r} have no gradient; try "
                f"basis='landmarks'"
            )
        c, step = coefficients / np.sqrt(self.size), tile_rows(self.size)

        def gradients(X: Rows) -> Array:
            out = np.empty((c.shape[1], *X.shape), dtype=self.precision_)
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                out[:, rows] = self.features_.gradient(X[rows], c, self.precision_)
            return out

        return gradients

    def gram(self) -> None:
        """Return None: the functions are treated as orthonormal."""
        return


def _columns(y: Array, n_rows: int, centered: bool) -> Array:
    """Return y as numeric columns: one column of +1 and -1 per class, or (centered) numbers."""
    check_same_length(n_rows, y, "y")
    if y.dtype.kind == "f" or (y.dtype.kind in "iu" and len(np.unique(y)) > CLASSES):
        values = y.reshape(len(y), -1).astype(np.float64)
        check_finite(values, what="y")
        return np.asarray(values - values.mean(axis=0) if centered else values)
    return np.where(y[:, None] == np.unique(y), 1.0, -1.0)
