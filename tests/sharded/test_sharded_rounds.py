"""Rounds of communication: where Newton diverges, and conjugate rounds do not."""

import numpy as np
import pytest

from mercer import ConjugateRounds, Gaussian, KernelRegressor, NewtonRounds, RandomFeatures
from mercer.contracts import Status


@pytest.fixture(scope="module")
def problem():
    """14,000 rows of 7 columns on {1..100}, y = floor(||x|| / 7) + noise of variance 0.01."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 101, (14_000, 7)).astype(float)
    return X, np.floor(np.linalg.norm(X, axis=1) / 7) + 0.1 * rng.standard_normal(14_000)


SETTINGS = {
    "kernel": Gaussian(100.0),
    "basis": RandomFeatures(300),
    "alpha": 2.0**-13,
    "random_state": 0,
    "dtype": "float64",
}


@pytest.fixture(scope="module")
def central(problem):
    return KernelRegressor(**SETTINGS, shards=1).fit(*problem)


#: shards -> distance to the fit of all rows after 8 rounds: of Newton (None: diverges), conjugate
TABLE = {10: (1e-6, 1e-8), 40: (3e-2, 1e-6), 100: (None, 2e-4), 200: (None, 1e-2), 400: (None, 0.1)}


SLOW = {40, 200, 400}  # 10 and 100 shards show it


@pytest.mark.parametrize(
    "shards",
    [pytest.param(shards, marks=[pytest.mark.slow] * (shards in SLOW)) for shards in TABLE],
)
def test_newton_rounds_diverge_with_many_shards_and_conjugate_rounds_do_not(
    shards, problem, central
):
    newton_at_most, conjugate_at_most = TABLE[shards]
    scale = np.linalg.norm(central.dual_coef_)

    def fitted(combine):
        return KernelRegressor(**SETTINGS, shards=shards, combine=combine).fit(*problem)

    conjugate = fitted(ConjugateRounds(8, start="zero"))
    assert np.linalg.norm(conjugate.dual_coef_ - central.dual_coef_) < conjugate_at_most * scale
    assert conjugate.fit_.solution.status.succeeded
    if newton_at_most is not None:
        newton = fitted(NewtonRounds(8, start="zero"))
        assert np.linalg.norm(newton.dual_coef_ - central.dual_coef_) < newton_at_most * scale
        return
    with pytest.warns(UserWarning, match="leads away from the solution"):
        newton = fitted(NewtonRounds(8, start="zero"))
    solution = newton.fit_.solution
    assert solution.status is Status.DIVERGED
    # From the average, the rounds end no worse than they began.
    with pytest.warns(UserWarning, match="leads away from the solution"):
        newton = fitted("newton")
    assert newton.score(*problem) > fitted("average").score(*problem) - 1e-3


@pytest.mark.parametrize("shards", [10, 100, pytest.param(400, marks=pytest.mark.slow)])
def test_the_average_is_the_better_start(shards, problem, central):
    def distance(combine):
        found = KernelRegressor(**SETTINGS, shards=shards, combine=combine).fit(*problem)
        return np.linalg.norm(found.dual_coef_ - central.dual_coef_)

    assert distance(ConjugateRounds(4)) < distance(ConjugateRounds(4, start="zero"))


def test_every_round_tells_its_gradient(problem):
    found = KernelRegressor(**SETTINGS, shards=10, combine="newton", rounds=4).fit(*problem)
    told = found.fit_.solution.residuals
    assert len(told) == 5
    assert np.all(np.diff(told) < 0)
    sent = {e.what: e for e in found.communication_.exchanges}
    assert sent["solve"].times == 4
    assert sent["product"].times == 5  # the first one is for the gradient at the average
    assert sent["solve"].to_shard == sent["solve"].from_shard == 301
