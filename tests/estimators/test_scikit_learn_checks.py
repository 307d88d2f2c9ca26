"""Every check of the installed scikit-learn: the defaults, the bases, and a table of estimators.

The table has all pairs of bases, solvers, criteria and combinations; the ordinary suite takes each
of them once.
"""

import functools

import pytest
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from cases import MEDIAN
from configurations import (
    CONFIGURATIONS,
    FEW_CONFIGURATIONS,
    REASONS,
    expected_failures,
    why_weights_are_not_copies,
)
from mercer import (
    KCGM,
    FullKernel,
    Gaussian,
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
    # a path of steps that can be resumed
    KernelRegressor(basis="landmarks", solver=KCGM(StopAfter(5)), warm_start=True, **MEDIAN),
    KernelClassifier(),
    KernelRanker(),
    Landmarks(),
    FullKernel(),
    RandomFeatures(50, random_state=0),
    Sketch(5, kind="dct", random_state=0),
]


def failures_of_defaults(estimator):
    """Checks that cannot hold: alpha is chosen by left-out rows, unless steps are given."""
    if getattr(estimator, "selection", None) != "auto" or estimator.solver != "auto":
        return {}
    kinds = ("dense", "sparse")
    return {
        f"check_sample_weight_equivalence_on_{rows}_data": REASONS["left out"] for rows in kinds
    }


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=failures_of_defaults)
def test_scikit_learn(estimator, check):
    check(estimator)


@functools.cache
def results_of(one):
    """The outcome of each check of a configuration."""
    return check_estimator(
        one.estimator(),
        expected_failed_checks=expected_failures(one),
        on_fail=None,
        on_skip=None,
    )


def assert_passes(one):
    """No check fails that is not expected to."""
    failed = [
        f"{result['check_name']}: {result['exception']!r}"
        for result in results_of(one)
        if result["status"] == "failed"
    ]
    assert len(results_of(one)) > 40
    assert not failed, "\n".join(failed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", FEW_CONFIGURATIONS, ids=str)
def test_every_part_passes(one):
    assert_passes(one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", CONFIGURATIONS, ids=str)
def test_every_pair_of_parts_passes(one):
    assert_passes(one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("why", REASONS)
def test_an_expected_failure_does_fail(why):
    """Most checks that a reason excuses fail, and so the reason is needed."""
    concerned = [one for one in CONFIGURATIONS if why_weights_are_not_copies(one) == why]
    found = [
        result["status"] == "xfail"
        for one in concerned
        for result in results_of(one)
        if result["expected_to_fail"]
    ]
    assert len(found) == 2 * len(concerned) > 0
    assert sum(found) > len(found) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["cosine", "chi2", "poly", "sobolev"])
def test_other_kernels_pass(kernel):
    results = check_estimator(KernelRegressor(kernel, alpha=1e-3), on_fail=None, on_skip=None)
    assert not [result for result in results if result["status"] == "failed"]


@pytest.mark.parametrize("settings", [{"alpha": 1e-3}, {"selection": "gcv"}], ids=str)
@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier, KernelRanker])
def test_weights_are_repeated_rows_where_none_is_left_out(kind, settings):
    """Also in the scaling of columns and in the bandwidth."""
    settings = {**settings, "kernel": Gaussian("median")}  # a search holds rows out
    if kind is KernelClassifier:  # its map is fitted to left-out rows
        settings = {**settings, "calibration": None}
    check_sample_weight_equivalence_on_dense_data(kind.__name__, kind(**settings))
    check_sample_weight_equivalence_on_sparse_data(kind.__name__, kind(**settings))
