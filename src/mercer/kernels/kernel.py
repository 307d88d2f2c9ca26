"""The base class of kernels: scikit-learn parameters, and K(X, Z) on blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.feature_maps import FeatureMap
from mercer.storage.state import Sizes
from mercer.symmetric import symmetrize

if TYPE_CHECKING:
    from mercer.kernels.combined import Product, Sum


#: Values of parameters that are estimated from rows. "auto" is part of an estimator's search, and
#: the median distance elsewhere.
ESTIMATED = ("auto", "median")


def dense(X: Rows) -> Array:
    """Return rows as a dense float64 array."""
    return np.asarray(X.toarray() if hasattr(X, "tocsr") else X, dtype=np.float64)


class Kernel(BaseEstimator):
    """A positive semi-definite function K(x, z).

    Call a kernel on rows, ``kernel(X, Z)``; or fix Z once with ``kernel.against(Z, precision)`` and
    call the result on one block after another. Kernels add and multiply: ``Gaussian() + Linear()``.

    Subclasses define :meth:`against` and :meth:`diag`, and may define :meth:`fitted` (resolve
    parameters from data), :meth:`feature_map` (random features) and :meth:`gradient` (in x).
    Those that set ``has_units = True`` are of columns as they are, unless scaling is asked for.
    """

    #: Whether X holds kernel values instead of columns.
    pairwise = False

    # Flags are properties here, so that a kernel may compute them; one that knows them writes
    # ``bounded = True``.

    @property
    def bounded(self) -> bool:
        """Whether values are of order one, so that float32 blocks are accurate enough."""
        return False

    @property
    def scratch(self) -> int:
        """How many float64 blocks of (rows, M) an evaluation holds, besides its result."""
        return 2

    @property
    def accepts_sparse(self) -> bool:
        """Whether rows may be SciPy sparse matrices."""
        return False

    @property
    def shift_invariant(self) -> bool:
        """Whether K(x + s, z + s) = K(x, z): sparse rows are then not centered."""
        return False

    @property
    def has_gradient(self) -> bool:
        """Whether :meth:`gradient` is defined."""
        return False

    @property
    def nonnegative(self) -> bool:
        """Whether columns must not have negative values."""
        return False

    @property
    def may_scale(self) -> bool:
        """Whether columns may be scaled: not kernels of X in [0, 1], nor of kernel values."""
        return True

    @property
    def learns(self) -> str | None:
        """The metrics that it can learn: "full", only "diagonal", or None."""
        return None

    def check_parts(self) -> None:
        """Raise an error if a part is not a kernel, or a parameter suits no rows at all."""

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if a loaded model has parameters that are unresolved or out of range."""
        for name, value in self.get_params(deep=False).items():
            if value is None or isinstance(value, str):
                raise ValueError(f"{name} of {type(self).__name__} must be numbers, got {value!r}")
        self.fitted(np.zeros((1, sizes["d"])))

    @property
    def needs_rows(self) -> bool:
        """Whether a parameter still has to be estimated from data."""
        return any(isinstance(v, str) and v in ESTIMATED for v in self.get_params().values())

    def parameters_with(self, *values: str) -> list[str]:
        """Return the names of all bandwidths, of parts too, that have one of these values.

        >>> from mercer.kernels import Gaussian
        >>> (Gaussian("auto") + Gaussian(2.0)).parameters_with("auto")
        ['left__bandwidth']
        """
        return [
            name
            for name, value in self.get_params().items()
            if isinstance(value, str) and value in values
        ]

    @property
    def has_units(self) -> bool:
        """Whether a bandwidth is given as numbers, or all else is in the units of the columns."""
        return any(
            name.endswith("bandwidth") and not isinstance(value, str)
            for name, value in self.get_params().items()
        )

    def fitted(self, X: Rows) -> Kernel:
        """Return a copy whose parameters are valid numbers, estimated from X where needed."""
        self.check_parts()
        return self

    def _with(self, **parameters: Any) -> Self:
        """Return a copy with other parameters."""
        copy: Self = clone(self).set_params(**parameters)
        return copy

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return the function X -> K(X, Z), with the work on Z done once."""
        raise TypeError(f"{type(self).__name__} does not define against()")

    def diag(self, X: Rows) -> Array:
        """Return K(x, x) for every row."""
        raise TypeError(f"{type(self).__name__} does not define diag()")

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the function ``(X, C, weight=None)`` -> gradients of ``sum_j c_jo K(x, z_j)``.

        ``out[o, i] = sum_j weight[i, j] C[j, o] dK(x_i, z_j) / dx_i``, of shape (k, rows, d) in
        this precision; without weights, they are 1. At a kink, it is the mean of the one-sided
        gradients, so that of K(x, x) is left out. See ``has_gradient``.

        >>> from mercer.kernels import Gaussian
        >>> block = Gaussian(1.0).gradient(np.array([[0.0]]))
        >>> block(np.array([[1.0], [2.0]]), np.array([[1.0]])).round(3)
        array([[[-0.607],
                [-0.271]]])
        """
        raise ValueError(
            f"the kernel {self!r} has no gradient; try one of Gaussian, LaplacianL1, LaplacianL2, "
            f"Matern, Polynomial, Linear, Cosine, ArcCosine, or sums and products of those"
        )

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> FeatureMap:
        """Draw functions psi_1..psi_size with E[psi(x) psi(z)] = K(x, z)."""
        raise ValueError(
            f"the kernel {self!r} has no random features; try basis='landmarks', or one of "
            f"Gaussian, LaplacianL1, LaplacianL2, Matern, ArcCosine, Linear, Cosine, "
            f"PeriodicSpline, or sums and products of those"
        )

    def __call__(self, X: Rows, Z: Rows | None = None) -> Array:
        """Return K(X, Z) in float64; without Z, K(X, X), which is exactly symmetric."""
        fitted = self.fitted(X)
        with np.errstate(over="ignore", invalid="ignore"):  # checked later
            return fitted._gram(X) if Z is None else fitted.against(Z)(X)

    def _gram(self, X: Rows) -> Array:
        gram = self.against(X)(X)
        symmetrize(gram)
        np.fill_diagonal(gram, self.diag(X))
        return gram

    def __add__(self, other: object) -> Sum:
        from mercer.kernels import Sum, as_kernel

        return Sum(self, as_kernel(other))

    def __mul__(self, other: object) -> Product:
        from mercer.kernels import Product, as_kernel

        return Product(self, as_kernel(other))
