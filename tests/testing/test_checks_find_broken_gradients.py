"""The checks of gradients name what is broken."""

import numpy as np
import pytest

from mercer import Gaussian, Landmarks
from mercer.testing import check_basis, check_kernel
from mercer.testing.gradient_checks import check_gradient


class Broken(Gaussian):
    """A Gaussian kernel whose gradient has a fault."""

    def __init__(self, bandwidth=0.5):
        self.bandwidth = bandwidth

    def fault(self, gradient, X, C, weight):
        raise NotImplementedError

    def gradient(self, Z, precision="float64"):
        block = super().gradient(Z, precision)
        return lambda X, C, weight=None: self.fault(block, X, C, weight)


class Doubled(Broken):
    def fault(self, gradient, X, C, weight):
        return 2 * gradient(X, C, weight)


class Transposed(Broken):
    def fault(self, gradient, X, C, weight):
        return gradient(X, C, weight).transpose(1, 2, 0)


class WithoutWeights(Broken):
    def fault(self, gradient, X, C, weight):
        return gradient(X, C)


class OverwritesWeights(Broken):
    def fault(self, gradient, X, C, weight):
        found = gradient(X, C, weight)
        if weight is not None:
            weight[...] = 0.0
        return found


class DependsOnOthers(Broken):
    def fault(self, gradient, X, C, weight):
        found = gradient(X, C, weight)
        return found if X.shape[0] > 1 else 1.01 * found


class AlwaysWide(Broken):
    def fault(self, gradient, X, C, weight):
        return gradient(X, C, weight).astype(np.float64)


class Coarse(Broken):
    def fault(self, gradient, X, C, weight):
        found = gradient(X, C, weight)
        return found if found.dtype == np.float64 else 1.01 * found


class NoSparseRows(Broken):
    def fault(self, gradient, X, C, weight):
        found = gradient(X, C, weight)
        return 1.01 * found if hasattr(X, "tocsr") else found


class Denied(Gaussian):
    has_gradient = False


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Doubled(), "must be that of finite differences"),
        (Transposed(), "must be that of finite differences, got shape"),
        (WithoutWeights(), "with weights must be that of finite differences"),
        (OverwritesWeights(), "must leave the weights as they are"),
        (DependsOnOthers(), "one row at a time must be that of all rows"),
        (AlwaysWide(), "must be float32 where the precision is, got float64"),
        (Coarse(), "in float32 must be close to float64"),
        (NoSparseRows(), "sparse rows must be that of dense ones"),
        (Denied(0.5), "must raise ValueError where has_gradient is False"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_gradient_is_named(kernel, message):
    with pytest.raises(AssertionError, match=message):
        check_kernel(kernel)


def test_a_gradient_may_be_left_out():
    class Plain(Gaussian):
        has_gradient = False

        def gradient(self, Z, precision="float64"):
            raise ValueError("no gradient")

    check_gradient(Plain(0.5))


class DoubledLandmarks(Landmarks):
    def gradients(self, coefficients):
        return super().gradients(2 * coefficients)


class WideLandmarks(Landmarks):
    def gradients(self, coefficients):
        block = self.kernel_.gradient(self.landmarks_)
        return lambda X: block(X, coefficients)


class DeniedLandmarks(Landmarks):
    has_gradient = False


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (DoubledLandmarks(10), "must be that of finite differences of h"),
        (WideLandmarks(10), "must have the dtype precision_ = float32"),
        (DeniedLandmarks(10), "must raise ValueError where has_gradient is False"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_basis_with_broken_gradients_is_named(basis, message):
    with pytest.raises(AssertionError, match=message):
        check_basis(basis)
