"""Every kernel passes the public checks."""

import numpy as np
import pytest

from cases import KERNELS, NO_RANDOM_FEATURES, ORTHOGONAL, rows
from mercer import (
    Gaussian,
    LaplacianL1,
    LaplacianL2,
    Matern,
    PeriodicSpline,
    Polynomial,
    Precomputed,
)
from mercer.testing import KERNEL_CHECKS
from mercer.testing.kernel_checks import check_random_features

OTHERS = {
    "precomputed": Precomputed(),
    "median_bandwidth": Gaussian() + Matern(2.5) * LaplacianL1(),
    "default_polynomial": Polynomial(),
}
ALL = {name: kernel for name, (kernel, _) in KERNELS.items()} | OTHERS


@pytest.mark.parametrize("check", KERNEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ALL)
def test_a_kernel_passes(name, check):
    check(ALL[name], None)


@pytest.mark.parametrize("kernel", [PeriodicSpline(2.0), PeriodicSpline(np.inf), LaplacianL1(0.5)])
def test_features_of_less_smooth_kernels_pass(kernel):
    check_random_features(kernel, rows(6)[:, :1])


@pytest.mark.parametrize("name", KERNELS)
def test_the_check_of_features_finds_some_where_there_are(name):
    """The check passes over kernels that refuse: these must, and the others must not."""
    kernel = KERNELS[name][0].fitted(rows(6))
    if name in NO_RANDOM_FEATURES:
        with pytest.raises(ValueError, match="has no random features"):
            kernel.feature_map(5, 2, np.random.default_rng(0))
        return
    assert kernel.feature_map(5, 2, np.random.default_rng(0)).size > 0
    if name in ORTHOGONAL:
        assert kernel.feature_map(5, 2, np.random.default_rng(0), orthogonal=True).size == 5


@pytest.mark.parametrize("kernel", [LaplacianL2(0.7), Matern(0.5, 0.6)])
def test_rows_of_many_columns_pass(kernel):
    X = np.random.default_rng(3).standard_normal((30, 6))
    for check in KERNEL_CHECKS:
        check(kernel, X)
