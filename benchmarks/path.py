"""What choosing alpha among 20 values costs, in fits with one alpha and in eigendecompositions."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.data import ALPHA, BANDWIDTH, FIT_ONLY, LANDMARKS, TRAIN, covtype
from mercer import Gaussian, KernelRegressor, KFold, Landmarks, LeaveOneOut
from mercer.datasets import load_letter
from mercer.systems import direct

SELECTIONS: dict[str, object] = {
    "generalized cross-validation": "gcv",
    "5 folds": KFold(5),
    "leave-one-out on 2,000 rows": LeaveOneOut(2000),
    "leave-one-out on all rows": LeaveOneOut(),
}


def run(repeats: int) -> list[object]:
    return [*in_fits(repeats), *in_eigendecompositions(repeats)]


def in_fits(repeats: int) -> list[object]:
    data = covtype()

    def fit(**settings: object) -> KernelRegressor:
        return KernelRegressor(
            Gaussian(BANDWIDTH), Landmarks(LANDMARKS), random_state=0, **FIT_ONLY, **settings
        ).fit(data.X, data.Y)

    contenders = {"one alpha": {"alpha": ALPHA}}
    contenders |= {f"20 alphas, {name}": {"selection": one} for name, one in SELECTIONS.items()}
    timed = interleaved(
        {name: (lambda s=settings: fit(**s)) for name, settings in contenders.items()}, repeats
    )
    one = timed["one alpha"].median
    table = Table(["", "seconds", "fits", "choosing", "alpha chosen", "test error"])
    for name, found in timed.items():
        error = data.error(found.value.predict(data.X_test))
        choosing = found.value.fit_.seconds.get("choose alpha", 0.0)
        cells = [f"{found.median:.2f}", f"{found.median / one:.2f}", f"{choosing:.2f}"]
        table.add([name, *cells, f"{found.value.alpha_:.2g}", f"{error:.4f}"])
    return [
        f"covtype as above ({TRAIN:,} rows, {LANDMARKS:,} landmarks, 7 outputs). Medians of "
        f"{repeats} interleaved repeats; seconds of choosing are those of the last.",
        table,
    ]


def in_eigendecompositions(repeats: int) -> list[object]:
    data = load_letter()
    classes = sorted(set(data.y_train))
    Y = (data.y_train[:, None] == classes) * 2.0 - 1.0
    X = (data.X_train - data.X_train.mean(axis=0)) / data.X_train.std(axis=0)
    selections = {"leave-one-out, the default": "auto", **SELECTIONS}

    def fit(selection: object, reduced: bool) -> float:
        with eigenvectors(not reduced):
            model = KernelRegressor(
                Gaussian(BANDWIDTH),
                Landmarks(LANDMARKS),
                random_state=0,
                selection=selection,
                **FIT_ONLY,
            ).fit(X, Y)
        return float(model.fit_.seconds["choose alpha"])

    table = Table(["", "by eigenvectors", "as it is", "ratio"])
    for name, selection in selections.items():
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(repeats):
            for reduced, times in seconds.items():
                times.append(fit(selection, reduced))
        before, after = (statistics.median(seconds[reduced]) for reduced in (False, True))
        table.add([name, f"{before:.2f} s", f"{after:.2f} s", f"{after / before:.2f}"])
    return [
        f"The choice by itself: letter, {len(X):,} rows, {LANDMARKS:,} landmarks, "
        f"{len(classes)} outputs. Medians of {repeats} interleaved repeats.",
        table,
    ]


@contextmanager
def eigenvectors(wanted: bool) -> Iterator[None]:
    """Decompose every system into eigenvectors inside the context, if that is wanted."""
    smallest = direct.TRIDIAGONAL_FROM
    direct.TRIDIAGONAL_FROM = 10**9 if wanted else smallest
    try:
        yield
    finally:
        direct.TRIDIAGONAL_FROM = smallest
