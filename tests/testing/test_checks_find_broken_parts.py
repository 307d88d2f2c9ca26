"""The checks of kernels, bases, solvers and combinations name what is broken."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer import (
    Gaussian,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    NewtonRounds,
    RandomFeatures,
    Ridge,
)
from mercer.bases import BasisTransformer, Whitener
from mercer.combine import Average
from mercer.contracts import Solution
from mercer.kernels import Kernel
from mercer.kernels.feature_maps import FourierFeatures
from mercer.solvers import GradientDescent
from mercer.systems import DirectSystem, KernelMatrixSystem, MatrixSystem
from mercer.testing import (
    check_basis,
    check_combination,
    check_kernel,
    check_parameter,
    check_solver,
    check_system,
)

# -- kernels


class Sound(Kernel):
    """exp(-||x - z||), which passes; the others each break one thing."""

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def values(self, X, Z):
        return np.exp(-cdist(X, Z) / self.bandwidth)

    def against(self, Z, precision="float64"):
        def block(X, out=None):
            found = self.values(np.asarray(X, float), np.asarray(Z, float))
            if out is None:
                return found.astype(precision)
            out[...] = found
            return out

        return block

    def diag(self, X):
        return np.ones(X.shape[0])


class Asymmetric(Sound):
    def values(self, X, Z):
        return super().values(X, Z) * (1 + X[:, :1])

    def diag(self, X):
        return 1 + X[:, 0]


class Indefinite(Sound):
    def values(self, X, Z):
        return cdist(X, Z)

    def diag(self, X):
        return np.zeros(X.shape[0])


class WrongDiagonal(Sound):
    def diag(self, X):
        return np.full(X.shape[0], 1.01)


class ByBlock(Sound):
    """Scaled by the largest value of a block."""

    def values(self, X, Z):
        found = super().values(X, Z)
        return found / found.max()


class IgnoresOut(Sound):
    def against(self, Z, precision="float64"):
        block = super().against(Z, precision)
        return lambda X, out=None: block(X)


class AlwaysDouble(Sound):
    def against(self, Z, precision="float64"):
        block = super().against(Z)
        return lambda X, out=None: block(X, out)


class Coarse(Sound):
    """Half precision where float32 is asked for."""

    def against(self, Z, precision="float64"):
        def block(X, out=None):
            found = super(Coarse, self).against(Z)(X)
            if precision == "float32":
                found = found.astype(np.float16).astype(np.float32)
            if out is None:
                return found
            out[...] = found
            return out

        return block


class ChangesParameters(Sound):
    def fitted(self, X):
        self.bandwidth = 2.0 * self.bandwidth
        return self


class Overwrites(Sound):
    def fitted(self, X):
        X *= 1.0 + 1e-3 * X.flags.writeable
        return self


class Forgets(Sound):
    def __getstate__(self):
        return {"bandwidth": 3.0}


class WrongFeatures(Gaussian):
    """Frequencies of another bandwidth."""

    def feature_map(self, size, n_features, rng, orthogonal=False):
        return FourierFeatures.draw(rng.standard_normal((n_features, size)), rng)


class NotForSparse(Sound):
    accepts_sparse = True

    def values(self, X, Z):
        return super().values(X, Z)

    def against(self, Z, precision="float64"):
        if hasattr(Z, "tocsr"):
            Z = np.zeros(Z.shape)
        block = super().against(Z, precision)
        return lambda X, out=None: block(X.toarray() if hasattr(X, "tocsr") else X, out)


def test_a_sound_kernel_passes():
    check_kernel(Sound())


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Asymmetric(), r"K\(x, z\) of Asymmetric must be K\(z, x\), got .* instead of"),
        (Indefinite(), "must be positive semi-definite, got the eigenvalue -"),
        (
            WrongDiagonal(),
            r"diag\(X\) of WrongDiagonal must be .* got 1.01 instead of 1",
        ),
        (ByBlock(), "in blocks of 1 rows must be that of all rows at once"),
        (IgnoresOut(), r"must return out, got another array"),
        (AlwaysDouble(), "'float32'.* must return float32, got float64"),
        (Coarse(), "Coarse in float32 must be close to float64, got .* compute in float64"),
        (ChangesParameters(), "must leave its parameters .* alone"),
        (Overwrites(), "Overwrites must (leave X and Z as they are|not write to X or Z)"),
        (Forgets(), "a pickled Forgets must have the same values"),
        (NotForSparse(), "NotForSparse of sparse rows must be that of dense ones"),
        (WrongFeatures(0.3), "random features of WrongFeatures .* must average to K, got"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_kernel_is_named(kernel, words):
    with pytest.raises(AssertionError, match=words):
        check_kernel(kernel)


# -- bases


class Scaled(RandomFeatures):
    """By the largest value of a block."""

    def evaluate(self, X, out=None):
        found = super().evaluate(X, out)
        found /= np.abs(found).max()
        return found


class WrongGram(Landmarks):
    def gram(self):
        return 2.0 * super().gram()


class NoWhitener(Landmarks):
    def whitener(self):
        return Whitener(None, self.size)


class OtherVectors(Landmarks):
    def vectors(self, t):
        return t


class OtherFunctions(Landmarks):
    def without_whitener(self):
        return RandomFeatures(self.size, random_state=0, kernel=self.kernel_).fit(np.eye(2))


class KeepsDouble(RandomFeatures):
    def widen(self):
        """Forget to."""


class Unpickled(Landmarks):
    def __setstate__(self, state):
        super().__setstate__({**state, "landmarks_": state["landmarks_"] + 0.1})


class ByItsOwnSeed(Landmarks):
    def fit_source(self, source, kernel, rng, *rest):
        return super().fit_source(source, kernel, np.random.default_rng(), *rest)


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (Scaled(10), "evaluate of Scaled in blocks of 1 rows must be that of all rows at once"),
        (WrongGram(10), r"penalty\(c, exact=False\) of WrongGram must be gram\(\) @ c"),
        (OtherVectors(10), "vectors of OtherVectors must turn sums"),
        (OtherFunctions(10), r"evaluate of without_whitener\(\) of OtherFunctions must be"),
        (KeepsDouble(10), r"must be float64 after widen\(\), got float32"),
        (Unpickled(10), "a pickled Unpickled must transform alike"),
        (ByItsOwnSeed(10), "over three shards must be those of one place"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_basis_is_named(basis, words):
    assert isinstance(basis, BasisTransformer)
    with pytest.raises(AssertionError, match=words):
        check_basis(basis)


def test_a_missing_whitener_is_named():
    with pytest.raises(AssertionError, match=r"must turn the Gram matrix .* into the identity"):
        check_basis(NoWhitener(95), LaplacianL1(0.3))


# -- systems and solvers


class Lopsided(KernelMatrixSystem):
    """Iterates on a matrix that is not symmetric."""

    def at(self, alpha):
        A = np.triu(self.K)
        return MatrixSystem(A, self.Y, alpha)


class AnotherSpectrum(KernelMatrixSystem):
    def by_spectrum(self, alpha):
        return super().by_spectrum(2.0 * alpha)


class Unnamed(DirectSystem):
    offers = frozenset({"everything"})


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Lopsided, r"must be self-adjoint: <u, Av> = <Au, v>"),
        (AnotherSpectrum, r"by_spectrum\(0.01\) of AnotherSpectrum must solve the system"),
    ],
)
def test_a_broken_system_is_named(kind, words):
    X = np.random.default_rng(0).random((20, 2))
    system = kind(Gaussian(0.3)(X), X @ np.ones((2, 1)), np.ones(20), True)
    with pytest.raises(AssertionError, match=words):
        check_system(system)


def test_a_system_that_offers_what_no_solver_knows_is_named():
    with pytest.raises(AssertionError, match=r"offers of Unnamed must be .* got frozenset"):
        check_system(Unnamed(np.eye(2), np.ones((2, 1))))


class Biased(Ridge):
    def solve(self, system, alpha):
        found = super().solve(system, alpha)
        return Solution(found.value + 1e-3, found.status, residuals=found.residuals)


class InPlaceSteps(GradientDescent):
    """Yields the same array again and again."""

    def iterates(self, system):
        kept = None
        for iterate in super().iterates(system):
            if kept is None:
                kept = iterate.value
            kept[...] = iterate.value
            object.__setattr__(iterate, "value", kept)
            yield iterate


class Greedy(Ridge):
    needs = "rows"


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Biased(), "solve of Biased must be linear in b, got"),
        (InPlaceSteps(), "of InPlaceSteps must not be changed by later steps"),
        (GradientDescent(step_size=1e-6), "GradientDescent must come to the solution"),
        (Greedy(), "needs of Greedy must be one of .* got 'rows'"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_solver_is_named(solver, words):
    with pytest.raises(AssertionError, match=words):
        check_solver(solver)


class Shrunk(Average):
    """Shares that do not sum to one."""

    def fit(self, rows, request):
        found = super().fit(rows, request)
        found.coefficients = 0.9 * found.coefficients
        return found


class Anonymous(NewtonRounds):
    label = ""


@pytest.mark.parametrize(
    ("combination", "words"),
    [
        (Shrunk(), "Shrunk of one shard must be the fit in one place, got"),
        (Anonymous(), "Anonymous must have a label"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_combination_is_named(combination, words):
    with pytest.raises(AssertionError, match=words):
        check_combination(combination)


class Undocumented(KernelRegressor):
    """A regressor whose docstring has no parameters."""


class Changed(KernelRegressor):
    """A regressor that stores another value.

    Parameters
    ----------
    alpha : float or "auto"
        The penalty.
    """

    def __init__(self, alpha="auto"):
        super().__init__(alpha=0.5)


class Unknown(KernelRegressor):
    """A regressor whose docstring names a word that is refused.

    Parameters
    ----------
    missing : {"fill", "median"}
        What happens to gaps.
    """

    def __init__(self, missing="fill", shape=1.0):
        super().__init__(missing=missing)
        self.shape = shape


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (Undocumented(), "alpha", "'alpha' must have a paragraph"),
        (Changed(), "alpha", "must store 'alpha' as it is, 'auto', got 0.5"),
        (Unknown(), "missing", "names 'median', which is refused: unknown missing 'median'"),
        (Unknown(), "shape", "'shape' must have a row"),
        (Unknown(), "size", "must have the parameter 'size' with a default"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_parameter_is_named(model, name, words):
    with pytest.raises(AssertionError, match=words):
        check_parameter(model, name)
