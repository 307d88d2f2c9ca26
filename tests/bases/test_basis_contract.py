"""Every basis passes the public checks."""

import pytest

from cases import BASES
from mercer import ArcCosine, Gaussian, Landmarks, LaplacianL1, Matern, RandomFeatures, Sketch
from mercer.bases.sketch import KINDS
from mercer.testing import BASIS_CHECKS, check_basis
from mercer.testing.basis_checks import fitted
from pairs import over_each

every_check = pytest.mark.parametrize("check", BASIS_CHECKS, ids=lambda check: check.__name__)
ALL = {
    **BASES,
    "leverage": lambda: Landmarks(12, "leverage"),
    "rpcholesky": lambda: Landmarks(12, "rpcholesky"),
    "by_labels": lambda: RandomFeatures(10, sampling="labels"),
    "unbiased": lambda: RandomFeatures(10, sampling="leverage", weighting="unbiased"),
}


@every_check
@pytest.mark.parametrize("name", ALL)
def test_a_basis_passes(name, check):
    check(ALL[name](), None)


@over_each(name=BASES, kernel=[LaplacianL1(0.8), Matern(1.5), ArcCosine(1), Gaussian(2.0)])
def test_a_basis_passes_with_other_kernels(name, kernel):
    if name == "orthogonal":
        kernel = Matern(1.5)  # which has orthogonal features
    check_basis(BASES[name](), kernel)


@every_check
@pytest.mark.parametrize(
    "basis", [Landmarks(95), Sketch(90)], ids=lambda basis: type(basis).__name__
)
def test_functions_that_are_orthogonalized_in_part_pass(basis, check):
    """Beyond the first 64 functions those that differ from the others are left as they are."""
    check(basis, LaplacianL1(0.3))


def test_those_functions_are_orthogonalized_in_part():
    for basis in (Landmarks(95), Sketch(90)):
        found = fitted(basis, LaplacianL1(0.3))
        assert found.without_whitener() is not found


@pytest.mark.parametrize("kind", KINDS)
def test_sketches_of_every_kind_pass(kind):
    check_basis(Sketch(10, kind))
