"""Kernel functions at M chosen points (Nystroem)."""

from __future__ import annotations

from typing import Self

import numpy as np

from mercer.bases.basis import AUTO
from mercer.bases.orthogonalized import CHOSEN, OrthogonalizedBasis
from mercer.contracts import Array, Penalty, Precision, RandomState, ReadableRows, Rows
from mercer.engines import Lanes
from mercer.kernels import Kernel
from mercer.kernels.bandwidth import SAMPLE
from mercer.kernels.kernel import dense
from mercer.rates import Exponents, fewest
from mercer.rates.nystroem_rates import THEOREM_11, shared_centers
from mercer.sampling import (
    BY_KERNEL,
    DICTIONARIES,
    chosen_rows,
    drawn_by_weight,
    kmeans_centers,
    pool_size,
    scores_of_all,
    uniform_indices,
)
from mercer.storage.state import Numbers, State
from mercer.validation import check_choice, check_count, check_finite, check_number

#: Entries of Gamma that a product holds at a time, per thread.
PENALTY_ENTRIES = 2**22
#: The default M; inside an estimator the plan may lower it to fit the memory limit.
DEFAULT_SIZE = 2000
#: Names that ``sampling=`` accepts.
SAMPLINGS = ["uniform", *BY_KERNEL, "kmeans"]


class Landmarks(OrthogonalizedBasis):
    """The Nystroem basis ``h_j(x) = K(z_j, x)``, with Gram matrix ``K(z_i, z_j)``.

    As a transformer its coordinates z(x) satisfy ``z(x)'z(x') = k_Z(x)' K_ZZ^+ k_Z(x')``, the best
    approximation of the kernel in the span of the landmarks (Williams and Seeger, 2001).

    Parameters
    ----------
    n_components : int, "auto", "theory" or None
        M, the number of landmarks. None means 2000, or fewer if there are fewer rows or the
        estimator's memory limit requires it. "auto", the default of estimators, grows M until more
        would hardly lower the error on left-out rows (:mod:`mercer.growth`). "theory" is the size
        of theorem 11 of Li, Liu and Wang (2023), a power of n without constants, for exponents that
        the estimator estimates (:mod:`mercer.theory`). Outside an estimator: 2000 and root n.
    sampling : "uniform", "leverage", "bless", "rpcholesky", "kmeans" or array of shape (M, d)
        How landmarks are chosen: rows drawn uniformly, rows drawn by approximate leverage scores
        (computed recursively or by BLESS), pivots of a randomly pivoted Cholesky factor, cluster
        centers, or the given points. All but "uniform" look at 20 candidate rows per landmark, at
        least 10,000 (for cluster centers 50 per landmark).
    kernel : str, Kernel or None
        The kernel if the basis is used outside an estimator (None: Gaussian). Inside an estimator,
        leave it None.
    random_state : int, Generator, RandomState or None
        Seed of the choice. Inside an estimator, None means the estimator's seed.
    alpha : float, "size" or None
        Of "leverage" and "bless": the penalty lambda of the scores ``(K (K + lambda n I)^-1)_ii``
        (Li, Liu and Wang, 2023, equation 4), on the scale of an estimator's alpha: n counts all
        rows, also if only candidates are scored. None means that of the estimator, as in the paper:
        where it is "auto", uniform landmarks choose an alpha, rows are scored and drawn at it, and
        alpha is chosen again with the landmarks drawn; averages, rounds and products, whose alpha a
        sample of rows chooses, fit at the alpha of the scores. "size" is a penalty suited to M,
        with an effective dimension of about ``M / (4 log M)``. It is also taken where there is no
        alpha: outside an estimator, and by solvers that steps regularize, for which Lin and Cevher
        (2018, remark 3.4) leave lambda open ("an appropriate pseudo regularization parameter").
    candidates : int, "all" or None
        Of "leverage" and "bless": how many rows are scored for each landmark, as in
        :class:`RandomFeatures`, or all rows. These are scored block by block, in their shards,
        through a dictionary made from 20 rows per landmark. None means 20, at least 10,000 in all.

    Notes
    -----
    In the theory, rows are drawn independently with probabilities proportional to their scores, and
    a row that is drawn again adds nothing to the span. Here every row is drawn at most once, so
    that M landmarks are M functions. Weights ``1 / p_i`` of landmarks would scale the functions and
    leave their span, the penalty and so the fit as they are: there are none.

    Examples
    --------
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> features = Landmarks(n_components=20, random_state=0).fit_transform(X)
    >>> from mercer.kernels import Gaussian
    >>> bool(np.abs(features @ features.T - Gaussian()(X)).max() < 1e-4)
    True
    """

    state = State(
        landmarks_=Numbers("points columns", label="landmarks"),
        **CHOSEN,
    )
    scratch = 0  # kernel values are written in place
    _points = "landmarks_"
    landmarks_: Array

    def __init__(
        self,
        n_components: int | str | None = None,
        sampling: str | Array = "uniform",
        kernel: str | Kernel | None = None,
        random_state: RandomState = None,
        alpha: float | str | None = None,
        candidates: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.sampling = sampling
        self.kernel = kernel
        self.random_state = random_state
        self.alpha = alpha
        self.candidates = candidates

    def wanted_size(self, n_rows: int) -> int:
        """Return M before any memory limit: ``n_components`` or the default, at most the rows."""
        if not isinstance(self.sampling, str):
            return len(self.sampling)
        size = DEFAULT_SIZE if self.grows else self._size_or(n_rows, DEFAULT_SIZE)
        return min(size, n_rows)

    def theory_size(self, n_rows: int, exponents: Exponents) -> int:
        """Return ``n^(alpha/(2r+gamma))``, or with gamma for alpha by leverage, at most n.

        Li, Liu and Wang (2023), theorem 11; all rows where it does not hold (``2r + gamma <
        alpha``).

        >>> Landmarks().theory_size(10_000, Exponents(0.5, 1.0)), Landmarks(
        ...     sampling="leverage"
        ... ).theory_size(1000, Exponents(0.5, 0.5))
        (100, 10)
        """
        if THEOREM_11.broken(exponents):
            return n_rows
        how = "leverage" if self._by_leverage else "uniform"
        return min(fewest(shared_centers(n_rows, **vars(exponents), sampling=how)), n_rows)

    @property
    def automatic_size(self) -> bool:
        """Whether neither M nor the landmarks are given."""
        return (self.n_components is None or self.grows) and isinstance(self.sampling, str)

    @property
    def grows(self) -> bool:
        """Whether an estimator grows M while errors on left-out rows fall."""
        auto = isinstance(self.n_components, str) and self.n_components == AUTO
        if auto and not (isinstance(self.sampling, str) and self.sampling == "uniform"):
            raise ValueError(
                "n_components='auto' of Landmarks needs sampling='uniform': use it, or a number"
            )
        return auto

    @property
    def scores_at_alpha(self) -> bool:
        """Whether landmarks are drawn by leverage scores at the penalty of a model."""
        return self._by_leverage and self.alpha is None

    @property
    def _by_leverage(self) -> bool:
        how = None if self.dual else self.sampling
        return isinstance(how, str) and how in DICTIONARIES

    def scored_at(self, alpha: Penalty | None) -> Self:
        """Return a copy that scores at this penalty; at the smallest, if outputs differ.

        >>> Landmarks(9, "leverage").scored_at(1e-3), Landmarks(9).scored_at(1e-3)
        (Landmarks(alpha=0.001, n_components=9, sampling='leverage'), Landmarks(n_components=9))
        """
        least = 0.0 if alpha is None else float(np.min(alpha))
        if not self.scores_at_alpha or least <= 0:
            return self
        return self._with(alpha=least)

    def how_scored(self, factor: float = 1.0) -> str:
        """Return by which scores landmarks were drawn; alpha is multiplied by a factor."""
        if not self._by_leverage:
            return ""
        if self.alpha is None or isinstance(self.alpha, str):
            return "drawn by leverage scores at a penalty suited to their number"
        return f"drawn by leverage scores at alpha={self.alpha * factor:.3g}"

    def uniform_sample(self, n_rows: int) -> int:
        """Return the number of landmarks if they are drawn uniformly, otherwise 0."""
        uniform = isinstance(self.sampling, str) and self.sampling == "uniform"
        return self.wanted_size(n_rows) if uniform and not self.dual else 0

    def fit_source(
        self,
        source: ReadableRows,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Self:
        """Choose landmarks from a source, resolve the kernel on them, and order them by pivots."""
        self._check_scores()
        size = self.wanted_size(source.n_rows)
        self.indices_ = None
        self._n_read = 0  # candidate rows read, besides the landmarks
        if isinstance(self.sampling, str):
            self._warn_if_reduced(source.n_rows)
        if not isinstance(self.sampling, str):
            points = self._given(source.n_features)
        elif self.sampling == "uniform":
            rows = uniform_indices(source.n_rows, size, rng)
            return self.fit_rows(source, rows, kernel, rng, precision, may_widen, for_products)
        elif self.sampling in BY_KERNEL and not kernel.pairwise:
            points, kernel = self._by_kernel(source, kernel, size, rng)
        else:
            # Fifty rows per cluster are as good as all rows.
            looked_at = uniform_indices(source.n_rows, 50 * size, rng)
            self._n_read = len(looked_at)
            pool = self._taken(source, looked_at)
            points = kmeans_centers(pool, size, rng)
        if kernel.pairwise:
            raise ValueError(
                "a precomputed kernel has no points to sample from, cluster or pass in: use "
                "Landmarks(sampling='uniform')"
            )
        if kernel.needs_rows:  # points may not be rows, which are what it is estimated from
            kernel = kernel.fitted(self._taken(source, uniform_indices(source.n_rows, SAMPLE, rng)))
        return self._order(points, kernel.fitted(points), precision, may_widen, for_products)

    def fit_rows(
        self,
        source: ReadableRows,
        indices: Array,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Self:
        """Take the rows at ``indices``, increasing, as landmarks, and order them by pivots."""
        self.indices_, self._n_read = indices, 0
        points = self._taken(source, indices)
        if kernel.pairwise:
            return self._order(dense(points)[:, indices], kernel, precision, may_widen)
        if kernel.needs_rows and len(indices) < min(SAMPLE, source.n_rows):  # too few of them
            kernel = kernel.fitted(self._taken(source, uniform_indices(source.n_rows, SAMPLE, rng)))
        return self._order(points, kernel.fitted(points), precision, may_widen, for_products)

    def _check_scores(self) -> None:
        """Raise an error if the parameters of leverage scores are invalid, or have no use."""
        known, scored = [*DICTIONARIES], self._by_leverage
        if isinstance(self.sampling, str):
            check_choice(self.sampling, "sampling", SAMPLINGS)
        for name in ("alpha", "candidates"):
            if getattr(self, name) is not None and not scored:
                got = repr(self.sampling) if isinstance(self.sampling, str) else "an array"
                raise ValueError(
                    f"{name} of Landmarks is for leverage scores, with sampling one of {known}, "
                    f"got {name}={getattr(self, name)!r} with sampling={got}: leave {name} None"
                )
        if isinstance(self.alpha, str):
            check_choice(self.alpha, "alpha of Landmarks", ["size"])
        elif self.alpha is not None:
            check_number(self.alpha, "alpha of Landmarks", above=0.0)
        if isinstance(self.candidates, str):
            if self.candidates != "all":
                raise ValueError(
                    f"candidates of Landmarks must be a number of rows per landmark, 'all' or "
                    f"None, got {self.candidates!r}"
                )
        elif self.candidates is not None:
            check_count(self.candidates, "candidates of Landmarks")

    def _by_kernel(
        self, source: ReadableRows, kernel: Kernel, size: int, rng: np.random.Generator
    ) -> tuple[Rows, Kernel]:
        """Choose rows with a look at the kernel; return them, and the kernel with its numbers."""
        looked_at = uniform_indices(source.n_rows, pool_size(size, self.candidates), rng)
        self._n_read = len(looked_at)
        pool = dense(self._taken(source, looked_at))
        sample = uniform_indices(len(pool), SAMPLE, rng) if kernel.needs_rows else slice(1)
        kernel = kernel.fitted(pool[sample])
        how, alpha = str(self.sampling), None if isinstance(self.alpha, str) else self.alpha
        if self.candidates == "all" and len(pool) < source.n_rows:
            scores = scores_of_all(how, kernel, pool, looked_at, source, size, rng, alpha)
            self.indices_ = drawn_by_weight(scores, size, rng)
            self._n_read += size
            return self._taken(source, self.indices_), kernel
        chosen = chosen_rows(how, kernel, pool, size, rng, alpha)
        self.indices_ = looked_at[chosen]
        return pool[chosen], kernel

    def _given(self, n_features: int) -> Array:
        points = np.array(self.sampling, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != n_features or len(points) == 0:
            raise ValueError(
                f"landmarks passed as sampling= must have shape (M, {n_features}), one column per "
                f"column of X, got {points.shape}"
            )
        check_finite(points, what="landmarks")
        return points

    def _order(
        self,
        points: Rows,
        kernel: Kernel,
        precision: Precision,
        may_widen: bool,
        for_products: bool = False,
    ) -> Self:
        """Sort landmarks by their pivots; drop those in the span of others."""
        points = points if kernel.accepts_sparse and not for_products else dense(points)
        if for_products:
            pivots = self._factorize_leading(
                kernel.diag(points), lambda pivot: kernel(points, points[pivot : pivot + 1])[:, 0]
            )
        else:
            pivots, precision = self._factorize(kernel(points), precision, may_widen)
        points = dense(points[pivots])
        if self.indices_ is not None:
            self.indices_ = self.indices_[pivots]
        if kernel.pairwise:
            points = points[:, pivots]
        return self._place(points, kernel, precision)

    def factorize(self, may_widen: bool) -> None:
        """Finish a ``for_products`` fit: factor Gamma and drop dependent functions."""
        if self.factor_.shape[1] < self.factor_.shape[0]:
            self._order(self.landmarks_, self.kernel_, self.precision_, may_widen)

    def _place(self, points: Rows, kernel: Kernel, precision: Precision) -> Self:
        self.kernel_ = kernel
        self.landmarks_ = points
        self.precision_ = precision
        self.bind()
        return self

    @property
    def size(self) -> int:
        """M, the number of landmarks."""
        return len(self.landmarks_)

    def evaluate(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``K(x, z_j)``."""
        return self._kernel_values(X, out)

    def gram(self) -> Array:
        """Return ``K(z_i, z_j)`` in float64."""
        return self.kernel_(self.landmarks_)

    def orthogonalized_gram(self, rows: slice) -> Array:
        """Return rows of the orthogonalized functions' Gram matrix, from ``rows.start`` on."""
        if self.factor_.shape[1] == self.size:
            return super().orthogonalized_gram(rows)
        return self._orthogonalization.gram_block(self._gram_rows(rows, rows.start), rows)

    def _gram_rows(self, rows: slice, first: int = 0) -> Array:
        if self.kernel_.pairwise:
            return np.array(self.landmarks_[rows, first:], dtype=np.float64)
        return self.kernel_(self.landmarks_[rows], self.landmarks_[first:])

    def _first_columns(self, number: int) -> Array:
        """Return the first columns of Gamma, (M, number)."""
        return self._gram_rows(slice(0, number)).T

    def penalty(self, c: Array, exact: bool = False) -> Array:
        """Return ``Gamma c`` without holding Gamma; in the precision of blocks unless exact."""
        out = np.empty(c.shape)
        narrow = np.asarray(c, dtype=np.float64 if exact else self.precision_)
        step = max(1, PENALTY_ENTRIES // max(1, self.size))

        def add(_: list[None], start: int) -> None:
            rows = slice(start, start + step)
            block = self._gram_rows(rows) if exact else self._block_of(rows)
            out[rows] = block @ narrow

        Lanes(list).run(range(0, self.size, step), add)
        return out

    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        """Return the coefficients and the landmarks."""
        return coefficients, self.landmarks_

    def fast_gram(self) -> Array:
        """Return ``K(z_i, z_j)`` in the precision of blocks."""
        return self._block_of(slice(0, self.size))

    def _block_of(self, rows: slice) -> Array:
        if self.kernel_.pairwise:
            return self.landmarks_[rows].astype(self.precision_)
        return self._block(self.landmarks_[rows])
