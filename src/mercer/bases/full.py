"""The exact kernel: one function per row."""

from __future__ import annotations

from typing import Self

import numpy as np

from mercer.bases.landmarks import Landmarks
from mercer.contracts import Array, Precision, ReadableRows
from mercer.engines import Lanes
from mercer.kernels import Kernel
from mercer.symmetric import symmetrize

#: Rows of the kernel matrix evaluated at a time by one thread.
TILE = 512


class FullKernel(Landmarks):
    """The exact kernel ``h_i(x) = K(x_i, x)`` at all n rows, solved in the dual form.

    .. math:: (K + \\lambda W \\operatorname{diag}(1/w))\\, a = y

    Memory grows as n^2 and time as n^3, so it is meant for up to about ten thousand rows.

    Parameters
    ----------
    kernel : str, Kernel or None
        The kernel if the basis is used outside an estimator (None: Gaussian). Inside an estimator,
        leave it None.

    Examples
    --------
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> from mercer.kernels import Sobolev
    >>> Z = FullKernel(kernel=Sobolev()).fit_transform(X)
    >>> bool(np.allclose(Z @ Z.T, Sobolev()(X)))
    True
    """

    dual = True
    local = True

    def __init__(self, kernel: str | Kernel | None = None) -> None:
        self.kernel = kernel

    n_components = None
    sampling = "uniform"
    random_state = None

    def wanted_size(self, n_rows: int) -> int:
        """Return the number of rows."""
        return n_rows

    def fit_source(
        self,
        source: ReadableRows,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Self:
        """Take all rows, in their order."""
        self.indices_ = np.arange(source.n_rows)
        points = self._taken(source, self.indices_)
        self.__dict__.pop("factor_", None)
        self.n_dropped_ = 0
        return self._place(points, kernel.fitted(points), "float64")

    def of_points(self, points: Array, kernel: Kernel) -> Self:
        """Use the given points, in their order, and a kernel with numeric parameters."""
        self.indices_ = None
        self.n_dropped_ = 0
        return self._place(points, kernel.fitted(points[:1]), "float64")

    def _fit_transformer(
        self, source: ReadableRows, kernel: Kernel, rng: np.random.Generator
    ) -> None:
        self.fit_source(source, kernel, rng, "float64")
        # A transformer whitens and drops dependent rows; the dual form does neither.
        self._order(self.landmarks_, self.kernel_, "float64", may_widen=False)

    def gram(self) -> Array:
        """Return ``K(x_i, x_j)`` in float64, evaluated on all cores."""
        n_rows = len(self.landmarks_)
        if self.kernel_.pairwise or n_rows <= TILE:
            return super().gram()
        K = np.empty((n_rows, n_rows))
        block = self.kernel_.against(self.landmarks_)

        def fill(_: list[None], start: int) -> None:
            rows = slice(start, start + TILE)
            with np.errstate(over="ignore", invalid="ignore"):  # checked later
                block(self.landmarks_[rows], K[rows])

        Lanes(list).run(range(0, n_rows, TILE), fill)
        symmetrize(K)
        np.fill_diagonal(K, self.kernel_.diag(self.landmarks_))
        return K

    def without_whitener(self) -> Self:
        """Return the functions themselves: the dual form has no whitener."""
        return self

    def sent(self, whitened: bool = False) -> Self:
        """Return the functions themselves: the dual form has no factor."""
        return self

    def resized(self, size: int) -> Self:
        """Refuse: the full kernel has one function a row."""
        raise TypeError("FullKernel has as many functions as rows")
