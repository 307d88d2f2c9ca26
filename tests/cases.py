"""One table of kernels x bases x dtypes x solvers; properties are tested over pairs of them.

All rows lie in the unit square, where every kernel is at home.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

import reference
from mercer import (
    KCGM,
    ArcCosine,
    ChiSquared,
    Cosine,
    CutOff,
    FullKernel,
    Gaussian,
    GradientDescent,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    RandomFeatures,
    Ridge,
    Sketch,
    Sobolev,
    StopAfter,
)
from mercer.kernels import Kernel
from pairs import all_pairs

ROWS, SIZE = 30, 10
DTYPES = ("float64", "float32")
#: The kernel on the columns as given, with nothing searched.
PLAIN: dict[str, Any] = {"metric": None, "scale": None}
#: The same with the kernel of a test that is about something else.
MEDIAN: dict[str, Any] = {"kernel": Gaussian("median"), **PLAIN}

#: name -> kernel, the same by its formula
KERNELS: dict[str, tuple[Kernel, Callable[..., float]]] = {
    "gaussian": (Gaussian(0.5), partial(reference.gaussian, bandwidth=0.5)),
    "gaussian_by_column": (
        Gaussian(np.array([0.4, 0.9])),
        partial(reference.gaussian, bandwidth=np.array([0.4, 0.9])),
    ),
    "laplacian_l1": (LaplacianL1(0.8), partial(reference.laplacian_l1, bandwidth=0.8)),
    "laplacian_l2": (LaplacianL2(0.7), partial(reference.laplacian_l2, bandwidth=0.7)),
    "matern_12": (Matern(0.5, 0.6), partial(reference.matern, nu=0.5, bandwidth=0.6)),
    "matern_32": (Matern(1.5, 0.6), partial(reference.matern, nu=1.5, bandwidth=0.6)),
    "matern_52": (
        Matern(2.5, np.array([0.5, 0.8])),
        partial(reference.matern, nu=2.5, bandwidth=np.array([0.5, 0.8])),
    ),
    "linear": (Linear(), reference.linear),
    "polynomial": (Polynomial(3), partial(reference.polynomial, degree=3)),
    "polynomial_quadratic": (
        Polynomial(2, gamma=0.7, offset=0.3),
        partial(reference.polynomial, degree=2, gamma=0.7, offset=0.3),
    ),
    "cosine": (Cosine(), reference.cosine),
    "chi_squared": (ChiSquared(0.6), partial(reference.chi_squared, bandwidth=0.6)),
    "arc_cosine_0": (ArcCosine(0), partial(reference.arc_cosine, order=0)),
    "arc_cosine_1": (ArcCosine(1), partial(reference.arc_cosine, order=1)),
    "periodic_spline": (
        PeriodicSpline(6.0),
        partial(reference.periodic_spline, order=6.0, terms=200),
    ),
    "sobolev": (Sobolev(), reference.sobolev),
    "sum": (
        Gaussian(0.5) + Linear(),
        lambda x, z: reference.gaussian(x, z, 0.5) + reference.linear(x, z),
    ),
    "product": (
        Matern(1.5, 0.8) * Gaussian(0.9),
        lambda x, z: reference.matern(x, z, 1.5, 0.8) * reference.gaussian(x, z, 0.9),
    ),
}

#: Kernels with a kink where x = z: a rounding of 1e-16 in the distance is 1e-8 in the value.
SHARP = {"laplacian_l2", "matern_12", "arc_cosine_0"}
#: Cluster centers are points like others: a few kernels are enough.
CLUSTERED = {"gaussian", "polynomial"}
NO_RANDOM_FEATURES = {"polynomial", "polynomial_quadratic", "sobolev", "chi_squared"}
ORTHOGONAL = {"gaussian", "gaussian_by_column", "laplacian_l2", "matern_32", "arc_cosine_1"}


def regressor(kernel: Any = MEDIAN["kernel"], *parts: Any, **settings: Any) -> KernelRegressor:
    """Return a regressor with this kernel on the columns as given, and nothing searched."""
    return KernelRegressor(kernel, *parts, **{**PLAIN, **settings})


def classifier(kernel: Any = MEDIAN["kernel"], *parts: Any, **settings: Any) -> KernelClassifier:
    """Return a classifier with this kernel on the columns as given, and nothing searched."""
    return KernelClassifier(kernel, *parts, **{**PLAIN, **settings})


def rows(n: int = ROWS, seed: int = 0) -> np.ndarray:
    """Rows in the unit square."""
    return np.random.default_rng(seed).random((n, 2))


def targets(X: np.ndarray, outputs: int = 1, seed: int = 1) -> np.ndarray:
    """A smooth function of the rows with some noise; shape (n,) for one output."""
    noise = np.random.default_rng(seed).standard_normal((len(X), outputs))
    smooth = np.sin(np.outer(X @ [3.0, -2.0], np.arange(1, outputs + 1)))
    Y = smooth + 0.1 * noise
    return Y[:, 0] if outputs == 1 else Y


def weights(n: int = ROWS, seed: int = 2) -> np.ndarray:
    """Positive weights of mean about one."""
    return np.random.default_rng(seed).uniform(0.3, 1.8, size=n)


def sketch_matrix(basis: Sketch) -> np.ndarray:
    """G of a fitted sketch, written out from what it has drawn."""
    drawn = basis.projection_
    if basis.kind in ("gaussian", "rademacher"):
        return drawn.matrix
    whole = {"hadamard": reference.hadamard_matrix, "dct": reference.cosine_matrix}[basis.kind]
    Q = whole(len(basis.points_))
    return reference.orthogonal_sketch(Q, drawn.signs, drawn.rows, basis.size + basis.n_dropped_)


GIVEN = rows(SIZE, seed=7)

#: name -> a new basis
BASES: dict[str, Callable[[], Any]] = {
    "full": FullKernel,
    "uniform": lambda: Landmarks(SIZE, random_state=3),
    "kmeans": lambda: Landmarks(SIZE, sampling="kmeans", random_state=3),
    "given": lambda: Landmarks(sampling=GIVEN),
    "random_features": lambda: RandomFeatures(2 * SIZE, random_state=3),
    "orthogonal": lambda: RandomFeatures(2 * SIZE, orthogonal=True, random_state=3),
    "sketch": lambda: Sketch(SIZE, random_state=3),
}


STEPS = 6
#: name -> a new solver, the same by its definition: (A, b, steps) -> the solution of every step
SOLVERS: dict[str, tuple[Callable[[], Any], Callable[..., list[np.ndarray]] | None]] = {
    "ridge": (Ridge, None),
    "cutoff": (CutOff, None),
    "kcgm": (lambda: KCGM(StopAfter(STEPS)), reference.kcgm),
    "gradient_descent": (
        lambda: GradientDescent(StopAfter(STEPS)),
        reference.filtered(reference.descent_filters),
    ),
    "accelerated": (
        lambda: GradientDescent(StopAfter(STEPS), accelerated=True),
        reference.filtered(reference.accelerated_filters),
    ),
}


@dataclass(frozen=True)
class Case:
    """A kernel, a basis, a dtype and a solver, by name."""

    kernel: str
    basis: str
    dtype: str
    solver: str = "ridge"

    def __str__(self) -> str:
        solver = "" if self.solver == "ridge" else f"-{self.solver}"
        return f"{self.kernel}-{self.basis}-{self.dtype}{solver}"

    @property
    def tolerance(self) -> float:
        """How close two ways to the same predictions of order one must come."""
        return 5e-8 if self.dtype == "float64" else 2e-4

    @property
    def rounding(self) -> float:
        """How close two evaluations of the basis functions, in other blocks, must come."""
        if self.dtype == "float32":
            return 1e-6
        return 1e-8 if self.kernel in SHARP else 1e-12

    def estimator(self, **parameters: Any) -> KernelRegressor:
        """Return an unfitted regressor."""
        settings = {
            "alpha": 1e-3,
            "random_state": 0,
            "solver": SOLVERS[self.solver][0](),
            **PLAIN,
            **parameters,
        }
        return KernelRegressor(
            KERNELS[self.kernel][0], BASES[self.basis](), dtype=self.dtype, **settings
        )

    def matrix(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) by the formula."""
        Z = X if Z is None else Z
        return _matrix(self.kernel, *(tuple(map(tuple, rows.tolist())) for rows in (X, Z)))

    def predictions(
        self,
        model: KernelRegressor,
        X: np.ndarray,
        Y: np.ndarray,
        weight: np.ndarray | None,
        new: np.ndarray,
        points: np.ndarray | None = None,
    ) -> np.ndarray:
        """What a fit of the model's basis must predict on new rows, the slow way; shape (n, k).

        ``points`` replaces the model's landmarks, of which it leaves out those that others span.
        """
        Y = Y.reshape(len(Y), -1)
        weight = np.ones(len(Y)) if weight is None else weight
        how = (Y, weight, model.alpha_, model.fit_intercept)
        if self.solver != "ridge":
            return self._filtered(model, X, Y, weight, new)
        if self.basis == "full":
            a, b = reference.dual_ridge(self.matrix(X), *how)
            return self.matrix(new, X) @ a + b
        if self.basis in ("random_features", "orthogonal"):
            H, H_new = (np.asarray(model.basis_.evaluate(rows), float) for rows in (X, new))
            Gamma = np.eye(H.shape[1])
        elif self.basis == "sketch":
            G, points = sketch_matrix(model.basis_), model.basis_.points_
            H, H_new = (self.matrix(rows, points) @ G.T for rows in (X, new))
            Gamma = G @ self.matrix(points) @ G.T
        else:
            points = model.basis_.landmarks_ if points is None else points
            H, H_new = (self.matrix(rows, points) for rows in (X, new))
            Gamma = self.matrix(points)
        c, b = reference.primal_ridge(H, Gamma, *how)
        return H_new @ c + b

    def _filtered(
        self,
        model: KernelRegressor,
        X: np.ndarray,
        Y: np.ndarray,
        weight: np.ndarray,
        new: np.ndarray,
    ) -> np.ndarray:
        """The same for solvers other than ridge."""
        both, old = np.vstack([X, new]), np.arange(len(X))
        if self.basis in ("random_features", "orthogonal"):
            H, Gamma = np.asarray(model.basis_.evaluate(both), float), None
        elif self.basis == "sketch":
            G, points = sketch_matrix(model.basis_), model.basis_.points_
            H, Gamma = self.matrix(both, points) @ G.T, G @ self.matrix(points) @ G.T
        else:
            points = X if self.basis == "full" else model.basis_.landmarks_
            H, Gamma = self.matrix(both, points), self.matrix(points)
        alpha, solve = model.alpha_, SOLVERS[self.solver][1]
        if solve is None:
            slow = reference.CutBasis(H, Gamma, model.fit_intercept).fit(old, Y, weight, alpha)
            return slow.predict(len(X) + np.arange(len(new)))
        problem = reference.Iterated(H, Gamma, model.fit_intercept, solve)
        return problem.fit(old, Y, weight, STEPS, alpha).predict(len(X) + np.arange(len(new)))[-1]


@lru_cache(maxsize=1000)
def _matrix(kernel: str, X: tuple[Any, ...], Z: tuple[Any, ...]) -> np.ndarray:
    # Both dtypes and many tests ask for the same pairs, and pairs are slow.
    found = reference.matrix(KERNELS[kernel][1], np.array(X), np.array(Z))
    found.flags.writeable = False
    return found


def fits_together(kernel: str, basis: str, *_: Any) -> bool:
    """Whether there is such a kernel with such a basis, and a reason to test it."""
    if basis == "random_features":
        return kernel not in NO_RANDOM_FEATURES
    if basis == "kmeans":
        return kernel in CLUSTERED
    return basis != "orthogonal" or kernel in ORTHOGONAL


#: Every kernel with every basis, and each of them in both dtypes.
CASES = [Case(*row) for row in all_pairs(KERNELS, BASES, DTYPES, allowed=fits_together)]
#: Other solvers than ridge see a matrix, whatever kernel it came from: a few kernels are enough.
OTHERS = [solver for solver in SOLVERS if solver != "ridge"]
PROBLEMS = [
    ("laplacian_l1", "full", "float64"),
    ("laplacian_l1", "given", "float64"),
    ("gaussian", "full", "float64"),
    ("gaussian", "given", "float64"),
    ("gaussian", "given", "float32"),
    ("gaussian", "uniform", "float64"),
    ("gaussian", "random_features", "float64"),
    ("gaussian", "sketch", "float64"),
]
FILTERED = [
    Case(*row)
    for row in all_pairs(
        ("laplacian_l1", "gaussian"),
        BASES,
        DTYPES,
        OTHERS,
        allowed=lambda kernel, basis, dtype, _: (kernel, basis, dtype) in PROBLEMS,
    )
]
#: For properties in which these do not meddle with each other: every kernel, every basis in both
#: dtypes, every solver.
TYPICAL = [
    Case(kernel, *rest)
    for kernel, rest in all_pairs(
        KERNELS, product(BASES, DTYPES), strength=1, allowed=lambda k, rest: fits_together(k, *rest)
    )
] + [Case(*row, solver) for row, solver in all_pairs(PROBLEMS, OTHERS, strength=1)]


@lru_cache(maxsize=1000)
def fitted(case: Case, weighted: bool = False) -> KernelRegressor:
    """The model of a case on ``rows()`` and ``targets(rows())``: fitted once, not to be changed."""
    X = rows()
    return case.estimator().fit(X, targets(X), weights() if weighted else None)
