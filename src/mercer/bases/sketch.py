"""Random combinations of the kernel functions at all rows."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any, Self

import numpy as np

from mercer.bases.basis import tile_rows
from mercer.bases.landmarks import DEFAULT_SIZE
from mercer.bases.orthogonalized import CHOSEN, OrthogonalizedBasis
from mercer.bases.projections import (
    CosineProjection,
    GaussianProjection,
    HadamardProjection,
    Project,
    Projection,
    RademacherProjection,
)
from mercer.contracts import Array, Precision, RandomState, ReadableRows, Rows
from mercer.engines import Lanes
from mercer.kernels import Kernel
from mercer.kernels.bandwidth import SAMPLE
from mercer.kernels.kernel import dense
from mercer.rates import Exponents, fewest
from mercer.rates.krylov_rates import sketch_size
from mercer.sampling import uniform_indices
from mercer.storage.state import Numbers, Part, Sizes, State, check_state
from mercer.symmetric import symmetrize
from mercer.validation import check_choice, check_count

#: Names that ``kind=`` accepts.
KINDS: dict[str, type[Projection]] = {
    "gaussian": GaussianProjection,
    "rademacher": RademacherProjection,
    "hadamard": HadamardProjection,
    "dct": CosineProjection,
}
#: Rows of the kernel matrix sketched at a time for the Gram matrix.
BLOCK = 1024


class Sketch(OrthogonalizedBasis):
    """The randomized sketch ``h_j(x) = sum_l G_jl K(x_l, x)`` over all n rows, G random of (M, n).

    .. math:: \\Gamma = G K_{nn} G', \\qquad
              z(x)'z(x') = k(x)' G' (G K_{nn} G')^+ G\\, k(x'), \\qquad k(x) = (K(x_l, x))_l

    Every row contributes to every function, so fewer functions are needed than landmarks: M of the
    order of the effective dimension, up to logarithms, gives the rates of the exact kernel (Lin and
    Cevher, 2018, *Kernel Conjugate Gradient Methods with Random Projections*, example 3.1 and
    corollary 3.2; for orthogonal systems Yang, Pilanci and Wainwright, 2017). The price: all rows
    are stored, and a fit evaluates n^2 kernel values twice. They are evaluated in blocks and never
    stored all at once.

    Parameters
    ----------
    n_components : int, "theory" or None
        M, the number of functions, at most the number of rows (all of them: the exact kernel). None
        means sqrt(n) log(n), at least 100 and at most 2000: sqrt(n) bounds the effective dimension
        at the best alpha whenever the target is a function of the space (corollary 3.2 with zeta at
        least 1/2 and gamma at most 1), and the logarithm replaces those of the theory.
        "theory" is the size of corollary 3.2 of Lin and Cevher (2018), a power of n without
        constants, for exponents that the estimator estimates from the rows (:mod:`mercer.theory`);
        outside an estimator, the square root of n.
    kind : "hadamard", "dct", "gaussian" or "rademacher"
        How G is drawn: random signs and some rows of a Hadamard matrix (n padded to a power of two)
        or of the discrete cosine transform, which cost n log n per row; or independent normal
        variables or signs, which cost n M per row.
    kernel : str, Kernel or None
        The kernel if the basis is used outside an estimator (None: Gaussian). Inside an estimator,
        leave it None.
    random_state : int, Generator, RandomState or None
        Seed of the draw. Inside an estimator, None means the estimator's seed.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> features = Sketch(n_components=20, random_state=0).fit_transform(X)
    >>> bool(np.abs(features @ features.T - Gaussian()(X)).max() < 1e-4)
    True
    """

    local = True
    state = State(
        points_=Numbers("points columns", label="points"),
        projection_=Part(Projection, must="the projection must be a Projection object, got {kind}"),
        **CHOSEN,
    )
    _points = "points_"
    _project: Project

    def __init__(
        self,
        n_components: int | str | None = None,
        kind: str = "hadamard",
        kernel: str | Kernel | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.kernel = kernel
        self.random_state = random_state

    def wanted_size(self, n_rows: int) -> int:
        """Return M before any memory limit: ``n_components`` or the default, at most the rows."""
        default = min(DEFAULT_SIZE, max(100, ceil(sqrt(n_rows) * log(max(1, n_rows)))))
        return min(self._size_or(n_rows, default), n_rows)

    def theory_size(self, n_rows: int, exponents: Exponents) -> int:
        """Return ``n^(gamma/(2 zeta+gamma))``, at most n, with zeta = r.

        Lin and Cevher (2018), corollary 3.2, with its other cases.

        >>> Sketch().theory_size(1000, Exponents(0.5, 0.5))
        10
        """
        size = sketch_size(n_rows, zeta=exponents.r, gamma=exponents.gamma)
        return min(fewest(size), n_rows)

    def width(self, n_rows: int) -> int:
        """Return the number of rows, padded if the transform needs it."""
        return self._drawn_from.width(n_rows)

    def resident_bytes(self, n_rows: int, n_features: int, size: int, kernel: Kernel) -> int:
        """Return the bytes of the points, of the three copies that most kernels make, and of G."""
        copies = 1 if kernel.pairwise else 4
        matrix = self._drawn_from.resident_bytes(n_rows, size)
        return 8 * copies * n_rows * n_features + matrix

    @property
    def _drawn_from(self) -> type[Projection]:
        return KINDS[check_choice(self.kind, "kind", list(KINDS))]

    def fit_source(
        self,
        source: ReadableRows,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Self:
        """Store all rows, resolve the kernel on a sample, draw G, and sort its rows by pivots."""
        n_rows, size = source.n_rows, self.wanted_size(source.n_rows)
        self._warn_if_reduced(n_rows)
        self.indices_ = np.arange(n_rows)
        self.points_ = dense(self._taken(source, self.indices_))
        self.kernel_ = kernel.fitted(self.points_[uniform_indices(n_rows, SAMPLE, rng)])
        self.projection_ = self._drawn_from.draw(n_rows, size, rng)
        order, self.precision_ = self._factorize(self.gram(), precision, may_widen)
        self.projection_ = self.projection_.chosen(order)
        self.bind()
        return self

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if the points and the projection do not match."""
        super().check_restored(sizes)
        check_state(self.projection_, n=sizes["points"])
        check_count(self.size, "the number of functions")

    def bind(self) -> None:
        """Prepare K(., z), the orthogonalization, and the product with G'."""
        super().bind()
        self._project = self.projection_.bound(self.precision_)

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.projection_.shape[0]

    def evaluate(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``K(x, X_train) G'``, a few rows at a time."""
        n_rows, n_points = X.shape[0], len(self.points_)
        if out is None:
            out = np.empty((n_rows, self.size), dtype=self.precision_)
        step = tile_rows(self.projection_.width(n_points))
        K = np.empty((min(step, n_rows), n_points), dtype=self.precision_)
        for start in range(0, n_rows, step):
            rows = X[start : start + step]
            values = self._kernel_values(rows, K[: rows.shape[0]])
            self._project(values, out[start : start + step])
        return out

    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        """Return ``G'c`` and all rows."""
        return self.projection_.transposed(coefficients), self.points_

    def gram(self) -> Array:
        """Return ``G K G'`` in float64, from blocks of rows of K, on all cores."""
        points, n_rows = self.points_, len(self.points_)
        block, project = self.kernel_.against(points), self.projection_.bound("float64")
        with np.errstate(over="ignore", invalid="ignore"):  # checked later
            diagonal = self.kernel_.diag(points)
        step = tile_rows(self.projection_.width(n_rows))

        def fill(buffers: list[Array], tile: tuple[Array, Array]) -> None:
            rows, out = tile
            if not buffers:
                buffers.append(np.empty((min(step, BLOCK, n_rows), n_rows)))
            with np.errstate(over="ignore", invalid="ignore"):
                K = block(points[rows], buffers[0][: len(rows)])
                K[np.arange(len(rows)), rows] = diagonal[rows]  # exact, even if K has a kink
                project(K, out)

        gamma = np.zeros((self.size, self.size))
        for start in range(0, n_rows, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n_rows))
            H = np.empty((len(rows), self.size))
            tiles = [(rows[i : i + step], H[i : i + step]) for i in range(0, len(rows), step)]
            Lanes(list, None if len(tiles) > 1 else 1).run(tiles, fill)
            with np.errstate(over="ignore", invalid="ignore"):
                gamma += self.projection_.columns(rows) @ H
        symmetrize(gamma)
        return gamma

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_project", None)
        return state
