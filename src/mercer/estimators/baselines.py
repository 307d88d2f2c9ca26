"""Baselines for learning from few labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from mercer.bases import BasisTransformer, as_basis, as_generator
from mercer.contracts import Array, RandomState
from mercer.estimators.fitted import Fitted
from mercer.estimators.parameters import Values
from mercer.estimators.regressor import KernelRegressor
from mercer.kernels import Kernel, as_kernel
from mercer.opening.fit_input import columns_of
from mercer.request import Problem
from mercer.validation import check_count


class TruncatedRidge(KernelRegressor):
    """KTR3: ridge regression on a random prefix of the rows, clipped at the largest label.

    .. math:: f(x) = \\min(Y, \\max(-Y, f_k(x))), \\qquad Y = \\max_i |y_i|, \\qquad
              f_k = \\operatorname{argmin}_f \\; \\frac1n \\sum_{i=1}^k (f(x_i) - y_i)^2
              + \\alpha \\|f\\|_H^2

    over the first k rows in random order, with k uniform on 0..n-1 (Jun, Cutkosky and Orabona,
    2019, *Kernel truncated randomized ridge regression*, algorithm 1). The sum is divided by n, not
    by k: f_0, ..., f_(n-1) are the steps of online ridge regression, each fitted before the next
    row is seen, with the same total penalty, and one of them is returned at random. So k = 0 is the
    zero function. The parameters are those of :class:`mercer.KernelRegressor`; X must be an array.

    Attributes
    ----------
    used_ : array of shape (k,)
        The rows of the prefix, in their random order.
    bound_ : float or array
        Y.

    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = TruncatedRidge(alpha=1e-3, random_state=0).fit(X, X[:, 0])
    >>> len(model.used_) < 50, bool(np.abs(model.predict(100 * X)).max() <= 1.0)
    (True, True)
    """

    _ratio = 1.0  # the weight of all rows over that of the prefix

    def fit(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to the first rows in random order."""
        rows, labels = check_X_y(X, y, multi_output=True, estimator=self)
        weight = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
        rng = as_generator(self.random_state)
        order = rng.permutation(len(rows))
        used = order[: int(rng.integers(len(rows)))]
        part = float(weight[used].sum())
        if part > 0:
            self._ratio = float(weight.sum()) / part
            super().fit(rows[used], labels[used], weight[used])
        else:  # an empty sum: what minimizes the penalty alone is 0
            self._ratio = 1.0
            super().fit(rows[order[:2]], np.zeros_like(labels[:2]))
        self.used_ = used
        self.bound_ = np.abs(labels).max(axis=0)
        return self

    def _problem(self, values: Values, ranks: bool = False) -> Problem:
        """Return what is solved, with penalties relative to the mean over the prefix."""
        return super()._problem(values, ranks).with_alpha_times(self._ratio)

    def _take(self, known: Fitted) -> None:
        """Set the fitted attributes, with penalties relative to the mean over all rows."""
        super()._take(known)
        self.alpha_ /= self._ratio
        if self.cv_results_ is not None:
            self.cv_results_["alpha"] = self.cv_results_["alpha"] / self._ratio

    def predict(self, X: object, return_std: bool = False, include_noise: bool = False) -> Any:
        """Return f(x), clipped to [-Y, Y], and if asked for its standard deviation before that."""
        found = super().predict(X, return_std, include_noise)
        mean, *std = found if return_std else (found,)
        clipped = np.clip(mean, -self.bound_, self.bound_)
        return (clipped, *std) if return_std else clipped


class EigenfunctionRegressor(RegressorMixin, BaseEstimator):
    """SSSR: least squares on the first eigenfunctions of all rows, labelled or not.

    .. math:: f = \\sum_{j \\le s} a_j u_j' \\varphi, \\qquad
              a = \\operatorname{argmin}_a \\sum_{i \\text{ labelled}} \\Big(y_i -
              \\sum_j a_j u_j' \\varphi(x_i)\\Big)^2

    with u_1, ..., u_s the first eigenvectors of the mean of ``phi phi'`` over all rows (Ji, Yang,
    Lin, Jin and Han, 2012, *A simple algorithm for semi-supervised learning with improved
    generalization error bound*).

    Parameters
    ----------
    kernel, basis, random_state
        As in :class:`mercer.KernelRegressor`.
    n_functions : int
        s, the number of eigenfunctions.

    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = EigenfunctionRegressor(n_functions=6, random_state=0)
    >>> y = np.sin(3 * X[:, 0])
    >>> model.fit(X[::5], y[::5], X_unlabelled=X).score(X, y) > 0.99
    True
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        basis: str | BasisTransformer = "landmarks",
        n_functions: int = 50,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.n_functions = n_functions
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_unlabelled: ArrayLike | None = None) -> Self:
        """Compute the eigenfunctions of all rows, and fit their coefficients to labelled rows."""
        check_count(self.n_functions, "n_functions")
        labelled, labels = check_X_y(X, y, y_numeric=True, estimator=self)
        validate_data(self, labelled, skip_check_array=True)
        rows = labelled
        if X_unlabelled is not None:
            more = np.asarray(X_unlabelled, dtype=float)
            if columns_of(more) != columns_of(rows):
                raise ValueError(
                    f"X_unlabelled must have the {columns_of(rows)} columns of X, got "
                    f"{columns_of(more)}"
                )
            rows = np.vstack([rows, more])
        self.basis_ = clone(as_basis(self.basis)).set_params(kernel=as_kernel(self.kernel))
        if self.basis_.random_state is None:
            self.basis_.set_params(random_state=self.random_state)
        Z = self.basis_.fit_transform(rows)
        _, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
        self.directions_ = vectors[:, ::-1][:, : self.n_functions]
        G = Z[: len(labels)] @ self.directions_
        self.coefficients_, *_ = np.linalg.lstsq(G, labels, rcond=None)
        return self

    def predict(self, X: object) -> Array:
        """Return f(x) for every row."""
        check_is_fitted(self)
        return np.asarray(self.basis_.transform(X) @ self.directions_ @ self.coefficients_)
