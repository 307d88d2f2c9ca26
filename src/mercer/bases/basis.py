"""The base class of bases: scikit-learn's transformer interface on ``evaluate`` and ``gram``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.bases.whitening import Whitener
from mercer.contracts import Array, Penalty, Precision, RandomState, ReadableRows, Rows
from mercer.kernels import Kernel, as_kernel
from mercer.rates import Exponents
from mercer.rows import ArraySource
from mercer.storage.state import PRECISION, Part, State
from mercer.validation import check_count, check_finite

#: ``n_components`` of a size by a theorem, and the exponents that hold for every bounded kernel and
#: every target of finite norm.
THEORY, WORST_CASE = "theory", Exponents(r=0.5, gamma=1.0)
#: ``n_components`` of a size that an estimator grows.
AUTO = "auto"
#: Rows per block in ``transform``.
BLOCK = 2048
#: Kernel values held at a time when a row has more of them than functions.
TILE = 2**20


def tile_rows(width: int) -> int:
    """Return how many rows, of ``width`` kernel values each, to evaluate at a time.

    At least 16: the points are read again for every tile.
    """
    return max(16, TILE // max(1, width))


def as_generator(random_state: Any) -> np.random.Generator:
    """Convert a scikit-learn ``random_state`` to a Generator without changing global state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if random_state is np.random:  # scikit-learn's global state, which clones cannot keep
        raise ValueError(
            "random_state must be None, an int, a Generator or a RandomState, got the module "
            "numpy.random: use None, or np.random.default_rng()"
        )
    check_random_state(random_state)  # raises scikit-learn's error for an invalid seed
    return np.random.default_rng(int(random_state))


class BasisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Functions ``h_1..h_M``; as a transformer, coordinates z(x) with ``z(x)'z(x') ~ K(x, x')``.

    Inside an estimator the estimator's kernel is used; otherwise ``kernel``.
    """

    #: Whether the dual problem is solved, with one coefficient per row.
    dual = False
    #: Whether the functions depend on all rows, so that shards cannot share them.
    local = False
    #: Whether z(x)'z(x') is the kernel projected on the span of the functions, so that what they
    #: miss of a row, ``K(x, x) - z(x)'z(x)``, is known.
    projects = False
    #: The attributes that define the fitted functions: all that a model file stores.
    state: ClassVar[Collection[str]] = State(
        kernel_=Part(Kernel, must="the kernel must be a Kernel, got {kind}"),
        precision_=PRECISION,
    )
    #: Whether directions that features are drawn along are orthogonal.
    orthogonal = False
    #: Blocks of (rows, M) that an evaluation holds, besides what the kernel needs.
    scratch = 1
    #: M, if it is a parameter.
    n_components: int | str | None = None
    kernel: str | Kernel | None
    random_state: RandomState
    kernel_: Kernel
    precision_: Precision
    #: Which rows of the fit the points are, if they are rows of it.
    indices_: Array | None = None
    _n_read = 0  # candidate rows read, besides those

    def fit_source(
        self,
        source: ReadableRows,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Self:
        """Choose the functions from the rows of a source.

        ``precision`` is that of the blocks. With ``may_widen``, float32 becomes float64 if the
        functions are too similar for float32; ``precision_`` is the one in use. ``for_products``
        means that no whitener is needed, so M x M matrices can be skipped.
        """
        raise TypeError(f"{type(self).__name__} does not define fit_source()")

    @staticmethod
    def _taken(source: ReadableRows, indices: Array) -> Rows:
        """Return rows of a source; raise ValueError with the row number if one is not finite."""
        rows = source.take(indices)
        try:
            check_finite(rows, rows=indices, names=source.feature_names)
        except ValueError:
            for block in source.blocks(
                BLOCK
            ):  # report the first such row of all, not of the sample
                check_finite(block.X, start=block.start, names=source.feature_names)
            raise
        return rows

    @property
    def size(self) -> int:
        """M, the number of functions."""
        raise TypeError(f"{type(self).__name__} does not define size")

    @property
    def kept_points(self) -> Array | None:
        """The points that define the functions; None if none do."""
        return None

    def wanted_size(self, n_rows: int) -> int:
        """M before any limit, for a fit to ``n_rows`` rows."""
        raise TypeError(f"{type(self).__name__} does not define wanted_size()")

    @property
    def automatic_size(self) -> bool:
        """Whether M was left open, so that the plan may lower it."""
        return self.n_components is None

    @property
    def grows(self) -> bool:
        """Whether an estimator grows M while errors on left-out rows fall."""
        return False

    @property
    def by_theory(self) -> bool:
        """Whether M is the fewest functions that a theorem asks for."""
        return isinstance(self.n_components, str) and self.n_components == THEORY

    def theory_size(self, n_rows: int, exponents: Exponents) -> int:
        """Return the fewest functions that a theorem asks for, at most the rows."""
        raise ValueError(f"no theorem says how many functions {type(self).__name__} needs")

    def _size_or(self, n_rows: int, default: int) -> int:
        """Return ``n_components``, or the default if it is None.

        Outside an estimator, which estimates exponents, a theorem's size is that of the worst case.
        """
        size = self.n_components
        if size is None:
            return default
        if self.by_theory:
            return self.theory_size(n_rows, WORST_CASE)
        if isinstance(size, str):
            raise ValueError(
                f"n_components of {type(self).__name__} must be a number, 'theory' or None, got "
                f"{size!r}"
            )
        return check_count(size, f"n_components of {type(self).__name__}")

    def resized(self, size: int) -> Self:
        """Return a copy that asks for ``size`` functions."""
        return self._with(n_components=size)

    def _with(self, **parameters: Any) -> Self:
        """Return an unfitted copy with other parameters."""
        copy: Self = clone(self).set_params(**parameters)
        return copy

    @property
    def scores_at_alpha(self) -> bool:
        """Whether functions are drawn by scores at the penalty of a model, to be known first."""
        return False

    def scored_at(self, alpha: Penalty | None) -> Self:
        """Return a copy that scores at this penalty, if there is one and its scores follow it."""
        return self

    @property
    def lost_to_float32(self) -> float:
        """The squared norms of what was dropped because only float64 tells it from the rest."""
        return 0.0

    def uniform_sample(self, n_rows: int) -> int:
        """Return how many uniformly drawn rows define the functions; 0 if none do."""
        return 0

    def width(self, n_rows: int) -> int:
        """Return how many kernel values the evaluation of one row holds at a time.

        If that is more than M, only a few rows are evaluated at a time (:func:`tile_rows`).
        """
        return self.wanted_size(n_rows)

    def resident_bytes(self, n_rows: int, n_features: int, size: int, kernel: Kernel) -> int:
        """Return the bytes that a basis fitted with M = ``size`` keeps for all rows."""
        return 0

    def evaluate(self, X: Rows, out: Array | None = None) -> Array:
        """Return h(x) for every row of X: shape (rows, M)."""
        raise TypeError(f"{type(self).__name__} does not define evaluate()")

    def gram(self) -> Array | None:
        """Return the Gram matrix Gamma in float64, or None if it is the identity."""
        raise TypeError(f"{type(self).__name__} does not define gram()")

    # Sums over rows may use other functions with the same span; by default they use h itself.

    def orthogonalized(self, X: Rows, out: Array | None = None) -> Array:
        """Return the values of the functions that the moments sum."""
        return self.evaluate(X, out)

    def whitener(self) -> Whitener:
        """Return the whitener of the orthogonalized functions."""
        return Whitener(None, self.size)

    def coefficients(self, orthogonalized: Array) -> Array:
        """Return the coefficients of h, given those of the orthogonalized functions."""
        return orthogonalized

    def vectors(self, t: Array) -> Array:
        """Return the sums of the orthogonalized functions, given the sums t of h."""
        return t

    def orthogonalized_gram(self, rows: slice) -> Array:
        """Return rows of the Gram matrix of the orthogonalized functions, in float64.

        Only columns from ``rows.start`` on, because the matrix is symmetric.
        """
        return np.eye(len(range(*rows.indices(self.size))), self.size - rows.start)

    def penalty(self, c: Array, exact: bool = False) -> Array:
        """Return ``Gamma c``; in the precision of blocks, unless ``exact``."""
        return c

    def fast_gram(self) -> Array | None:
        """Return Gamma in the precision of blocks, or None if ``penalty`` is as fast."""
        return None

    def prediction(
        self, coefficients: Array, precision: Precision | None = None
    ) -> tuple[Callable[[Rows, Array], Array], Array, int]:
        """Return ``evaluate(X, out)``, coefficients (width, k) and the width, for prediction.

        Their product is ``h(x)'c``; functions other than h may give it faster. ``precision`` is
        that of ``out``: ``precision_``, or float32 if :meth:`narrow_noise` is finite.
        """
        return self.evaluate, coefficients, self.size

    def narrow_noise(self, coefficients: Array) -> float:
        """Return the usual error of a prediction from values in float32; infinite if it cannot."""
        return np.inf

    @property
    def has_gradient(self) -> bool:
        """Whether :meth:`gradients` is defined for the functions of this fit."""
        return False

    def gradients(self, coefficients: Array) -> Callable[[Rows], Array]:
        """Return the function X -> gradients of ``f_o(x) = h(x)'c_o`` at rows, (k, rows, d).

        ``coefficients`` are those of h, of shape (M, k). The result has the precision of blocks.

        >>> from mercer.bases import FullKernel
        >>> basis = FullKernel(kernel="linear").fit(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> slope = basis.gradients(np.array([[1.0], [1.0]]))
        >>> slope(np.zeros((1, 2)))
        array([[[4., 6.]]])
        """
        raise ValueError(f"{type(self).__name__} has no gradients; try Landmarks()")

    def without_whitener(self) -> Self:
        """Return the same functions without the whitener, which is enough for sums."""
        return self

    def sent(self, whitened: bool = False) -> Self:
        """Return the same functions as they are sent to shards; what is cheap is made again there.

        ``whitened`` keeps the whitener, for shards that solve.
        """
        return self if whitened else self.without_whitener()

    def digest(self) -> int:
        """Return a number that differs, if what was made again after sending differs."""
        return 0

    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        """Return f as a sum of kernel functions: coefficients (p, k) and points (p, d)."""
        raise ValueError(
            f"{type(self).__name__} is not defined by points: shards can share it, "
            f"so leave local_basis=False"
        )

    def factorize(self, may_widen: bool) -> None:
        """Finish a ``for_products`` fit: factor Gamma and drop dependent functions."""

    @property
    def has_candidates(self) -> bool:
        """Whether functions still have to be selected from candidates, by sums over rows."""
        return False

    @property
    def needs_gram(self) -> bool:
        """Whether that needs the Gram sums of the candidates, in addition to sums with y."""
        return True

    def choose_features(self, moments: object, rng: np.random.Generator) -> None:
        """Select features from the candidates by the moments of their values."""
        raise TypeError(f"{type(self).__name__} has no candidates to select from")

    def bind(self) -> None:
        """Rebuild what is derived from ``state`` and not stored."""

    @property
    def factors(self) -> tuple[Array, ...] | None:
        """The factors that make functions orthogonal, for a model file; None if there are none."""
        return None

    def restore_factors(self, factors: object) -> None:
        """Set the factors, as read from a model file."""
        kind = type(factors).__name__
        raise ValueError(f"{type(self).__name__} must have no factors, got {kind}")

    def widen(self) -> None:
        """Evaluate in float64 from now on."""
        self.precision_ = "float64"

    def fit(self, X: object, y: object = None) -> Self:
        """Choose the functions from the rows of X."""
        kernel = as_kernel("gaussian" if self.kernel is None else self.kernel)
        source = ArraySource(self._validated(X, reset=True))
        self._fit_transformer(source, kernel, as_generator(self.random_state))
        self.whitener_ = self.whitener()
        self._n_features_out = self.whitener_.size
        return self

    def _validated(self, X: object, reset: bool) -> Any:
        """Return rows of numbers, validated as in scikit-learn; ``reset`` takes their columns."""
        found = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=reset,
        )
        check_finite(found, names=getattr(self, "feature_names_in_", None))
        return found

    def _fit_transformer(
        self, source: ReadableRows, kernel: Kernel, rng: np.random.Generator
    ) -> None:
        """Choose the functions for use as a transformer."""
        self.fit_source(source, kernel, rng, "float64")

    def transform(self, X: Any) -> Array:
        """Return coordinates z(x) with ``z(x)'z(x')`` equal or close to ``K(x, x')``."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        out = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        for start in range(0, X.shape[0], BLOCK):
            block = self.orthogonalized(X[start : start + BLOCK])
            out[start : start + BLOCK] = self.whitener_.vectors(block.T).T
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = as_kernel("gaussian" if self.kernel is None else self.kernel)
        tags.input_tags.sparse = kernel.accepts_sparse
        tags.input_tags.pairwise = kernel.pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
