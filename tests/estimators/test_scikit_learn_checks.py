"""Every check of the installed scikit-learn, for what differs in interface.

What only differs inside, another solver or basis, is the concern of the tables in ``cases.py``.
"""

import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from cases import MEDIAN
from mercer import (
    KCGM,
    FullKernel,
    GradientDescent,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    Sketch,
    StopAfter,
)

ESTIMATORS = [
    KernelRegressor(),
    # alpha by folds, from moments
    KernelRegressor(
        basis=RandomFeatures(50, random_state=0), selection="kfold", random_state=0, **MEDIAN
    ),
    # a path of steps that can be resumed
    KernelRegressor(basis="landmarks", solver=KCGM(StopAfter(5)), warm_start=True, **MEDIAN),
    KernelClassifier(),
    # steps by folds
    KernelClassifier(solver=GradientDescent(max_steps=100), random_state=0, **MEDIAN),
    KernelRanker(),
    KernelRanker(basis="landmarks", alpha=1e-3, shards=2, **MEDIAN),
    Landmarks(),
    FullKernel(),
    RandomFeatures(50, random_state=0),
    Sketch(5, kind="dct", random_state=0),
]


def by_folds(estimator):
    """Whether the number of steps is chosen by folds, which is the default of iterative solvers."""
    solver = getattr(estimator, "solver", None)
    return solver in ("kcgm", "gradient_descent") or getattr(solver, "stop", None) == "kfold"


def chooses_alpha(estimator):
    """Whether alpha is chosen by rows that are left out, which is the default of direct solvers."""
    names = ("selection", "alpha", "solver")
    return [getattr(estimator, name, None) for name in names] == ["auto"] * 3


def expected_failures(estimator):
    """Checks that cannot hold, each with its mathematical reason."""
    reasons = {}
    if getattr(estimator, "selection", "gcv") == "kfold" or by_folds(estimator):
        for kind in ("dense", "sparse"):
            reasons[f"check_sample_weight_equivalence_on_{kind}_data"] = (
                "a row given twice may be dealt to two folds, a row of weight 2 goes to one"
            )
    elif chooses_alpha(estimator):
        for kind in ("dense", "sparse"):
            reasons[f"check_sample_weight_equivalence_on_{kind}_data"] = (
                "of a row given twice one is left out, a row of weight 2 is left out whole"
            )
    return reasons


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("settings", [{"alpha": 1e-3}, {"selection": "gcv"}], ids=str)
@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier, KernelRanker])
def test_weights_are_repeated_rows_where_none_is_left_out(kind, settings):
    """Also in the scaling of columns and in the bandwidth."""
    if kind is KernelClassifier:  # its map is fitted to left-out rows
        settings = {**settings, "calibration": None}
    check_sample_weight_equivalence_on_dense_data(kind.__name__, kind(**settings))
    check_sample_weight_equivalence_on_sparse_data(kind.__name__, kind(**settings))
