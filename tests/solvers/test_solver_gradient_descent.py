"""Gradient descent: every step is its spectral filter, and the step size is safe."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from cases import KERNELS, rows, targets, weights
from mercer import GradientDescent
from mercer.solvers.gradient_descent import norm_bound
from mercer.systems import MatrixSystem
from pairs import over_each, over_pairs
from spectra import SPECTRA, BothForms, matrix, rotation, system

FILTERS = {False: reference.descent_filters, True: reference.accelerated_filters}
over_kinds = pytest.mark.parametrize("accelerated", FILTERS, ids=["plain", "accelerated"])


def iterates(problem, steps, **parameters):
    return list(islice(GradientDescent(**parameters).iterates(problem), steps))


@over_pairs(accelerated=FILTERS, name=SPECTRA, alpha=[0.0, 1e-3], share=[0.3, 1.0])
def test_every_step_is_its_filter(accelerated, name, alpha, share):
    values = SPECTRA[name] + alpha
    problem = system(SPECTRA[name], outputs=2, alpha=alpha)
    eta, U = share / values.max(), rotation(len(values))
    filters = FILTERS[accelerated](values, eta, 40)
    found = iterates(problem, 40, accelerated=accelerated, step_size=eta)
    start = np.linalg.norm(problem.b, axis=0)
    for iterate, f in zip(found, filters, strict=True):
        expected = U @ (f[:, None] * (U.T @ problem.b))
        np.testing.assert_allclose(iterate.value, expected, atol=1e-12 * np.abs(expected).max())
        left = problem.A @ iterate.value + alpha * iterate.value - problem.b
        np.testing.assert_allclose(
            iterate.residuals, np.linalg.norm(left, axis=0), rtol=1e-8, atol=1e-12 * start.max()
        )


@over_kinds
def test_the_automatic_step_is_one_over_the_norm(accelerated):
    values = SPECTRA["ill-conditioned"]
    problem = system(values, outputs=2)
    found = iterates(problem, 20, accelerated=accelerated)
    same = iterates(problem, 20, accelerated=accelerated, step_size=1 / values.max())
    for one, other in zip(found, same, strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=1e-7, atol=1e-12)


def test_the_first_steps_by_hand():
    problem = MatrixSystem(np.array([[1.0]]), np.array([[1.0]]))
    plain = [i.value.item() for i in iterates(problem, 3, step_size=0.5)]
    assert plain == [0.5, 0.75, 0.875]
    # Momentum 0, 1/4, 2/5: from 0.5 look at 0.75, from 0.875 (+ 0.25 * 0.375) and so on.
    fast = [i.value.item() for i in iterates(problem, 3, step_size=0.5, accelerated=True)]
    first = 0.5
    second = 0.5 + 0.25 * first
    second += 0.5 * (1 - second)
    third = second + 0.4 * (second - first)
    third += 0.5 * (1 - third)
    np.testing.assert_allclose(fast, [first, second, third], rtol=1e-15)
    early = system(SPECTRA["ill-conditioned"])
    ends = [iterates(early, 300, accelerated=fast)[-1].residuals.item() for fast in (False, True)]
    assert ends[1] < ends[0] / 10


@over_pairs(
    accelerated=FILTERS, kernel=["laplacian_l1", "gaussian", "linear"], intercept=[False, True]
)
def test_the_dual_form_takes_the_steps_of_the_primal_one(accelerated, kernel, intercept):
    """With the automatic step, too: it must not depend on the form."""
    X, w = rows(), weights()
    w[:3] = 0.0
    both = BothForms(KERNELS[kernel][0](X), targets(X, 2), w, intercept, 1e-3)
    found = [iterates(form, 30, accelerated=accelerated) for form in (both.dual, both.primal)]
    for dual, primal in zip(*found, strict=True):
        np.testing.assert_allclose(
            both.dual_values(dual.value), both.primal_values(primal.value), atol=1e-7
        )
        np.testing.assert_allclose(dual.residuals, primal.residuals, rtol=1e-5, atol=1e-8)


KINDS = {
    "even": lambda n, rng: np.linspace(0.01, 1.0, n),
    "flat": lambda n, rng: 1.0 + 1e-3 * rng.random(n),
    "falling": lambda n, rng: 1.0 / np.arange(1, n + 1) ** 2,
    "geometric": lambda n, rng: np.geomspace(1.0, 1e-12, n),
    "random": lambda n, rng: rng.random(n),
    "one": lambda n, rng: np.append(np.full(n - 1, 1e-6), 1.0),
    "two": lambda n, rng: np.append(np.full(n - 1, 0.99), 1.0),
}


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 150),
    kind=st.sampled_from(sorted(KINDS)),
    scale=st.floats(-8, 8),
    alpha=st.sampled_from([0.0, 0.1]),
)
def test_the_bound_is_above_the_norm_and_close(seed, size, kind, scale, alpha):
    values = 10**scale * KINDS[kind](size, np.random.default_rng(seed))
    shift = alpha * values.max()
    bound = norm_bound(MatrixSystem(matrix(values, seed), np.ones((size, 1)), shift))
    norm = values.max() + shift
    assert bound >= norm * (1 - 1e-12)
    assert bound <= 1.1 * norm
    if size <= 100:  # all directions are tried
        assert bound <= norm * (1 + 1e-7)


def test_the_bound_of_nothing():
    assert norm_bound(MatrixSystem(np.zeros((3, 3)), np.zeros((3, 1)))) == 0.0
    assert norm_bound(MatrixSystem(np.zeros((0, 0)), np.zeros((0, 1)))) == 0.0
    zero = iterates(MatrixSystem(np.zeros((3, 3)), np.zeros((3, 1))), 3)
    assert all(np.all(iterate.value == 0) for iterate in zero)


@over_each(accelerated=FILTERS, times=[2.5, 5.0, 1e6])
def test_a_step_that_is_too_long_is_noticed(accelerated, times):
    problem = system(SPECTRA["even"], outputs=2)
    found = list(GradientDescent(accelerated=accelerated, step_size=times).iterates(problem))
    assert found[-1].broken
    assert "step_size" in found[-1].note
    assert not any(iterate.broken or iterate.note for iterate in found[:-1])
    for iterate in found:
        assert np.isfinite(iterate.value).all()
        assert np.isfinite(iterate.residuals).all()


def test_a_column_of_zeros_stays_zero():
    problem = system(SPECTRA["even"], outputs=2)
    problem.b[:, 1] = 0.0
    for iterate in iterates(problem, 10):
        assert np.all(iterate.value[:, 1] == 0)
        assert iterate.residuals[1] == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step_size": 0.0}, "step_size of GradientDescent must be a finite number greater than 0"),
        ({"step_size": -1}, "step_size"),
        ({"step_size": "fast"}, "step_size of GradientDescent must be a number"),
        ({"accelerated": "yes"}, "accelerated of GradientDescent must be True or False"),
        ({"max_steps": 0}, "max_steps of GradientDescent must be at least 1"),
        ({"stop": "kfolds"}, "unknown stop 'kfolds'; did you mean 'kfold'"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GradientDescent(**parameters).check()
