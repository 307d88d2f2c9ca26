"""What is compared between two checkouts: rows and models, by their public names alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import (
    FIT_ONLY,
    PLAIN,
    covtype,
    kin40k,
    lettered,
    levels,
    twenty_columns,
    write_npy,
    write_parquet,
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    repeats: int
    rows: int  # of covtype, or of noise in its shape
    new: int  # to predict
    landmarks: int
    products: int  # landmarks of products instead of moments
    full: int  # rows of the full kernel
    exact: int  # ... beyond what a factorization can do
    sharded: int  # rows over shards
    features: int
    file: tuple[int, int]  # rows and landmarks of a fit from a file
    real: bool = True  # else noise in the shape of the real sets, which needs no data
    alone: bool = False  # on one thread, in seconds of the processor: other work disturbs it least

    @property
    def clock(self) -> str:
        """What is taken of the seconds that were measured."""
        return "processor" if self.alone else "seconds"


FULL = Sizes(3, 100_000, 50_000, 2000, 5000, 10_000, 39_000, 100_000, 500, (1_000_000, 1000))
SMALL = Sizes(5, 8000, 12_000, 400, 600, 1200, 2500, 15_000, 200, (100_000, 250), False, True)


@dataclass(frozen=True)
class Fit:
    """A model that is fitted to rows, or predicts, in a process that does many."""

    rows: str
    model: Any
    action: str = "fit"

    def request(self, name: str, value: bool) -> dict[str, Any]:
        """Return what a worker is asked for."""
        return asdict(self) | {"name": name, "value": value}


@dataclass(frozen=True)
class InFile:
    """A model that is fitted to the rows of a file, in a process of its own."""

    settings: dict[str, Any]


def make(name: str, *arguments: Any, **settings: Any) -> list[Any]:
    """Describe an object by its public name, for a worker to make."""
    return ["make", name, list(arguments), settings]


def regressor(*arguments: Any, **settings: Any) -> list[Any]:
    """Describe a regressor that is the same every time."""
    return make("KernelRegressor", *arguments, random_state=0, **FIT_ONLY, **settings)


def with_landmarks(landmarks: int, alpha: Any = 1e-6, **settings: Any) -> list[Any]:
    """Describe a regressor for covtype."""
    return regressor(make("Gaussian", 2.0), make("Landmarks", landmarks), alpha, **settings)


def write_rows(folder: Path, name: str, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> str:
    """Write rows for workers; return their name."""
    for part, values in (("X", X), ("Y", Y), ("new", new)):
        np.save(folder / f"{name}_{part}.npy", values)
    return name


def covtype_rows(sizes: Sizes, folder: Path) -> str:
    """Write covtype, or noise with its shape: 54 columns and 7 classes."""
    name, n = "covtype", sizes.rows
    if (folder / f"{name}_X.npy").exists():
        return name
    if sizes.real:
        data = covtype(n)
        return write_rows(folder, name, data.X, data.Y, data.X_test[: sizes.new])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + sizes.new, 54)) * 0.3
    classes = np.digitize(X[:, 0] + np.sin(5 * X[:, 1]), np.linspace(-1, 1, 6))
    Y = np.where(classes[:n, None] == np.arange(7), 1.0, -1.0)
    return write_rows(folder, name, X[:n], Y, X[n:])


def full_rows(sizes: Sizes, folder: Path, n: int) -> str:
    """Write rows of kin40k, or noise with its shape: 8 columns and one target."""
    if sizes.real:
        X, y = kin40k()
    else:
        X = np.random.default_rng(0).standard_normal((n + 1000, 8))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    return write_rows(folder, f"full_{n}", X[:n], y[:n], X[n : n + 10_000])


def speed(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Fit and predict with landmarks and with random features."""
    rows, M = covtype_rows(sizes, folder), sizes.landmarks
    features = regressor(make("Gaussian", 2.0), make("RandomFeatures", M), 1e-6)
    found: dict[str, Fit | InFile] = {"fit, random features": Fit(rows, features)}
    for dtype in ("float32", "float64"):
        model = with_landmarks(M, dtype=dtype)
        found |= {f"fit, {dtype}": Fit(rows, model)}
        found |= {f"predict, {dtype}": Fit(rows, model, "predict")}
    return found


def predict(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Predict many rows of 20 columns and one, by models of all kinds at 1,000 landmarks."""
    X, y, new = twenty_columns(4 * sizes.landmarks, sizes.new)
    rows = write_rows(folder, "twenty", X, y, new)
    letters = write_rows(folder, "letters", X, lettered(y), new)
    basis, found = make("Landmarks", 1000), {}
    kernels = {
        "Gaussian": make("Gaussian", 4.0),
        "Matern 3/2": make("Matern", 1.5, 6.0),
        "Laplacian": make("LaplacianL2", 8.0),
    }
    models = {name: (rows, regressor(kernel, basis, 1e-4)) for name, kernel in kernels.items()}
    for dtype in ("float32", "float64"):
        models[f"Gaussian, {dtype}"] = (
            rows,
            regressor(kernels["Gaussian"], basis, 1e-4, dtype=dtype),
        )
    models["learned metric"] = (
        rows,
        make("KernelRegressor", kernels["Gaussian"], basis, 1e-4, metric="full", random_state=0),
    )
    models["26 classes"] = (
        letters,
        make("KernelClassifier", kernels["Gaussian"], basis, 1e-4, random_state=0, **PLAIN),
    )
    for action in ("predict", "predict one"):
        found |= {
            f"{name}: {action}": Fit(of, model, action) for name, (of, model) in models.items()
        }
    return found


def path(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Choose alpha in all ways."""
    rows, M = covtype_rows(sizes, folder), sizes.landmarks
    ways = {
        "generalized cross-validation": "gcv",
        "5 folds": make("KFold", 5),
        "leave-one-out on 2,000 rows": make("LeaveOneOut", 2000),
        "leave-one-out on all rows": make("LeaveOneOut"),
    }
    found: dict[str, Fit | InFile] = {"one alpha": Fit(rows, with_landmarks(M))}
    for name, selection in ways.items():
        found[name] = Fit(rows, with_landmarks(M, "auto", selection=selection))
    return found


def products(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Solve by products, with landmarks and with the full kernel."""
    rows, M = covtype_rows(sizes, folder), sizes.products
    full = full_rows(sizes, folder, sizes.full)
    kernel, settings = make("Gaussian", 3.0), {"fit_intercept": False}
    return {
        "landmarks, values kept": Fit(
            rows, with_landmarks(M, solver=make("PreconditionedCG", keep=True))
        ),
        "landmarks, values anew": Fit(
            rows, with_landmarks(M, solver=make("PreconditionedCG", keep=False))
        ),
        "landmarks, moments": Fit(rows, with_landmarks(M, solver="ridge")),
        "full kernel, products": Fit(
            full, regressor(kernel, "full", 1e-6, solver=make("PreconditionedCG"), **settings)
        ),
        "full kernel, directly": Fit(
            full, regressor(kernel, "full", 1e-6, solver="ridge", **settings)
        ),
    }


def steps(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Solve by products to tolerances that are asked for."""
    rows, full = covtype_rows(sizes, folder), full_rows(sizes, folder, sizes.exact)
    found: dict[str, Fit | InFile] = {}
    for tolerance in (1e-2, 1e-3):
        solver = make("PreconditionedCG", tolerance=tolerance, keep=True)
        found[f"landmarks, to {tolerance:g}"] = Fit(
            rows, with_landmarks(sizes.products, solver=solver)
        )
    solver = make("PreconditionedCG", tolerance=1e-6)
    exact = regressor(make("Gaussian", 3.0), "full", 1e-6, solver=solver, fit_intercept=False)
    return found | {"full kernel, to 1e-06": Fit(full, exact)}


def shards(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Combine few shards and many, in all ways."""
    rows = write_rows(folder, "levels", *levels(sizes.sharded))
    basis = make("RandomFeatures", sizes.features)
    ways = {
        "average": make("Average"),
        "8 Newton rounds": make("NewtonRounds", 8),
        "8 conjugate rounds": make("ConjugateRounds", 8),
        "exact sum": make("ExactSum"),
    }
    return {
        f"{count} shards, {name}": Fit(
            rows,
            regressor(
                make("Gaussian", 100.0),
                basis,
                2.0**-15,
                shards=count,
                combine=combine,
                dtype="float64",
            ),
        )
        for count in (4, 100)
        for name, combine in ways.items()
    }


def memory(sizes: Sizes, folder: Path) -> dict[str, Fit | InFile]:
    """Fit from files, and look at the peak of the process."""
    rows, landmarks = sizes.file
    npy = write_npy(folder, rows, 20)
    parquet = write_parquet(folder / "rows.parquet", rows, 20)
    model = regressor(make("Gaussian", "median"), make("Landmarks", landmarks), 1e-6)
    sources = {"memory map": (npy, str(npy.with_name("y.npy"))), "Parquet": (parquet, "y")}
    return {
        name: InFile({"path": str(path), "target": target, "model": model})
        for name, (path, target) in sources.items()
    }
