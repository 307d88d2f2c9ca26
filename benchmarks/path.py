"""What choosing alpha among 20 values costs, in fits with one alpha."""

from __future__ import annotations

from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.data import ALPHA, BANDWIDTH, LANDMARKS, PLAIN, TRAIN, covtype
from mercer import Gaussian, KernelRegressor, KFold, Landmarks, LeaveOneOut


def run(repeats: int) -> list[object]:
    data = covtype()

    def fit(**settings: object) -> KernelRegressor:
        return KernelRegressor(
            Gaussian(BANDWIDTH), Landmarks(LANDMARKS), random_state=0, **PLAIN, **settings
        ).fit(data.X, data.Y)

    contenders = {
        "one alpha": {"alpha": ALPHA},
        "20 alphas, generalized cross-validation": {"selection": "gcv"},
        "20 alphas, 5 folds": {"selection": KFold(5)},
        "20 alphas, leave-one-out on 2,000 rows": {"selection": LeaveOneOut(2000)},
        "20 alphas, leave-one-out on all rows": {"selection": LeaveOneOut()},
    }
    timed = interleaved(
        {name: (lambda s=settings: fit(**s)) for name, settings in contenders.items()}, repeats
    )
    one = timed["one alpha"].median
    table = Table(["", "seconds", "fits", "alpha chosen", "test error"])
    for name, found in timed.items():
        error = data.error(found.value.predict(data.X_test))
        cells = [f"{found.median:.2f}", f"{found.median / one:.2f}", f"{found.value.alpha_:.2g}"]
        table.add([name, *cells, f"{error:.4f}"])
    return [
        f"covtype as above ({TRAIN:,} rows, {LANDMARKS:,} landmarks, 7 outputs). Medians of "
        f"{repeats} interleaved repeats.",
        table,
    ]
